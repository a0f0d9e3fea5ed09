"""
Plan search when 3^H sequences per layer group are too many to enumerate: with three partition types, or with two where
only some groups can split the batch, so that the order of levels counts.

First a relaxation lets each layer group choose how many levels have each type, and each pair of groups the order of
levels that is best for it alone. It is no plan, but a lower bound of all plans, and its counts are close to those of a
good plan. Then sequences of few runs are searched around these counts, and around those of the plans level by level and
with two types, again and again while the plan improves. Under `physical` the relaxation is exact for trees, where the
order of a group can follow that of its neighbour.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from npuc.compiler.analysis.sharding.cost.closed_forms import least_totals
from npuc.compiler.analysis.sharding.cost.cost_terms import CostTerm, Rate, Sizes, TypeSequence
from npuc.compiler.analysis.sharding.graph.layer_groups import LayerGroup
from npuc.compiler.analysis.sharding.graph.partition_types import PartitionType
from npuc.compiler.analysis.sharding.reference.strategies import Rule
from npuc.compiler.analysis.sharding.search.least_movement import (
    MOST_LEVELS_ON_GRAPHS,
    MovementPlan,
    candidate_types,
    chosen,
    elements_of,
    graph_of,
    labels_of,
    moved_by,
    search_all,
    search_levels,
)
from npuc.compiler.analysis.sharding.search.type_sequences import compositions, neighbours, ordered_sequences
from npuc.compiler.analysis.solvers.choices.graph import Choices, Table, plus, times
from npuc.compiler.analysis.solvers.choices.minimise import lower_bound, minimise

MOST_LEVELS = 12
"""The type pairs of an edge have 125,970 distributions over 12 levels: with more levels nothing is searched."""
RUNS = 3
"""The runs of one type that a searched sequence has at most."""
ROUNDS = 6
"""So often sequences around a plan are searched, at most."""


def has_many(rule: Rule, sizes: Sizes) -> bool:
    """Whether a layer group has too many type sequences to enumerate."""
    halves = all(size == 2 for size in sizes)
    return rule.has_outputs and halves and len(sizes) > MOST_LEVELS_ON_GRAPHS


def is_enumerated(groups: Sequence[LayerGroup], rule: Rule, sizes: Sizes) -> bool:
    """
    Whether the labels of `search_all` hold a best plan.

    With many levels of halves these are sequences in one order of types, which is the best only where all groups can
    split the batch, or none can. Many levels of other sizes are refused there.
    """
    if not rule.joint or len(sizes) <= MOST_LEVELS_ON_GRAPHS or any(size != 2 for size in sizes):
        return not has_many(rule, sizes)
    by_batch = {"I" in candidate_types(group, rule) for group in groups}
    return len(by_batch) < 2 and not has_many(rule, sizes)


def is_bounded(groups: Sequence[LayerGroup], rule: Rule, sizes: Sizes) -> bool:
    """Whether something is proved of all plans of a rule's types."""
    return is_enumerated(groups, rule, sizes) or len(sizes) <= MOST_LEVELS


def search_joint(
    groups: Sequence[LayerGroup],
    terms: Sequence[CostTerm],
    rule: Rule,
    sizes: Sizes,
    beside: Sequence[tuple[TypeSequence, ...]] = (),
    *,
    exact: bool = False,
) -> MovementPlan:
    """
    The plan of least movement over all levels together: exact where that can be searched, else a good one.

    It moves no more than the plan level by level, the best without splits along the output, and those `beside` them.
    With more levels than sequences are searched for it is the best of these, and nothing is proved (bound 0). `exact`,
    here and below, has an integer program close what elimination leaves open.
    """
    if is_enumerated(groups, rule, sizes):
        return search_all(groups, terms, rule, sizes, exact=exact)
    without = search_all(groups, terms, rule.without_outputs(), sizes)
    known = [search_levels(groups, terms, rule, sizes).sequences, without.sequences, *beside]
    elements, best = min((moved_by(terms, plan, sizes), plan) for plan in known)
    if len(sizes) > MOST_LEVELS:
        return MovementPlan(best, elements, Fraction(0))
    types = [candidate_types(group, rule) for group in groups]
    bound = relaxation(groups, terms, rule, sizes, exact=exact)
    if not rule.has_outputs and without.elements <= bound.bound:
        return MovementPlan(without.sequences, without.elements, bound.bound)
    around = [bound.sequences, *known]
    for _ in range(ROUNDS):
        labels = [neighbours(own, [plan[n] for plan in around], len(sizes), RUNS) for n, own in enumerate(types)]
        result = minimise(graph_of(terms, labels, sizes), solve_exactly=exact)
        if elements_of(result.cost, sizes) >= elements:
            break
        elements, best = elements_of(result.cost, sizes), chosen(labels, result.choice)
        around = [best]
    return MovementPlan(best, elements, bound.bound)


