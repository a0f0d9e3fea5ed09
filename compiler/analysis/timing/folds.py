"""The folds of scheduled nests one by one, in order, each with the stationary tile that it works on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.stationary import keeps_tile, leaves_sums, members, placement
from npuc.compiler.analysis.machine.wave import Fold
from npuc.dialects.npu.gemm import gemm_view
from npuc.dialects.npu.nest import Nest, Schedule

Ranges: TypeAlias = dict[str, tuple[int, int]]
"""Of each dimension the first index of a tile operation, and the one after its last."""


def nest_folds(nest: Nest, schedule: Schedule, array: Array) -> Iterator[Fold]:
    """
    The folds of a scheduled nest on an array that is not row-stationary.

    Column folds are the outer loop of a tile operation, row folds the inner one; each element of the batch is a product
    of its own. A tile operation of a single fold may go on with the tile of the one before (`stationary.py`).
    """
    for number, at in enumerate(_operations(schedule, {dim: (0, size) for dim, size in nest.dims})):
        yield from _folds(nest, array, at, number, stays=array.reuses_stationary)


def round_robin_folds(nests: Sequence[Nest], schedules: Sequence[Schedule], array: Array) -> Iterator[Fold]:
    """
    The folds of scheduled nests that run round-robin: one tile operation of each in turn, of those that have any left.

    None goes on with the tile of another one.
    """
    left = [
        enumerate(_operations(schedule, {dim: (0, size) for dim, size in nest.dims}))
        for nest, schedule in zip(nests, schedules, strict=True)
    ]
    running = list(range(len(nests)))
    while running:
        for turn in tuple(running):
            number, at = next(left[turn], (0, None))
            if at is None:
                running.remove(turn)
            else:
                yield from _folds(nests[turn], array, at, (turn, number), stays=False)


def _operations(schedule: Schedule, at: Ranges, level: int = 0) -> Iterator[Ranges]:
    """The ranges of every tile operation, in order."""
    if level == len(schedule.loops):
        yield at
        return
    loop = schedule.loops[level]
    low, high = at[loop.dim]
    for begin in range(low, high, loop.step):
        yield from _operations(schedule, at | {loop.dim: (begin, min(high, begin + loop.step))}, level + 1)


def _folds(nest: Nest, array: Array, at: Ranges, number: object, *, stays: bool) -> Iterator[Fold]:
    sizes = {dim: high - low for dim, (low, high) in at.items()}
    for statement in nest.statements:
        view, place = gemm_view(nest, statement), placement(statement, array)
        batch, m, n, k = view.sizes(sizes)
        size = {"m": m, "n": n, "k": k}
        rows, cols, steps = size[place.rows], size[place.cols], place.steps(size)
        sums = leaves_sums(statement, array)
        kept = stays and keeps_tile(nest, statement, array)
        if kept and batch == 1 and rows <= array.rows and cols <= array.cols:
            fixed = (*members(view, place.rows), *members(view, place.cols), *view.batch)
            yield Fold(statement.out, rows, cols, steps, (statement.out, *(at[dim] for dim in fixed)), sums)
            continue
        for element in range(batch):
            for col in range(0, cols, array.cols):
                for row in range(0, rows, array.rows):
                    high, wide = min(array.rows, rows - row), min(array.cols, cols - col)
                    yield Fold(statement.out, high, wide, steps, (statement.out, number, element, col, row), sums)
