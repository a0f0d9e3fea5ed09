"""
The conventions `table2` and `published`: the terms that the papers charge, on any graph of nodes.

A layer is charged for itself (`Sizes.within` of `chain`), a boundary half of the value for each level at which what the
maker hands on is not what the reader needs (`published`: only where the batch is cut on one side and the channels on
the other). A join, which the papers do not have, hands on what it takes. Amounts are in the units of `moves`.

    way      takes                        hands on
    I        its part of the batch        its part of the batch
    II       its part of the channels     all
    III      all                          its part of the channels
    whole    all                          all
    III of a join: its part of the channels, twice
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Literal

from npuc.compiler.analysis.sharding.cost.cost_terms import Pattern, Sizes, Term
from npuc.compiler.analysis.sharding.cost.resharding import Amounts
from npuc.compiler.analysis.sharding.graph.chain import Layer
from npuc.compiler.analysis.sharding.graph.edges import Flows, is_data
from npuc.compiler.analysis.sharding.graph.layer_groups import PlanGraph
from npuc.compiler.analysis.sharding.graph.partition_types import PartitionType
from npuc.compiler.analysis.sharding.graph.tasks import Task, TaskGraph
from npuc.compiler.core.options import Convention
from npuc.dialects.train.signature import ArgumentKind

Part = Literal["batch", "channels", "all"]
TAKES: dict[PartitionType, Part] = {"I": "batch", "II": "channels", "III": "all", "whole": "all"}
GIVES: dict[PartitionType, Part] = {"I": "batch", "II": "all", "III": "channels", "whole": "all"}
# no join has way II, but tables have a place for every way
JOIN: dict[PartitionType, Part] = {"I": "batch", "II": "all", "III": "channels", "whole": "all"}


@dataclass(frozen=True)
class WithinRate:
    """What a layer moves by itself at the levels where it has a certain way: as much again for each of them above."""

    type: PartitionType

    def amounts(self, patterns: tuple[Pattern, ...], sizes: Sizes) -> Amounts:
        """A level's size s takes s - 1 times what there is of the tensor in all groups above."""
        (pattern,) = patterns
        found: list[int] = []
        replicas = 1
        for type, size in zip(pattern, sizes, strict=True):
            found.append(2 * prod(sizes) * replicas * (size - 1) if type == self.type else 0)
            replicas *= size if type == self.type else 1
        return tuple(found)

    def gradient(self, patterns: tuple[Pattern, ...], sizes: Sizes) -> Amounts:
        """All of it, but of the output."""
        return (0,) * len(sizes) if self.type == "II" else self.amounts(patterns, sizes)


