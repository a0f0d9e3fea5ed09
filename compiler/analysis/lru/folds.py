"""
The folds of a stream of tile operations, and the waits of their groups for the array's edge
(`analysis/machine/edge.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np

from npuc.compiler.analysis.machine.array import Array, Numbers
from npuc.compiler.analysis.machine.edge import is_forward, wait
from npuc.compiler.analysis.machine.stationary import members, placement
from npuc.compiler.analysis.nest.blocks import Ints
from npuc.dialects.npu.gemm import gemm_view
from npuc.dialects.npu.nest import Nest, Statement

Operation: TypeAlias = tuple[int, int, int, int, int]
"""The tiles of both operands, of the start (-1: none) and of the sum, and the cycles."""


class Folds(NamedTuple):
    """
    The folds of one operation: each streams `streamed` cycles, and the transfer across the edge of the first (os: last)
    takes `shift` cycles; `waits` are the waits among them. `tile` numbers the stationary tile of a single fold, which
    may belong to a longer group; -1 for others.
    """

    streamed: int
    shift: int
    waits: int
    tile: int


def with_waits(
    operations: Iterable[tuple[int, tuple[Operation, Folds]]], array: Array
) -> Iterator[tuple[int, Operation]]:
    """
    Operations in order, of walks by number, with their waits for the edge in their cycles; the wait of a group belongs
    to the operation where it begins.

    The lookahead ends where a group is long enough not to wait.
    """
    forward, longest = is_forward(array), array.most_shift
    pending = list[tuple[int, Operation, int]]()
    group, total, before, last = -1, 0, 0, 0

    def closed(crossing: int) -> Iterator[tuple[int, Operation]]:
        """The operations of the open group, which lasts at least as long as the transfer beside it."""
        waited = wait(crossing, total)
        for number, operation, waits in pending:
            yield number, _longer(operation, waits + waited)
            waited = 0
        pending.clear()

    for number, (operation, (streamed, shift, waits, tile)) in operations:
        if tile >= 0 and tile == group:
            total += streamed
            if not pending:
                yield number, operation
                continue
        else:
            if pending:
                yield from closed(shift if forward else before)
            before, group, total = last, tile, streamed
        last = shift
        enough = longest if forward else before
        # Nothing continues the group of an operation without a tile: what it waits for a drain before it is known.
        if not pending and (total >= enough or (tile < 0 and not forward)):
            yield number, _longer(operation, waits + max(0, enough - total))
            continue
        pending.append((number, operation, waits))
        if total >= enough:
            yield from closed(0)
    yield from closed(0 if forward else before)


def _longer(operation: Operation, cycles: int) -> Operation:
    """An operation that takes so many more cycles."""
    return (*operation[:4], operation[4] + cycles) if cycles else operation


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
    streamed = place.cycles(streamed)
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
