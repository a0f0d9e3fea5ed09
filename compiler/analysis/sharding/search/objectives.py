"""
Plan search for other objectives than communication: the shortest step, and the least memory.

    time      seconds of work and collectives (`step_time.py`); the order of levels counts, as their networks differ
    memory    bytes that a device keeps from the forward to the backward pass (`device_memory.py`); among equal plans
              the one with least communication

For time the candidates of a layer group are all type sequences where these are few, else those with one change of type.
The memory of a plan is a sum over layer groups, and over pairs of producer and consumer that keep a value in their
layouts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations, product

from npuc.compiler.analysis.sharding.cost.cost_terms import CostTerm, Sizes, TypeSequence, physical_terms
from npuc.compiler.analysis.sharding.cost.device_memory import DeviceMemory, kept_graph, kept_tensors
from npuc.compiler.analysis.sharding.cost.step_time import Times, message_seconds, time_graph, work_seconds
from npuc.compiler.analysis.sharding.graph.edges import PlanEdges
from npuc.compiler.analysis.sharding.graph.layer_groups import PlanGraph
from npuc.compiler.analysis.sharding.graph.partition_types import PartitionType
from npuc.compiler.analysis.sharding.reference.strategies import Rule
from npuc.compiler.analysis.sharding.search.least_movement import (
    candidate_types,
    choose_within,
    chosen,
    graph_of,
    labels_of,
    uniform,
)
from npuc.compiler.analysis.solvers.choices.graph import Choices, plus, times
from npuc.compiler.analysis.solvers.choices.minimise import can_eliminate, minimise

MOST_SEQUENCES = 81
"""With more type sequences than these, only those with one change of type are searched."""


@dataclass(frozen=True)
class Best:
    """Type sequences, their cost (seconds or bytes), and a lower bound over the searched sequences."""

    sequences: tuple[TypeSequence, ...]
    cost: float
    bound: float


def candidate_sequences(types: Sequence[PartitionType], levels: int) -> list[TypeSequence]:
    """All type sequences where these are few, else those with at most one change of type."""
    if len(types) ** levels <= MOST_SEQUENCES:
        return [tuple(sequence) for sequence in product(types, repeat=levels)]
    twos = [
        uniform(upper, above) + uniform(lower, levels - above)
        for upper, lower in permutations(types, 2)
        for above in range(1, levels)
    ]
    return [uniform(type, levels) for type in types] + twos


def sequences_for_time(graph: PlanGraph, rule: Rule, levels: int) -> list[list[TypeSequence]]:
    """The candidate type sequences of each layer group for the shortest step."""
    return [candidate_sequences(candidate_types(group, rule), levels) for group in graph.groups]


def is_solved_exactly(labels: Sequence[Sequence[TypeSequence]], terms: Sequence[CostTerm]) -> bool:
    """Whether the plan of the shortest step is found by elimination alone; `terms` are those of `physical`."""
    return can_eliminate([len(own) for own in labels], {term.groups for term in terms if len(term.groups) == 2})


def fastest(
    graph: PlanGraph,
    edges: PlanEdges,
    rule: Rule,
    sizes: Sizes,
    times: Times,
    room: DeviceMemory | None = None,
    *,
    exact: bool = False,
) -> Best:
    """
    The plan of the shortest step; with `room` of those that keep within the memory of a device.

    Raises `CapacityError` where parameters alone take more, or where the network has no place for the devices.
    """
    labels, terms = sequences_for_time(graph, rule, len(sizes)), physical_terms(edges)
    choices = time_graph(graph.program, terms, labels, times, sizes)
    if room is None:
        found = minimise(choices, solve_exactly=exact)
    else:
        found = choose_within(graph, edges, labels, choices, sizes, room, exact=exact)
    sequences = chosen(labels, found.choice)
    messages = message_seconds(graph.program, terms, sequences, times, sizes)
    return Best(sequences, work_seconds(times, sequences) + float(messages), float(found.bound) + times.rest)


def smallest(
    graph: PlanGraph,
    edges: PlanEdges,
    terms: Sequence[CostTerm],
    rule: Rule,
    sizes: Sizes,
    room: DeviceMemory,
    *,
    exact: bool = False,
) -> Best:
    """The plan that keeps least in a device's memory, and of these moves least by `terms`."""
    labels = labels_of(graph.groups, rule, sizes)
    fixed, kept = kept_graph(kept_tensors(graph, edges, room), labels, sizes)
    moved = graph_of(terms, labels, sizes)
    # one byte counts for more than all that a plan may move
    byte = 1 + sum(int(table.max()) for table in (*moved.unary, *moved.pairs.values()))
    pairs = {key: times(table, byte) for key, table in kept.pairs.items()}
    for key, table in moved.pairs.items():
        pairs[key] = plus(pairs[key], table) if key in pairs else table
    unary = [plus(times(table, byte), own) for table, own in zip(kept.unary, moved.unary, strict=True)]
    found = minimise(Choices(moved.sizes, unary, pairs), solve_exactly=exact)
    return Best(chosen(labels, found.choice), fixed + int(found.cost) // byte, fixed + int(found.bound) // byte)
