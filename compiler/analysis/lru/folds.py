"""
The folds of a stream of tile operations, and the waits of their groups for the array's edge
(`analysis/machine/edge.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from npuc.compiler.analysis.machine.array import Array, Numbers
from npuc.compiler.analysis.machine.edge import is_forward, wait
from npuc.compiler.analysis.machine.stationary import members, placement
from npuc.compiler.analysis.nest.blocks import Ints
from npuc.dialects.npu.gemm import gemm_view
from npuc.dialects.npu.nest import Nest, Statement

T = TypeVar("T")


@dataclass(frozen=True)
class Folds:
    """
    The folds of one operation: each streams `streamed` cycles, and the transfer across the edge of the first (os: last)
    takes `shift` cycles; `waits` are the waits among them. `tile` numbers the stationary tile of a single fold, which
    may belong to a longer group; -1 for others.
    """

    streamed: int
    shift: int
    waits: int
    tile: int


def with_waits(operations: Iterable[tuple[T, Folds]], array: Array) -> Iterator[tuple[T, int]]:
    """
    Operations in order, each with its waits for the edge; the wait of a group belongs to the operation where it begins.

    The lookahead ends where a group is long enough not to wait.
    """
    forward, pending = is_forward(array), list[tuple[T, int]]()
    tile, streamed, before, last, begun = -1, 0, 0, 0, False

    def closed(crossing: int) -> Iterator[tuple[T, int]]:
        """The operations of the open group, which lasts at least as long as the transfer beside it."""
        for number, (operation, own) in enumerate(pending):
            yield operation, own + (0 if number else wait(crossing, streamed))
        pending.clear()

    for operation, folds in operations:
        if begun and folds.tile >= 0 and folds.tile == tile:
            streamed += folds.streamed
            if not pending:
                yield operation, 0
                continue
        else:
            yield from closed(folds.shift if forward else before)
            before, begun = last, True
            tile, streamed = folds.tile, folds.streamed
        last = folds.shift
        pending.append((operation, folds.waits))
        if streamed >= (array.most_shift if forward else before):
            yield from closed(0)
    yield from closed(0 if forward else before)


def folds_of(
    nest: Nest, statement: Statement, array: Array, extents: Mapping[str, Ints], rows: int
) -> tuple[Numbers, Numbers, Numbers, np.ndarray[tuple[int, ...], np.dtype[np.bool_]]]:
    """
    Of one statement in tile operations of these extents: the cycles that a fold streams, those of what crosses the edge
    for the one at the end, the waits for each other, and whether it is a single fold.
    """
    view, place = gemm_view(nest, statement), placement(statement, array)

    def size(dims: tuple[str, ...]) -> Ints:
        result = np.ones(rows, dtype=np.int64)
        for d in dims:
            result = result * extents[d]
        return result

    tall, wide, streamed = (size(members(view, g)) for g in (place.rows, place.cols, place.streamed))
    high, columns = -(-tall // array.rows), size(view.batch) * -(-wide // array.cols)
    full, rest = array.shift(np.minimum(tall, array.rows)), array.shift(tall - (high - 1) * array.rows)
    end = full if is_forward(array) else rest
    one, other, outer = (np.maximum(shift - streamed, 0) for shift in (full, rest, end))
    return streamed, end, columns * ((high - 1) * one + other) - outer, high * columns == 1


def stationary(
    nest: Nest, statement: Statement, array: Array, at: Mapping[str, Ints], counts: Mapping[str, int], rows: int
) -> Ints:
    """The number of the stationary tile of each operation; `at` are the intervals of the dimensions."""
    streamed = members(gemm_view(nest, statement), placement(statement, array).streamed)
    number = np.zeros(rows, dtype=np.int64)
    for dim, interval in at.items():
        if dim not in streamed:
            number = number * counts[dim] + interval
    return number
