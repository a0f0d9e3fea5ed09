"""
The conventions `table2` and `published`: the cost terms that the papers charge, on any plan graph.

A layer is charged its intra-layer communication (`LayerSizes.within` of `chain.py`). A boundary is charged half of the
value at each level where the layout that the producer gives is not the one that the consumer takes; `published` charges
only boundaries with the batch split on one side and the channels on the other. Joins, which the papers do not have,
give the layout that they take. Amounts are in the units of `resharding.py`.

    type     takes                           gives
    I        its part of the batch           its part of the batch
    II       its part of the channels        all
    III      all                             its part of the channels
    whole    all                             all
    III of a join: its part of the channels, both
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Literal

from npuc.compiler.analysis.sharding.cost.cost_terms import CostTerm, Sizes, TypeSequence
from npuc.compiler.analysis.sharding.cost.resharding import Amounts
from npuc.compiler.analysis.sharding.graph.chain import Layer
from npuc.compiler.analysis.sharding.graph.edges import PlanEdges, is_data
from npuc.compiler.analysis.sharding.graph.layer_groups import PlanGraph
from npuc.compiler.analysis.sharding.graph.partition_types import PartitionType
from npuc.compiler.analysis.sharding.graph.tasks import Task, TaskGraph
from npuc.compiler.core.options import Convention
from npuc.dialects.train.signature import ArgumentKind

Part = Literal["batch", "channels", "all"]
TAKES: dict[PartitionType, Part] = {"I": "batch", "II": "channels", "III": "all", "whole": "all"}
GIVES: dict[PartitionType, Part] = {"I": "batch", "II": "all", "III": "channels", "whole": "all"}
# no join has type II, but tables have an entry for every type
JOIN: dict[PartitionType, Part] = {"I": "batch", "II": "all", "III": "channels", "whole": "all"}


@dataclass(frozen=True)
class IntraLayerRate:
    """The rate of a layer's communication at the levels where it has a given type, doubled by each such level above."""

    type: PartitionType

    def amounts(self, sequences: tuple[TypeSequence, ...], sizes: Sizes) -> Amounts:
        """A level of s parts moves s - 1 times the elements that all groups above hold together."""
        (sequence,) = sequences
        found: list[int] = []
        replicas = 1
        for type, size in zip(sequence, sizes, strict=True):
            found.append(2 * prod(sizes) * replicas * (size - 1) if type == self.type else 0)
            replicas *= size if type == self.type else 1
        return tuple(found)

    def gradient(self, sequences: tuple[TypeSequence, ...], sizes: Sizes) -> Amounts:
        """All of it, except for the sum of the output (type II)."""
        return (0,) * len(sizes) if self.type == "II" else self.amounts(sequences, sizes)


