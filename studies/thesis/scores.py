"""
The costs of networks at the points that claims and figures need.

All points are collected first: those of one network and batch are scored together, so that plans are made once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp

from npuc.backends.registry import get_backend
from npuc.backends.roofline.iteration.steps import Iteration
from npuc.backends.roofline.options import NAME, read_options
from npuc.backends.roofline.planning import Planner
from npuc.backends.roofline.reuse import reuse_report
from npuc.compiler.core.errors import CapacityError
from npuc.compiler.core.gc_pause import collect_cycles, without_cycle_collection
from npuc.compiler.core.options import Options
from npuc.compiler.driver.lower_program import lower_program
from npuc.compiler.driver.read import read_program, texts_of
from npuc.compiler.driver.session import Session
from npuc.compiler.driver.unread import Unread, unread_keys
from npuc.compiler.report import OpRow, Report
from npuc.compiler.report.reuse import ReuseReport
from npuc.hardware import Hardware, load_hardware
from npuc.studies.base import Advance
from npuc.studies.thesis.networks import BATCH, Settings, ThesisNetwork
from npuc.studies.thesis.settings import CAPACITIES, GB_PER_S, HARDWARE, TFLOPS


@dataclass(frozen=True)
class Point:
    """
    A network on a machine: cache in MiB, 10^12 operations and 10^9 bytes a second; batch None is its own. `keys` of the
    hardware win over all others.

    A `fine` point is left out of a large network when its capacity is no multiple of `COARSE_MIB`.
    """

    network: ThesisNetwork
    mib: int
    tflops: float = TFLOPS
    gb_per_s: float = GB_PER_S
    batch: int | None = None
    keys: Settings = ()
    fine: bool = field(default=False, compare=False)


LARGE = 4000
"""The number of operations from which a network is large: its curve takes seconds."""
COARSE_MIB = 8


@dataclass(frozen=True)
class Layers:
    """The rows of a network's steps, forward and backward, and the iteration they belong to."""

    rows: tuple[OpRow, ...]
    iteration: Iteration

    @property
    def maps(self) -> dict[str, int]:
        """Sizes of the values that layers compute, in bytes, by name."""
        return {tensor.name: tensor.bytes for tensor in self.iteration.tensors if tensor.kind == "value"}

    def outputs(self, ops: str) -> list[int]:
        """Sizes of the forward outputs of layers whose operation's name begins with `ops`, in bytes."""
        steps = (s for s in self.iteration.steps if s.phase == "forward" and s.op.startswith(ops))
        return [self.iteration.tensors[number].bytes for step in steps for number in step.writes]


@dataclass
class Scores:
    """
    Reports of points, without rows, the layers of networks, and the reuse that their caches capture.

    `failures` has the points whose cache does not hold a row of each tensor of some layer, `unread` the keys that no
    point reads, and why.
    """

    reports: dict[Point, Report] = field(default_factory=dict[Point, Report])
    layers: dict[ThesisNetwork, Layers] = field(default_factory=dict[ThesisNetwork, Layers])
    reuse: dict[Point, ReuseReport] = field(default_factory=dict[Point, ReuseReport])
    failures: dict[Point, CapacityError] = field(default_factory=dict[Point, CapacityError])
    unread: dict[str, str] = field(default_factory=dict[str, str])


def score_points(
    points: Iterable[Point],
    layered: Iterable[ThesisNetwork],
    keys: Mapping[str, object],
    done: Advance = lambda name, count: None,
    reused: Collection[Point] = (),
) -> Scores:
    """
    The reports of points, the reuse at the points `reused`, and the layers of the networks `layered`, on the study's
    machine with `keys` of hardware.

    Raises `NpucError`s but for points that do not fit their cache.
    """
    groups: dict[tuple[ThesisNetwork, int | None], dict[Point, None]] = {(network, None): {} for network in layered}
    wanted = {network for network, _ in groups}
    for point in points:
        groups.setdefault((point.network, point.batch), {})[point] = None
    scores, model, unread = Scores(), get_backend(NAME), Unread()
    for (network, batch), group in groups.items():
        with without_cycle_collection():
            lowering = _machine(Point(network, CAPACITIES[-1]), keys)
            module = _module(network, batch, lowering)
            if batch is None and network in wanted:
                scores.layers[network] = _layers(module, network, keys)
            large = sum(1 for _ in module.walk()) > LARGE
            chosen = [point for point in group if not (large and point.fine and point.mib % COARSE_MIB)]
            machines = [lowering, *_score(module, chosen, keys, scores, done)]
            for point in reused:
                if (point.network, point.batch) == (network, batch) and point in scores.reports:
                    scores.reuse[point] = reuse_report(module, _machine(point, keys))
            unread.add(unread_keys(keys, [(model, machine) for machine in machines]))
            done(network.name, len(group) - len(chosen))
            del module
        collect_cycles()
    scores.unread = unread.at_all()
    return scores


def _score(
    module: ModuleOp, points: list[Point], keys: Mapping[str, object], scores: Scores, done: Advance
) -> list[Hardware]:
    """Score points of one program: their machines."""
    machines = [_machine(point, keys) for point in points]
    for point, found in zip(points, get_backend(NAME).score_many(module, machines), strict=True):
        if isinstance(found, Report):
            scores.reports[point] = found
        elif isinstance(found, CapacityError):
            scores.failures[point] = found
        else:
            raise found
        done(point.network.name, 1)
    return machines


def _machine(point: Point, keys: Mapping[str, object]) -> Hardware:
    own = {"memory.cache_mib": point.mib, "compute.tflops": point.tflops, "dram.gb_per_s": point.gb_per_s}
    return load_hardware(HARDWARE, {**keys, **dict(point.network.keys), **own, **dict(point.keys)})


def _module(network: ThesisNetwork, batch: int | None, machine: Hardware) -> ModuleOp:
    """The forward program, as the backend takes it."""
    source = network.open()
    defines = {**dict(network.defines), **({} if batch is None else {BATCH: batch})}
    options, sources = Options(defines=defines), texts_of(source)
    module = read_program(source, options, sources)
    lower_program(module, Session(source, options, get_backend(NAME), machine, sources))
    return module


def _layers(module: ModuleOp, network: ThesisNetwork, keys: Mapping[str, object]) -> Layers:
    """The rows are scored on the largest cache; the measures of layers do not depend on it."""
    machine = _machine(Point(network, CAPACITIES[-1]), keys)
    rows = get_backend(NAME).score(module, machine).ops
    iteration = Planner(module).trace(read_options(machine).conventions).iteration
    return Layers(tuple(row for row in rows if row.phase != "update"), iteration)
