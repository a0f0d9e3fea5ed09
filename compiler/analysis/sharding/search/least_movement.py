"""
Plan search for least communication on any network.

Each search minimises over a choice graph (`solvers/choices`), exactly where the graph is narrow enough, and within a
proved bound elsewhere.

With the types I and II the cost terms of a layer group depend on how many of its levels have each type, and a boundary
is cheapest where one side's levels contain the other's. So, where all levels are halves, some best plan orders the
levels of each group as data-parallel outermost, then replicated, then model-parallel innermost; the labels of a group
are the numbers of these. (Compared with all sequences of many small networks: with model-parallel above replicated
levels, some plans cost 5 % more.) With type III, or levels of more than two parts, the labels are all type sequences,
or for many levels those of few runs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product
from math import prod

import numpy as np

from npuc.compiler.analysis.sharding.cost.closed_forms import MOST_HALVINGS, totals
from npuc.compiler.analysis.sharding.cost.cost_terms import CostTerm, Rate, Sizes, TypeSequence
from npuc.compiler.analysis.sharding.cost.device_memory import DeviceMemory, bytes_by_label, kept_tensors, largest
from npuc.compiler.analysis.sharding.cost.term_graph import Labels, graph_of_terms
from npuc.compiler.analysis.sharding.graph.edges import PlanEdges
from npuc.compiler.analysis.sharding.graph.layer_groups import LayerGroup, PlanGraph
from npuc.compiler.analysis.sharding.graph.partition_types import PartitionType
from npuc.compiler.analysis.sharding.reference.strategies import Rule
from npuc.compiler.analysis.sharding.search.type_sequences import few_orders
from npuc.compiler.analysis.solvers.choices.graph import Choices, Result, Table, plus, times
from npuc.compiler.analysis.solvers.choices.limited import minimise_within
from npuc.compiler.analysis.solvers.choices.minimise import minimise
from npuc.compiler.core.errors import CapacityError, UsageError
from npuc.compiler.core.units import MIB

MOST_LEVELS_ON_GRAPHS = 5
"""With three types a group has 3^5 labels at 5 levels: more make tables too large to search (`many_levels`)."""
FROM_TOP: tuple[PartitionType, ...] = ("I", "whole", "II", "III")
"""The order of types by level, outermost first, where the order is free."""
SHOWN = 4
"""So many of the largest tensors a message names."""


@dataclass(frozen=True)
class MovementPlan:
    """A type sequence for each group, its communication in elements, and a lower bound for the same types."""

    sequences: tuple[TypeSequence, ...]
    elements: Fraction
    bound: Fraction


def candidate_types(group: LayerGroup, rule: Rule) -> tuple[PartitionType, ...]:
    """The types that a layer group chooses from; for a weighted layer those of the rule."""
    if group.kind is None:
        # all data parallel: joins and what several read as well, and weights whole with one sum of their gradient
        wanted: PartitionType = "II" if group.weights else "I"
        return (wanted,) if rule.by_batch and wanted in group.types else group.types
    types = rule.of_kind(group.kind)
    if group.asked:
        return group.types
    if len(types) == 1:
        return types
    return tuple(type for type in types if type in group.types) or (group.types if "I" in types else types[:1])


def canonical_sequences(types: Sequence[PartitionType], levels: int) -> list[TypeSequence]:
    """Patterns with the batch cut above, the value whole below that, and the channels cut at the bottom."""
    return list(combinations_with_replacement([type for type in FROM_TOP if type in types], levels))


def uniform(type: PartitionType, levels: int) -> TypeSequence:
    """One type at so many levels."""
    return (type,) * levels


def labels_of(groups: Sequence[LayerGroup], rule: Rule, sizes: Sizes) -> list[list[TypeSequence]]:
    """
    The labels of each layer group for a joint search; only some of them with three types and many levels.

    Raises `UsageError` for too many levels of which some are no halves: their order counts.
    """
    levels, mixed = len(sizes), any(size != 2 for size in sizes)
    if mixed and levels > MOST_LEVELS_ON_GRAPHS:
        raise UsageError(
            f"found {levels} levels, not all of 2 parts, expected at most {MOST_LEVELS_ON_GRAPHS}",
            hint="neighbouring levels as one",
        )
    choices = [candidate_types(group, rule) for group in groups]
    # where only some groups can split the batch, the order of levels counts, too
    by_batch = {"I" in types for types in choices if rule.joint}
    ordered = mixed or rule.has_outputs or (len(by_batch) > 1 and levels <= MOST_LEVELS_ON_GRAPHS)
    found: list[list[TypeSequence]] = []
    for types in choices:
        if rule.has_outputs and levels > MOST_LEVELS_ON_GRAPHS:
            found.append(few_orders([type for type in FROM_TOP if type in types], levels))
        elif ordered:
            found.append([tuple(sequence) for sequence in product(types, repeat=levels)])
        else:
            found.append(canonical_sequences(types, levels))
    return found


def search_all(
    groups: Sequence[LayerGroup], terms: Sequence[CostTerm], rule: Rule, sizes: Sizes, *, exact: bool = False
) -> MovementPlan:
    """
    The plan of least movement among the labels of a rule, over all levels together.

    `exact`, here and below, has an integer program close what elimination leaves open (`minimise`).
    """
    labels = labels_of(groups, rule, sizes)
    result = minimise(graph_of(terms, labels, sizes), solve_exactly=exact)
    return MovementPlan(
        chosen(labels, result.choice), elements_of(result.cost, sizes), elements_of(result.bound, sizes)
    )


def search_within(
    graph: PlanGraph,
    edges: PlanEdges,
    terms: Sequence[CostTerm],
    rule: Rule,
    sizes: Sizes,
    room: DeviceMemory,
    *,
    exact: bool = False,
) -> MovementPlan:
    """
    The plan of least movement of those that keep no more in a device's memory than there is room.

    Where none does, it is the plan that keeps least. Raises `CapacityError` where the parameters and states of that
    plan alone are too much.
    """
    labels = labels_of(graph.groups, rule, sizes)
    result = choose_within(graph, edges, labels, graph_of(terms, labels, sizes), sizes, room, exact=exact)
    return MovementPlan(
        chosen(labels, result.choice), elements_of(result.cost, sizes), elements_of(result.bound, sizes)
    )


def choose_within(
    graph: PlanGraph,
    edges: PlanEdges,
    labels: Sequence[Sequence[TypeSequence]],
    choices: Choices,
    sizes: Sizes,
    room: DeviceMemory,
    *,
    exact: bool = False,
) -> Result:
    """
    The labels that cost least of those that keep no more than there is room, else those that keep least (bound 0).

    Raises `CapacityError` where the parameters and states of these alone are too much.
    """
    fixed, resource = bytes_by_label(kept_tensors(graph, edges, room), labels, sizes)
    found = minimise_within(choices, resource, room.limit - fixed, solve_exactly=exact)
    if found.choice is not None:
        return Result(found.choice, found.cost, found.bound, found.exact, found.width)
    _check_parameters(graph, edges, room, labels, sizes)
    least = tuple(int(table.argmin()) for table in resource)
    return Result(least, choices.cost(least), 0, exact=False, width=found.width)


def _check_parameters(
    graph: PlanGraph, edges: PlanEdges, room: DeviceMemory, labels: Sequence[Sequence[TypeSequence]], sizes: Sizes
) -> None:
    """Raise `CapacityError` where no plan has room for the parameters and states: by how much, and for which."""
    kept = kept_tensors(graph, edges, replace(room, by_weights=frozenset(), by_others=frozenset()))
    fixed, resource = bytes_by_label(kept, labels, sizes)
    needed = fixed + sum(int(table.min()) for table in resource)
    if needed <= room.limit:
        return
    least = [int(table.argmin()) for table in resource]
    tensors = largest(graph, kept, chosen(labels, least), sizes, SHOWN)
    shown = ", ".join(f"{name} {size / MIB:,.1f} MiB" for name, size in tensors)
    raise CapacityError(
        f"parameters and optimizer states alone take {needed / MIB:,.1f} MiB a device under any plan, "
        f"{(needed - room.limit) / MIB:,.1f} MiB more than there is; most take those of {shown}",
        hint="more --devices, or parameters in parts (--zero)",
    )


def chosen(labels: Sequence[Sequence[TypeSequence]], choice: Sequence[int]) -> tuple[TypeSequence, ...]:
    """The type sequences of the chosen labels."""
    return tuple(own[label] for own, label in zip(labels, choice, strict=True))


def search_levels(
    groups: Sequence[LayerGroup], terms: Sequence[CostTerm], rule: Rule, sizes: Sizes, *, exact: bool = False
) -> MovementPlan:
    """The published search: each level the best for what those above have left."""
    types = [candidate_types(group, rule) for group in groups]
    sequences: list[TypeSequence] = [()] * len(groups)
    for level in range(1, len(sizes) + 1):
        labels = [[above + uniform(type, 1) for type in own] for above, own in zip(sequences, types, strict=True)]
        result = minimise(graph_of(terms, labels, sizes[:level]), solve_exactly=exact)
        sequences = list(chosen(labels, result.choice))
    total = moved_by(terms, sequences, sizes)
    return MovementPlan(tuple(sequences), total, total)


def moved_by(terms: Sequence[CostTerm], sequences: Sequence[TypeSequence], sizes: Sizes) -> Fraction:
    """What a plan moves in all, in elements."""
    return elements_of(sum(sum(term.amounts(sequences, sizes)) for term in terms), sizes)


def elements_of(units: float | Fraction, sizes: Sizes) -> Fraction:
    """Elements for an amount in the units of `moves`."""
    return Fraction(units) / (2 * prod(sizes))


def graph_of(
    terms: Sequence[CostTerm],
    labels: Sequence[Sequence[TypeSequence]],
    sizes: Sizes,
    cost_of: Callable[[Rate, tuple[TypeSequence, ...]], int] | None = None,
) -> Choices:
    """The terms as costs of labels; `cost_of` is the cost of one element, by default the sum over the levels."""

    def summed(rate: Rate, sequences: tuple[TypeSequence, ...]) -> int:
        return sum(rate.amounts(sequences, sizes))

    element_cost = cost_of or summed

    @cache
    def table(rate: Rate, own: Labels) -> Table:
        if cost_of is None and len(own) == 2 and set(sizes) == {2} and len(sizes) <= MOST_HALVINGS:
            return totals(rate, *own)
        costs = [element_cost(rate, sequences) for sequences in product(*own)]
        found = np.array(costs, dtype=np.object_ if max(costs, default=0) >= 2**62 else None)
        return found.reshape([len(sequences) for sequences in own])

    def alike(term: CostTerm) -> Hashable:
        return term.rate, term.elements

    def cost(term: CostTerm, own: Labels) -> Table:
        return times(table(term.rate, own), term.elements)

    zeros = {len(own): np.zeros(len(own), np.int64) for own in labels}
    return graph_of_terms(terms, labels, [zeros[len(own)] for own in labels], alike, cost, plus)
