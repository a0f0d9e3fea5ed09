"""
The tiles of processing elements, for groups of dimensions that do not depend on each other.

A mapping is a product: tiles of K, times tiles of C, times pairs of tiles of Y and R. Only Y and R, and X and S, form a
group; two spatial maps of a level tie their groups by the number of the sub-cluster, modulo the width. So all tiles of
a layer of billions of points are a few thousand rows of integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from npuc.compiler.analysis.mapping.walk import Along, LevelPlan, pace
from npuc.compiler.core.frozen import frozen
from npuc.dialects.mapping import Problem
from npuc.dialects.mapping.problem import SLIDES

Integers: TypeAlias = npt.NDArray[np.int64]


@frozen
class TileGroup:
    """
    The distinct tiles of one or two dimensions, a row each: where they begin and end, and how often they come.

    Y and X are positions of the output. `keys` has a column for each level of `levels`: the sub-cluster of the tile
    there, by which it goes with the tiles of another group.
    """

    dims: tuple[str, ...]
    sizes: tuple[int, ...]
    low: Integers
    high: Integers
    times: Integers
    levels: tuple[int, ...]
    keys: Integers


def groups(plan: LevelPlan, problem: Problem | None = None) -> tuple[TileGroup, ...]:
    """The groups of a mapping; of one by directives for this layer, whose windows slide."""
    names = [dim for dim, _ in plan.given]
    slides = problem is not None and problem.slides
    pairs = [(dim, window) for dim, window in SLIDES.items() if slides and dim in names]
    paired = {dim for pair in pairs for dim in pair}
    single = [(dim,) for dim in names if dim not in paired]
    return tuple(_group(plan, dims, problem if dims in pairs else None) for dims in (*single, *pairs))


def _group(plan: LevelPlan, dims: tuple[str, ...], problem: Problem | None) -> TileGroup:
    given = dict(plan.given)
    low = np.zeros((1, len(dims)), np.int64)
    size = np.array([[given[dim] for dim in dims]], np.int64)
    times, keys = np.ones(1, np.int64), np.zeros((1, 0), np.int64)
    levels: list[int] = []
    for number, floor in enumerate(plan.floors):
        part = np.zeros((len(low), len(dims)), np.int64)
        for along in floor.along:
            if along.dim in dims:
                column = dims.index(along.dim)
                rows, start, length, mine = _cut(along, size[:, column])
                low, size, times, keys, part = (a[rows] for a in (low, size, times, keys, part))
                low[:, column] += start
                size[:, column] = length
                part[:, column] = mine
        tied = [along.dim for along in floor.together]
        columns = [dims.index(dim) for dim in tied if dim in dims]
        if len(columns) == 2:
            same = part[:, columns[0]] == part[:, columns[1]]
            low, size, times, keys = low[same], size[same], times[same], keys[same]
        elif columns:
            keys = np.hstack([keys, part[:, columns]])
            levels.append(number)
        low, size, keys, times = _distinct(low, size, keys, times)
    high = low + size
    sizes = tuple(given[dim] for dim in dims)
    if problem is not None:
        low, high = low.copy(), high.copy()
        apart, outputs = pace(problem, dims[0]), problem.outputs(dims[0])
        first, last = -((low[:, 1] - low[:, 0]) // apart), (high[:, 0] - high[:, 1]) // apart + 1
        low[:, 0], high[:, 0] = np.maximum(first, 0), np.minimum(last, outputs)
        some = low[:, 0] < high[:, 0]
        low, high, times, keys = low[some], high[some], times[some], keys[some]
        sizes = (outputs, sizes[1])
    return TileGroup(dims, sizes, low, high, times, tuple(levels), keys)


def _cut(along: Along, length: Integers) -> tuple[Integers, Integers, Integers, Integers]:
    """Tiles of so many elements each: the row they are of, where they begin in it, their length, their part."""
    if along.span is None:
        counts = 1 + np.maximum(0, -((along.size - length) // along.apart))
        rows, index = _ramps(counts)
        start = index * along.apart
        size = np.minimum(along.size, length[rows] - start)
        part = index % along.parts
    else:
        rows, index = _ramps(-(-length // along.span) * along.parts)
        part = index % along.parts
        start = index // along.parts * along.span + part * along.apart
        size = np.minimum(np.minimum(along.size, along.span - part * along.apart), length[rows] - start)
    some = size > 0
    return rows[some], start[some], size[some], part[some]


def _ramps(counts: Integers) -> tuple[Integers, Integers]:
    """For each row as many entries as its count: the row, and a number from 0."""
    rows = np.repeat(np.arange(len(counts)), counts)
    return rows, np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)


def _distinct(low: Integers, size: Integers, keys: Integers, times: Integers) -> tuple[Integers, ...]:
    """Equal rows once, with the sum of their times."""
    table = np.hstack([low, size, keys])
    code = np.zeros(len(table), np.int64)
    for column in table.T:
        code = code * (int(column.max(initial=0)) + 1) + column
    _, first, back = np.unique(code, return_index=True, return_inverse=True)
    sums = np.zeros(len(first), np.int64)
    np.add.at(sums, back, times)
    return low[first], size[first], keys[first], sums


def tied(found: Sequence[TileGroup]) -> list[list[TileGroup]]:
    """The groups that go together, directly or through others."""
    sets: list[list[TileGroup]] = []
    for group in found:
        mine = [s for s in sets if any(set(group.levels) & set(other.levels) for other in s)]
        sets = [s for s in sets if s not in mine]
        sets.append([*(other for s in mine for other in s), group])
    return sets
