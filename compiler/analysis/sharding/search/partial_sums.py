"""
Deferred reductions for plans of conventions that do not count them.

`table2` and `published` know neither gradients kept as partial sums nor sums of partial sums. The program of such a
plan uses them all the same where it then moves less by `physical`; everything that the papers charge stays as planned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import prod

from npuc.compiler.analysis.sharding.cost.cost_terms import Sizes, TypeSequence, physical_terms
from npuc.compiler.analysis.sharding.graph.edges import PlanEdges
from npuc.compiler.analysis.sharding.graph.layer_groups import LayerGroup, PlanGraph
from npuc.compiler.analysis.sharding.search.least_movement import canonical_sequences, chosen, graph_of
from npuc.compiler.analysis.solvers.choices.minimise import minimise

MOST = 64
"""The most sequences of a group that are compared; beyond, those with partial sums at the lowest levels alone."""


def with_addends(
    graph: PlanGraph, edges: PlanEdges, sequences: Sequence[TypeSequence], sizes: Sizes
) -> tuple[TypeSequence, ...]:
    """The plan with deferred reductions, and reshard points of weights in any layout, of least communication."""
    devices = prod(sizes)
    groups = [_even(graph, group, devices) for group in graph.groups]
    labels = [_variants(group, own) for group, own in zip(groups, sequences, strict=True)]
    if all(len(own) == 1 for own in labels):
        return tuple(sequences)
    return chosen(labels, minimise(graph_of(physical_terms(edges), labels, sizes)).choice)


def _even(graph: PlanGraph, group: LayerGroup, devices: int) -> LayerGroup:
    """A reshard point of weights without the type that is not divisible."""
    if not group.weights or "III" not in group.types:
        return group
    for number in group.tasks:
        task, cut = graph.program.tasks[number], graph.task_cuts.cut_of["III"][number]
        for value, axis in zip(task.operands, task.cuts[cut].operands if cut is not None else (), strict=False):
            if axis is not None and graph.program.values[value].shape[axis] % devices:
                return replace(group, types=tuple(type for type in group.types if type != "III"))
    return group


def _variants(group: LayerGroup, sequence: TypeSequence) -> list[TypeSequence]:
    """The type sequences of equal cost by the papers' conventions, the planned one first."""
    if group.kind is not None or "II" not in group.types or "II" in sequence:
        return [sequence]
    if group.weights:
        few = len(group.types) ** len(sequence) <= MOST
        every = (
            list(product(group.types, repeat=len(sequence))) if few else canonical_sequences(group.types, len(sequence))
        )
        return list(dict.fromkeys((sequence, *every)))
    whole = [h for h, type in enumerate(sequence) if type == "whole"]
    if 2 ** len(whole) <= MOST:
        sets = [
            [h for h, own in zip(whole, take, strict=True) if own] for take in product((False, True), repeat=len(whole))
        ]
    else:
        sets = [whole[len(whole) - count :] for count in range(len(whole) + 1)]
    return [tuple("II" if h in own else type for h, type in enumerate(sequence)) for own in sets]
