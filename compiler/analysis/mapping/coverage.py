"""
Whether a mapping computes each point of its layer exactly once.

    TemporalMap(3, 2) K              K = 2 is computed 2 times
    SpatialMap(1, 1) K, SpatialMap(1, 1) C, on 4 processing elements: K = 0, C = 1 is never computed

What is computed is a product over groups of dimensions (`groups`), and so is how often: it is once for all points if
and only if it is once in each group. Groups that are tied by the sub-clusters of a level are looked at together, by a
sum over them. Only where the top level has two spatial maps does the number of processing elements matter: folds of
one map compute the same points whatever the width.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from npuc.compiler.analysis.mapping.groups import Integers, TileGroup, groups, tied
from npuc.compiler.analysis.mapping.levels import Unmappable
from npuc.compiler.analysis.mapping.walk import LevelPlan, plan_of
from npuc.dialects.mapping import Mapping, Problem
from npuc.dialects.mapping.problem import OUTPUT, SLIDES

MOST_POINTS = 1 << 24
"""The most points along a dimension, taps of windows times their positions, that are looked at."""
_AT_ONCE = 64
"""Points of the first of tied groups that are looked at together: an illegal mapping is found early."""


@lru_cache(maxsize=1024)
def coverage(mapping: Mapping, num_pes: int) -> tuple[str, ...]:
    """
    Where a mapping computes points not once on so many processing elements, a sentence each; nothing for a legal one.

    Of each group of dimensions the first point is named.
    """
    wrong = tuple(replace(mapping, unchecked=False).problems())
    if wrong:
        return wrong
    try:
        plan = plan_of(mapping, num_pes)
    except Unmappable as e:
        return (str(e),)
    if _only_cuts(mapping):
        return ()
    doubtful = _doubtful(plan, mapping.problem)
    if (many := _too_many(doubtful, mapping.problem)) is not None:
        return (many,)
    return tuple(_problems(tied(groups(doubtful, mapping.problem)), mapping.problem))


def _too_many(plan: LevelPlan, problem: Problem) -> str | None:
    """Why the points of a plan cannot be looked at, if they cannot: no layer that anybody trains has as many."""
    for dim, size in plan.given:
        windows = SLIDES if problem.slides else {}
        points = problem.outputs(dim) * problem.sizes[windows[dim]] if dim in windows else size
        if points > MOST_POINTS:
            return f"{dim} has {points:,} points, too many to look at"
    return None


def _doubtful(plan: LevelPlan, problem: Problem) -> LevelPlan:
    """
    A plan without the dimensions that every level cuts by themselves, in tiles end to end.

    Each of their points is computed once, so that those of a large layer need not be counted.
    """
    sliding = {dim for pair in SLIDES.items() for dim in pair} if problem.slides else set[str]()
    apart = {a.dim for floor in plan.floors for a in floor.along if a.span is not None or a.size != a.apart}
    together = {a.dim for floor in plan.floors for a in floor.together}
    return replace(plan, given=tuple((d, size) for d, size in plan.given if d in sliding | apart | together))


def _only_cuts(mapping: Mapping) -> bool:
    """
    Whether each level cuts what it is given in tiles side by side, one dimension of it for the sub-clusters.

    Then each point is computed once, without a look at the points, of which a gradient's product has very many.
    """
    if mapping.problem.slides:
        return False
    apart = all(mapping.extent(one.size) == mapping.extent(one.offset) for level in mapping.levels for one in level)
    return apart and all(sum(one.spatial for one in level) == 1 for level in mapping.levels)


def enough(mapping: Mapping) -> int:
    """Processing elements with which the top level of a mapping needs no fold."""
    inner = 1
    for size in mapping.clusters:
        inner *= size
    return inner * max(mapping.problem.sizes.values())


def is_legal(mapping: Mapping) -> bool:
    """Whether a mapping computes each point of its layer once on a machine that is large enough."""
    return not coverage(mapping, enough(mapping))


def _problems(sets: Sequence[Sequence[TileGroup]], problem: Problem) -> Iterator[str]:
    for mine in sets:
        found = _first(mine)
        if found is not None:
            point, count = found
            names = [d for group in mine for d in group.dims]
            shown = [OUTPUT.get(d, d) if problem.slides else d for d in names]
            moved = [f"{d} = {i}" for d, i in zip(shown, point, strict=True)]
            yield f"{', '.join(moved)} is {f'computed {count} times' if count else 'never computed'}"


def _first(mine: Sequence[TileGroup]) -> tuple[tuple[int, ...], int] | None:
    """The first point of tied groups that is not computed once, and how often it is."""
    levels = sorted({level for group in mine for level in group.levels})
    widths = {
        level: 1 + max(int(g.keys[:, g.levels.index(level)].max(initial=0)) for g in mine if level in g.levels)
        for level in levels
    }
    tables: list[Integers] = []
    places: list[Integers] = []
    for group in mine:
        counts = _counts(group, [widths[level] for level in group.levels])
        _, first = np.unique(counts, axis=1, return_index=True)
        places.append(np.sort(first))
        tables.append(counts[:, places[-1]].reshape(*(widths[level] for level in group.levels), len(first)))
    letters = [[*(levels.index(level) for level in group.levels), len(levels) + n] for n, group in enumerate(mine)]
    for start in range(0, len(places[0]), _AT_ONCE):
        parts = [tables[0][..., start : start + _AT_ONCE], *tables[1:]]
        operands = [one for pair in zip(parts, letters, strict=True) for one in pair]
        counts = np.einsum(*operands, [one[-1] for one in letters], optimize=True)
        wrong = np.argwhere(counts != 1)
        if len(wrong):
            where = [int(i) for i in wrong[0]]
            firsts = [places[0][start:], *places[1:]]
            points = [np.unravel_index(int(own[i]), g.sizes) for own, i, g in zip(firsts, where, mine, strict=True)]
            return tuple(int(i) for point in points for i in point), int(counts[tuple(where)])
    return None


def _counts(group: TileGroup, widths: Sequence[int]) -> Integers:
    """How often each point of a group is computed, a row for each combination of its keys."""
    rows = int(np.prod(widths, dtype=np.int64))
    key = np.ravel_multi_index(tuple(group.keys.T), tuple(widths)) if widths else np.zeros(len(group.low), np.int64)
    steps = np.zeros((rows, *(size + 1 for size in group.sizes)), np.int64)
    for corner in np.ndindex(*(2,) * len(group.sizes)):
        place = np.where(corner, group.high, group.low)
        np.add.at(steps, (key, *place.T), group.times * (-1) ** sum(corner))
    for axis in range(1, steps.ndim):
        steps = np.cumsum(steps, axis=axis)
    inside = (slice(None), *(slice(size) for size in group.sizes))
    return steps[inside].reshape(rows, -1)