@dataclass(frozen=True)
class BetweenRate:
    """What a boundary moves; whether its two sides are layers with weights, and whether the value has a gradient."""

    convention: Convention
    layers: tuple[bool, bool]
    active: bool = True

    def amounts(self, patterns: tuple[Pattern, ...], sizes: Sizes) -> Amounts:
        """
        Half of the value where it is charged, in each group above that has the reader's value whole; of a value without
        a gradient what goes forward of that.
        """
        both = self._both(patterns, sizes)
        return both if self.active else self.forward(patterns, both)

    def gradient(self, patterns: tuple[Pattern, ...], sizes: Sizes) -> Amounts:
        """What does not go forward."""
        both = self._both(patterns, sizes)
        if not self.active:
            return (0,) * len(sizes)
        return tuple(all_of_it - there for all_of_it, there in zip(both, self.forward(patterns, both), strict=True))

    def _both(self, patterns: tuple[Pattern, ...], sizes: Sizes) -> Amounts:
        before, after = patterns
        found: list[int] = []
        replicas = 1
        for made, read, size in zip(before, after, sizes, strict=True):
            charged, whole = self.cell(made, read)
            found.append(prod(sizes) * replicas * (size - 1) if charged else 0)
            replicas *= size if whole else 1
        return tuple(found)

    def cell(self, made: PartitionType, read: PartitionType) -> tuple[bool, bool]:
        """Whether a level with these ways is charged, and whether the reader takes all there."""
        gives = (GIVES if self.layers[0] else JOIN)[made]
        takes = (TAKES if self.layers[1] else JOIN)[read]
        charged = gives != takes and (self.convention == "table2" or "all" not in (gives, takes))
        return charged, takes == "all"

    def forward(self, patterns: tuple[Pattern, ...], amounts: Amounts) -> Amounts:
        """
        How much of `amounts`, of value and gradient, is of the value itself.

        What all hand on is not moved forward, what all take has its gradient whole: else it is half of each.
        """
        return tuple(amount * self.halves(*types) // 2 for *types, amount in zip(*patterns, amounts, strict=True))

    def halves(self, made: PartitionType, read: PartitionType) -> int:
        """How many halves of what is charged at a level with these ways go forward."""
        gives = (GIVES if self.layers[0] else JOIN)[made]
        takes = (TAKES if self.layers[1] else JOIN)[read]
        return 0 if gives == "all" else 2 if takes == "all" else 1


def layer_of_group(network: PlanGraph, group: int) -> Layer | None:
    """What a node with weights is in the papers' terms: `output` is what it hands on. None for others."""
    own = network.groups[group]
    if own.kind is None:
        return None
    values = network.program.values
    weighted, handed = _weighted(network, group)
    assert weighted.weight is not None
    weight = values[weighted.operands[weighted.weight]].elements
    data = values[weighted.operands[1 - weighted.weight]].elements
    return Layer(own.name, own.kind, data, weight, values[handed].elements)


def _weighted(network: PlanGraph, group: int) -> tuple[Task, int]:
    """The first task of a node that reads its weights, and what the node hands on, by number."""
    own, tasks = network.groups[group], network.program.tasks
    weighted = next(tasks[n] for n in own.tasks if tasks[n].weight is not None)
    handed = weighted.results[0]
    for number in own.tasks:
        for result in tasks[number].results:
            # neither losses nor statistics of a batch are handed on
            if result in network.task_cuts.batch:
                handed = result
    return weighted, handed


def layer_terms(group: int, layer: Layer, values: Mapping[PartitionType, int] | None = None) -> list[Term]:
    """
    What a layer moves by itself, in each of its ways: of the sums for which there is a tensor in `values`, by number.
    """
    own: dict[PartitionType, int] = {"I": layer.weight, "II": layer.output, "III": layer.input}
    known = dict.fromkeys(own, -1) if values is None else values
    return [
        Term(known[type], size, (group,), WithinRate(type), "within") for type, size in own.items() if type in known
    ]


def paper_terms(network: PlanGraph, flows: Flows, convention: Convention) -> list[Term]:
    """The terms of `table2` or `published`: of gradients only those that the program has (`_summed`)."""
    found: list[Term] = []
    layers = [layer_of_group(network, group) for group in range(len(network.groups))]
    behind = _behind_parameters(network.program)
    for group, layer in enumerate(layers):
        if layer is not None:
            found += layer_terms(group, layer, _summed(network, group, behind))
    seen: dict[tuple[int, int, int], bool] = {}
    for reading in flows.readings:
        maker, reader = reading.maker, reading.reader
        if maker is None or reader is None or maker == reader or not is_data(network, reading.value):
            continue
        key = (reading.value, maker, reader)
        seen[key] = seen.get(key, False) or reading.active
    for (value, maker, reader), active in seen.items():
        rate = BetweenRate(convention, (layers[maker] is not None, layers[reader] is not None), active)
        found.append(Term(value, network.program.values[value].elements, (maker, reader), rate, "boundary"))
    return found


def _summed(network: PlanGraph, group: int, behind: frozenset[int]) -> dict[PartitionType, int]:
    """
    The tensor whose addends a layer makes in each of its ways: its weights, if they have a gradient, its output, and
    its input, if that has one. The papers' first layer is like all others: a network's input has a gradient, too, where
    the layer's weights have one.
    """
    weighted, handed = _weighted(network, group)
    assert weighted.weight is not None
    weight, data = weighted.operands[weighted.weight], weighted.operands[1 - weighted.weight]
    values = network.program.values
    found: dict[PartitionType, int] = {"II": handed}
    if values[weight].active:
        found["I"] = weight
    if values[data].active or (values[weight].active and data not in behind):
        found["III"] = data
    return found


def _behind_parameters(program: TaskGraph) -> frozenset[int]:
    """The values that depend on parameters."""
    found = {n for n, value in enumerate(program.values) if value.argument is ArgumentKind.PARAM}
    for task in program.tasks:
        if not found.isdisjoint(task.operands):
            found.update(task.results)
    return frozenset(found)