def least(
    groups: Sequence[LayerGroup], terms: Sequence[CostTerm], rule: Rule, sizes: Sizes, *, exact: bool = False
) -> Fraction | None:
    """What no plan goes below that has a rule's types; None where there are too many levels to say."""
    free = rule.all_free()
    if not is_bounded(groups, free, sizes):
        return None
    if is_enumerated(groups, free, sizes):
        choices = graph_of(terms, labels_of(groups, free, sizes), sizes)
    else:
        _, choices = _relaxed(groups, terms, free, sizes)
    return elements_of(lower_bound(choices, solve_exactly=exact), sizes)


def relaxation(
    groups: Sequence[LayerGroup], terms: Sequence[CostTerm], rule: Rule, sizes: Sizes, *, exact: bool = False
) -> MovementPlan:
    """
    A lower bound of all plans, and initial numbers of levels of each type, as sequences with the types in order.

    `elements` are what the relaxation has, not the communication of these sequences.
    """
    labels, choices = _relaxed(groups, terms, rule, sizes)
    result = minimise(choices, solve_exactly=exact)
    found = elements_of(result.bound, sizes)
    return MovementPlan(chosen(labels, result.choice), found, found)


def _relaxed(
    groups: Sequence[LayerGroup], terms: Sequence[CostTerm], rule: Rule, sizes: Sizes
) -> tuple[list[list[TypeSequence]], Choices]:
    """The labels of the relaxation, and their costs."""
    types = [candidate_types(group, rule) for group in groups]
    labels = [ordered_sequences(own, len(sizes)) for own in types]
    alone = graph_of([term for term in terms if len(term.groups) == 1], labels, sizes)
    between: dict[tuple[int, int], list[tuple[Rate, int]]] = {}
    for term in terms:
        if len(term.groups) == 2:
            first, second = term.groups
            between.setdefault((first, second), []).append((term.rate, term.elements))
    pairs = {(i, j): _pair(tuple(own), types[i], types[j], len(sizes)) for (i, j), own in between.items()}
    return labels, Choices(alone.sizes, alone.unary, pairs)


@lru_cache(maxsize=16)
def _cases(before: int, after: int, levels: int) -> tuple[NDArray[np.int64], NDArray[np.intp], NDArray[np.intp]]:
    """
    All numbers of levels of each type pair, [case, before, after], grouped by equal sums of rows and columns.

    With them the first case of each such group, and the numbers of the groups among all pairs of `ordered_sequences`.
    """
    counts = compositions(levels, before * after).reshape(-1, before, after)
    case_class = _rank(counts.sum(axis=2), levels) * len(compositions(levels, after)) + _rank(
        counts.sum(axis=1), levels
    )
    order = np.argsort(case_class, kind="stable")
    numbers, starts = np.unique(case_class[order], return_index=True)
    return counts[order], starts, numbers


def _rank(rows: NDArray[np.int64], levels: int) -> NDArray[np.int64]:
    """The number of each row among all shares of the levels."""
    parts = rows.shape[1]
    digits: NDArray[np.int64] = np.array([(levels + 1) ** place for place in range(parts)], np.int64)
    keys: NDArray[np.int64] = compositions(levels, parts) @ digits
    order = np.argsort(keys)
    return order[np.searchsorted(keys, rows @ digits, sorter=order)]


def _pair(
    terms: tuple[tuple[Rate, int], ...],
    before: tuple[PartitionType, ...],
    after: tuple[PartitionType, ...],
    levels: int,
) -> Table:
    """The least communication between two layer groups, by their numbers of levels of each type."""
    counts, starts, _ = _cases(len(before), len(after), levels)
    cost: Table = np.zeros(len(counts), np.int64)
    for rate, elements in terms:
        cost = plus(cost, times(_least(rate, before, after, levels), elements))
    sides = len(compositions(levels, len(before))), len(compositions(levels, len(after)))
    return np.minimum.reduceat(cost, starts).reshape(sides)


@lru_cache(maxsize=64)
def _least(
    rate: Rate, before: tuple[PartitionType, ...], after: tuple[PartitionType, ...], levels: int
) -> NDArray[np.int64]:
    return least_totals(rate, before, after, _cases(len(before), len(after), levels)[0])
