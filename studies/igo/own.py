"""
Networks and rewrites of one's own, beside the study's.

A network is trained with the batch of each NPU: its parameter `batch` is set to it, unless it is defined otherwise. Its
products with weights go through every step of the method, as those of the study's tables do.

A rewrite is a pipeline of passes. The backend `cycle` scores the programs that it makes of the networks, the study's
samples among them, on one core of each NPU, at a tolerance of 0: its number is the time of all matrix products over
that of the sequential program, each at its best schedule on the same machine, under every preset.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import fsum

from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.options import DEFAULT_TOLERANCE
from npuc.compiler.driver.compile import compile_file
from npuc.compiler.driver.levels.preset import SCHEDULE
from npuc.compiler.driver.passes import available_passes, names_in, read_pipeline
from npuc.compiler.driver.running.lower import lowered_source
from npuc.compiler.driver.running.options import run_options
from npuc.compiler.explore.sweep.axes import read_parameters
from npuc.frontends.source import Source, open_source
from npuc.studies.igo.forward import forward_products
from npuc.studies.igo.networks import BATCHES, MODELS, Product, StudyNetwork
from npuc.studies.igo.settings import AVERAGE, STEPS, Setting

BATCH = "batch"
"""The parameter that a network's batch is called by."""
SEQUENTIAL = "autodiff,lower-to-npu,schedule{tolerance=0.0}"
"""The passes of the sequential program."""


@dataclass(frozen=True)
class OwnNetwork:
    """A network by its source; `defines` are values of its parameters, `name` is its name in rows."""

    name: str
    source: str
    defines: Mapping[str, int | str] = field(default_factory=dict[str, int | str])

    def defined(self, npu: str) -> dict[str, int | str]:
        """The values of its parameters on an NPU."""
        parameters = read_parameters(self._opened)
        batch: dict[str, int | str] = (
            {BATCH: BATCHES[npu]} if parameters is not None and BATCH in parameters.names else {}
        )
        return batch | dict(self.defines)

    def products(self, npu: str) -> Sequence[Product]:
        """Its forward products with weights. Raises `NpucError`s for a network that is wrong or has none."""
        options = run_options({"pipeline": "autodiff,lower-to-npu", "defines": self.defined(npu)})
        found = [one for one in forward_products(lowered_source(self._opened, options)) if one.weights]
        if not found:
            raise UsageError(
                f"--network {self.source}: found no matrix products with weights", hint="name a network that has layers"
            )
        return [Product(p.layer, p.size.m, p.size.n, p.size.k, p.times, p.size.has_dx) for p in found]

    @cached_property
    def _opened(self) -> Source:
        return open_source(self.source)


@dataclass(frozen=True)
class OwnPipeline:
    """A rewrite: its name in rows, the passes that schedule a network, and files of passes of one's own."""

    name: str
    passes: str
    load: Sequence[str] = ()


@dataclass(frozen=True)
class Own:
    """Networks, with their products on each NPU by name, and rewrites."""

    networks: Sequence[OwnNetwork] = ()
    pipelines: Sequence[OwnPipeline] = ()
    products: Mapping[tuple[str, str], Sequence[Product]] = field(
        default_factory=dict[tuple[str, str], Sequence[Product]]
    )


NOTHING_OWN = Own()


def own_of(
    sources: Sequence[str], defines: Mapping[str, int | str], pipelines: Sequence[str], load: Sequence[str]
) -> Own:
    """What the texts of the command line mean. Raises `NpucError`s for what cannot be read."""
    if defines and not sources:
        raise UsageError("-D sets parameters of the networks of --network, and there are none")
    if load and not pipelines:
        raise UsageError("--load names passes for --rewrite, and there is none")
    networks = tuple(_networks(sources, defines))
    own = tuple(_pipelines(pipelines, tuple(load)))
    products = {(npu, network.name): network.products(npu) for network in networks for npu in BATCHES}
    return Own(networks, own, products)


def _networks(sources: Sequence[str], defines: Mapping[str, int | str]) -> Iterator[OwnNetwork]:
    """Each source once, by its base name, or by the whole text where the study or another has that name."""
    taken = {*MODELS, *MODELS.values(), AVERAGE, "mean"}
    for source in dict.fromkeys(sources):
        if source == "-":
            raise UsageError("--network -: a study reads its networks several times", hint="name a file")
        base = os.path.splitext(os.path.basename(source.removeprefix("samples:")))[0]
        name = source if base in taken else base
        taken.add(name)
        yield OwnNetwork(name, source, defines)


def _pipelines(texts: Sequence[str], load: Sequence[str]) -> Iterator[OwnPipeline]:
    available = available_passes(load) if texts else {}
    taken: set[str] = set()
    for text in texts:
        name, equals, passes = (part.strip() for part in text.partition("="))
        if not equals or not name or not passes or "{" in name:
            hint = "for example --rewrite mine=autodiff,lower-to-npu,interleave,schedule"
            raise UsageError(f"--rewrite {text}: expected NAME=PASSES", hint=hint)
        if name in STEPS or name in taken:
            which = "another of these options" if name in taken else "a step of the study"
            raise UsageError(f"--rewrite {text}: '{name}' is the name of {which}", hint="choose another name")
        read_pipeline(passes, available)
        taken.add(name)
        yield OwnPipeline(name, passes, load)


@dataclass
class Scored:
    """Times of programs on the backend `cycle` over those of the sequential program; each program is scored once."""

    setting: Setting
    known: dict[tuple[str, str], float] = field(default_factory=dict[tuple[str, str], float])

    def ratio(self, network: OwnNetwork | StudyNetwork, pipeline: OwnPipeline) -> float:
        """The time of the matrix products by a rewrite, over that of the sequential program."""
        return self._seconds(network, pipeline.passes, pipeline.load) / self._seconds(network, SEQUENTIAL, ())

    def _seconds(self, network: OwnNetwork | StudyNetwork, passes: str, load: Sequence[str]) -> float:
        key = network.source, passes
        if key not in self.known:
            defines = network.defined(self.setting.npu) if isinstance(network, OwnNetwork) else dict(network.defines)
            # What is scheduled without a pass schedule of its own is scheduled as the study's steps are.
            tolerance = DEFAULT_TOLERANCE if SCHEDULE in names_in(passes) else 0.0
            report = compile_file(
                network.source,
                backend="cycle",
                hardware=self.setting.preset,
                overrides=self.setting.overrides,
                defines=defines,
                pipeline=passes,
                load=list(load),
                tolerance=tolerance,
            )
            rows = [row for row in report.ops if row.kind == "matrix"]
            if any(row.seconds is None for row in rows):
                raise UsageError(f"--rewrite: the passes {passes} leave products of {network.source} without a time")
            self.known[key] = fsum(row.repeat * (row.seconds or 0.0) for row in rows)
        return self.known[key]
