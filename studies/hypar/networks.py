"""The networks of the study, or others in their place, with their plans and the traffic of these."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from npuc.compiler.analysis.sharding.cost.cost_terms import CostTerm, TypeSequence
from npuc.compiler.analysis.sharding.graph.edges import PlanEdges
from npuc.compiler.analysis.sharding.graph.layer_groups import PlanGraph as Nodes
from npuc.compiler.analysis.sharding.search.planning import Planned, amounts_of, plan_network, terms_of, total_of
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.options import Convention, Options, Strategy
from npuc.compiler.distributed.plan import DIRECTIONS, ELEMENT_BYTES
from npuc.compiler.driver.read import read_program, texts_of
from npuc.compiler.interpreter.execute import the_function
from npuc.compiler.transforms.parallelize import plan_graph_for
from npuc.frontends.source import open_source

SOURCES: Mapping[str, str] = {
    "SFC": "samples:sfc",
    "SCONV": "samples:sconv",
    "Lenet-c": "samples:lenet_c",
    "Cifar-c": "samples:cifar_c",
    "AlexNet": "samples:alexnet_hypar",
    "VGG-A": "samples:vgg_a",
    "VGG-B": "samples:vgg_b",
    "VGG-C": "samples:vgg_c",
    "VGG-D": "samples:vgg_d",
    "VGG-E": "samples:vgg_e",
}
"""The study's networks by the paper's names, in its order."""
LETTERS: Mapping[str, str] = {"I": "d", "II": "m", "III": "o"}
"""The partition types of layers; along output channels cut plans of the convention `physical` alone."""


@dataclass(frozen=True)
class HyparNetwork:
    """A program: `name` is its name in rows, the paper's name if it is one of the study's."""

    name: str
    source: str

    @cached_property
    def _graph(self) -> tuple[Nodes, PlanEdges]:
        source = open_source(self.source)
        module = read_program(source, Options(), texts_of(source))
        return plan_graph_for(the_function(module))

    @cached_property
    def weighted(self) -> tuple[int, ...]:
        """The numbers of the nodes that are layers with weights."""
        return tuple(number for number, group in enumerate(self._graph[0].groups) if group.kind is not None)

    @property
    def layers(self) -> tuple[str, ...]:
        """The names of the layers with weights."""
        return tuple(self._graph[0].groups[number].name for number in self.weighted)

    def plan(self, strategy: Strategy, convention: Convention, devices: int) -> Planned:
        """The plan of a strategy for `devices` accelerators."""
        return plan_network(*self._graph, strategy, convention, devices.bit_length() - 1)

    def terms(self, convention: Convention) -> list[CostTerm]:
        """The communication terms of a convention."""
        return terms_of(*self._graph, convention)

    def choices(self, planned: Planned) -> tuple[str, ...]:
        """A letter for each layer with weights, level by level from the top."""
        sequences = [planned.sequences[number] for number in self.weighted]
        return tuple("".join(LETTERS[p[h]] for p in sequences) for h in range(len(planned.levels)))


def gigabytes(planned: Planned) -> float:
    """The traffic of a step between accelerators, both directions, in 10^9 bytes."""
    return float(planned.total * ELEMENT_BYTES * DIRECTIONS) / 1e9


def gigabytes_of(terms: Sequence[CostTerm], sequences: Sequence[TypeSequence], devices: int) -> float:
    """As `gigabytes`, for any partition types of the layers."""
    amounts = amounts_of(terms, tuple(sequences), (2,) * (devices.bit_length() - 1))
    return float(total_of(amounts) * ELEMENT_BYTES * DIRECTIONS) / 1e9


def networks_of(texts: Sequence[str]) -> tuple[HyparNetwork, ...]:
    """
    The networks that texts mean: the study's by the paper's name or the sample's, else sources as the command line
    takes them; all of the study's without texts. Raises `NpucError`s for a source that cannot be read.
    """
    known = {name: HyparNetwork(name, source) for name, source in SOURCES.items()}
    short = {network.source.removeprefix("samples:"): network for network in known.values()}
    every = known | short | {network.source: network for network in known.values()}
    found = [every[text] if text in every else _other(text) for text in texts or known]
    return tuple({network.source: network for network in found}.values())


def _other(text: str) -> HyparNetwork:
    """A network of a file."""
    if text == "-":
        raise UsageError("--network -: a study reads its networks several times", hint="name a file")
    open_source(text)
    return HyparNetwork(os.path.splitext(os.path.basename(text.removeprefix("samples:")))[0], text)