@dataclass(frozen=True)
class InterLayerRate:
    """The rate of a boundary: whether its sides are weighted layers, and whether the value has a gradient."""

    convention: Convention
    layers: tuple[bool, bool]
    active: bool = True

    def amounts(self, sequences: tuple[TypeSequence, ...], sizes: Sizes) -> Amounts:
        """
        Half of the value where the boundary is charged, in each group above whose consumers take all of it; only the
        forward part for a value without a gradient.
        """
        both = self._both(sequences, sizes)
        return both if self.active else self.forward(sequences, both)

    def gradient(self, sequences: tuple[TypeSequence, ...], sizes: Sizes) -> Amounts:
        """The amounts that do not go forward."""
        both = self._both(sequences, sizes)
        if not self.active:
            return (0,) * len(sizes)
        return tuple(all_of_it - there for all_of_it, there in zip(both, self.forward(sequences, both), strict=True))

    def _both(self, sequences: tuple[TypeSequence, ...], sizes: Sizes) -> Amounts:
        before, after = sequences
        found: list[int] = []
        replicas = 1
        for made, read, size in zip(before, after, sizes, strict=True):
            charged, whole = self.cell(made, read)
            found.append(prod(sizes) * replicas * (size - 1) if charged else 0)
            replicas *= size if whole else 1
        return tuple(found)

    def cell(self, made: PartitionType, read: PartitionType) -> tuple[bool, bool]:
        """Whether a level with these types is charged, and whether the consumer takes all there."""
        gives = (GIVES if self.layers[0] else JOIN)[made]
        takes = (TAKES if self.layers[1] else JOIN)[read]
        charged = gives != takes and (self.convention == "table2" or "all" not in (gives, takes))
        return charged, takes == "all"

    def forward(self, sequences: tuple[TypeSequence, ...], amounts: Amounts) -> Amounts:
        """
        The part of `amounts` that is communication of the value itself rather than of its gradient.

        A value given whole does not move forward, one taken whole has a whole gradient; otherwise each is one half.
        """
        return tuple(amount * self.halves(*types) // 2 for *types, amount in zip(*sequences, amounts, strict=True))

    def halves(self, made: PartitionType, read: PartitionType) -> int:
        """How many of the two halves charged at a level with these types go forward."""
        gives = (GIVES if self.layers[0] else JOIN)[made]
        takes = (TAKES if self.layers[1] else JOIN)[read]
        return 0 if gives == "all" else 2 if takes == "all" else 1


def layer_of_group(graph: PlanGraph, group: int) -> Layer | None:
    """A weighted layer group as a layer of the papers; `output` is the value that it gives. None for others."""
    own = graph.groups[group]
    if own.kind is None:
        return None
    values = graph.program.values
    weighted, handed = _weighted(graph, group)
    assert weighted.weight is not None
    weight = values[weighted.operands[weighted.weight]].elements
    data = values[weighted.operands[1 - weighted.weight]].elements
    return Layer(own.name, own.kind, data, weight, values[handed].elements)


def _weighted(graph: PlanGraph, group: int) -> tuple[Task, int]:
    """The first task of a group that reads its weights, and the number of the value that the group gives."""
    own, tasks = graph.groups[group], graph.program.tasks
    weighted = next(tasks[n] for n in own.tasks if tasks[n].weight is not None)
    handed = weighted.results[0]
    for number in own.tasks:
        for result in tasks[number].results:
            # losses and batch statistics are not given to other layers
            if result in graph.task_cuts.batch:
                handed = result
    return weighted, handed


def layer_terms(group: int, layer: Layer, values: Mapping[PartitionType, int] | None = None) -> list[CostTerm]:
    """
    The intra-layer communication of a layer under each type; only for the types whose tensor is in `values`, if given.
    """
    own: dict[PartitionType, int] = {"I": layer.weight, "II": layer.output, "III": layer.input}
    known = dict.fromkeys(own, -1) if values is None else values
    return [
        CostTerm(known[type], size, (group,), IntraLayerRate(type), "within")
        for type, size in own.items()
        if type in known
    ]


def paper_terms(graph: PlanGraph, edges: PlanEdges, convention: Convention) -> list[CostTerm]:
    """The cost terms of `table2` or `published`, with only those gradients that the program has (`_summed`)."""
    found: list[CostTerm] = []
    layers = [layer_of_group(graph, group) for group in range(len(graph.groups))]
    behind = _behind_parameters(graph.program)
    for group, layer in enumerate(layers):
        if layer is not None:
            found += layer_terms(group, layer, _summed(graph, group, behind))
    seen: dict[tuple[int, int, int], bool] = {}
    for edge in edges.reads:
        producer, consumer = edge.producer, edge.consumer
        if producer is None or consumer is None or producer == consumer or not is_data(graph, edge.value):
            continue
        key = (edge.value, producer, consumer)
        seen[key] = seen.get(key, False) or edge.active
    for (value, producer, consumer), active in seen.items():
        rate = InterLayerRate(convention, (layers[producer] is not None, layers[consumer] is not None), active)
        found.append(CostTerm(value, graph.program.values[value].elements, (producer, consumer), rate, "boundary"))
    return found


def _summed(graph: PlanGraph, group: int, behind: frozenset[int]) -> dict[PartitionType, int]:
    """
    The tensor of which a layer computes partial sums under each type: its weights if they have a gradient, its output,
    and its input if that has a gradient.

    As in the papers, the first layer is no exception: a network's input counts as having a gradient where the layer's
    weights have one.
    """
    weighted, handed = _weighted(graph, group)
    assert weighted.weight is not None
    weight, data = weighted.operands[weighted.weight], weighted.operands[1 - weighted.weight]
    values = graph.program.values
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
