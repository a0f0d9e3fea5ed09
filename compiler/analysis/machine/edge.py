"""
Transfers across the edge of an array, and the folds that wait for them.

Operands and sums cross the top or bottom edge of a systolic array through one port per column, which transfers
`array.edge_elements` elements per cycle. A stationary tile of r rows therefore takes S = ceil(r / edge_elements) cycles
to be loaded (ws, is), or its sums to be drained (os). Consecutive folds on one stationary tile form a *group* g, which
streams T_g cycles in all. The array is double buffered: while a group streams, the tile of the next group is loaded, or
the sums of the previous one are drained, and the group takes the longer of the two times:

    ws, is    (P - T) + sum over g < G of max(T_g, S_(g+1)) + T_G
    os        (P - T) + T_1 + sum over g > 1 of max(T_g, S_(g-1))

The wait of a group beyond T_g counts as compute time of the tile operation in which it begins. P - T includes the first
load, and with `drain = "full"` the last store. Derived from a model of single processing elements whose shadow
registers shift row by row (`tests/unit/cycle/shadow.py`).

Within a tile operation column folds are the outer loop and row folds the inner one, every element of the batch is a
product of its own, and statements run one after another. In a nest of one statement a tile operation of a single fold
may continue the group of the operation before (`stationary.changes`); all others begin new groups.

Sequences are evaluated in the direction of the dependence between neighbours: forwards (ws, is), or backwards (os),
where the "next" group is the one before in time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from math import prod

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.stationary import changes, members, placement
from npuc.compiler.analysis.nest.blocks import group_lengths
from npuc.compiler.core.frozen import frozen
from npuc.dialects.npu.gemm import gemm_view
from npuc.dialects.npu.nest import Nest, Schedule, Statement


@frozen
class FoldRun:
    """
    A sequence of `count` groups of folds, in the direction of the waits. The first group streams `first` cycles and the
    last one `last`; `shift` are the cycles of the first group's transfer across the edge.

    `waits` sums the waits of all groups but the last, whose wait depends on what follows.
    """

    count: int
    first: int
    last: int
    shift: int
    waits: int = 0

    def then(self, other: FoldRun, same: bool) -> FoldRun:
        """This sequence followed by another; with `same` both belong to one group."""
        if same:
            return FoldRun(1, self.first + other.first, self.last + other.last, self.shift)
        waits = self.waits + wait(other.shift, self.last) + other.waits
        return FoldRun(self.count + other.count, self.first, other.last, self.shift, waits)

    def times(self, count: int, same: bool) -> FoldRun:
        """This sequence repeated `count` times; with `same` all repetitions form one group."""
        if same:
            return FoldRun(1, count * self.first, count * self.last, self.shift)
        waits = count * self.waits + (count - 1) * wait(self.shift, self.last)
        return FoldRun(count * self.count, self.first, self.last, self.shift, waits)


def wait(shift: int, streamed: int) -> int:
    """The cycles by which a group of `streamed` cycles is shorter than a transfer of `shift` cycles beside it."""
    return max(0, shift - streamed)


def is_forward(array: Array) -> bool:
    """Whether a group waits for the load of the group after it, rather than for the drain of the one before."""
    return not array.keeps_sums


def product_groups(statement: Statement, nest: Nest, array: Array, extents: Mapping[str, int]) -> FoldRun:
    """The folds of one statement in one tile operation, each a group of its own."""
    batch, m, n, k = gemm_view(nest, statement).sizes(extents)
    size, place = {"m": m, "n": n, "k": k}, placement(statement, array)
    rows, streamed = size[place.rows], place.steps(size)
    high = -(-rows // array.rows)
    # Row folds are all full but for the last one.
    full, rest = array.shift(min(rows, array.rows)), array.shift(rows - (high - 1) * array.rows)
    columns = batch * -(-size[place.cols] // array.cols)
    shifts = [full, rest] if is_forward(array) else [rest, full]
    counts = [high - 1, 1] if is_forward(array) else [1, high - 1]
    column = [
        FoldRun(1, streamed, streamed, shift).times(count, same=False)
        for shift, count in zip(shifts, counts, strict=True)
        if count
    ]
    return reduce(lambda one, other: one.then(other, same=False), column).times(columns, same=False)


def tile_groups(nest: Nest, array: Array, extents: Mapping[str, int]) -> FoldRun:
    """The folds of one tile operation, each a group of its own, statement by statement."""
    return in_order((product_groups(s, nest, array, extents) for s in nest.statements), array)


def in_order(parts: Iterable[FoldRun], array: Array) -> FoldRun:
    """The concatenation of sequences in time, none of which continues the group before."""
    ordered = list(parts) if is_forward(array) else list(parts)[::-1]
    return reduce(lambda one, other: one.then(other, same=False), ordered)


class FoldGroups:
    """The groups of folds of a scheduled nest inside any of its loops, on an array with `array.grouped`."""

    def __init__(self, nest: Nest, schedule: Schedule, array: Array):
        self.nest, self.schedule, self.array = nest, schedule, array
        self.found: dict[tuple[int, ...], FoldRun] = {}

    def inside(self, level: int, extents: Mapping[str, int]) -> FoldRun:
        """The groups of the loops from `level` inwards, where the dimensions have these extents."""
        key = (level, *extents.values())
        known = self.found.get(key)
        if known is not None:
            return known
        if level == len(self.schedule.loops):
            found = tile_groups(self.nest, self.array, extents)
        else:
            loop = self.schedule.loops[level]
            whole, rest = divmod(extents[loop.dim], loop.step)
            same = self.goes_on(level, extents)
            sizes = [(loop.step, whole), (rest, 1 if rest else 0)]
            parts = [
                self.inside(level + 1, {**extents, loop.dim: size}).times(count, same) for size, count in sizes if count
            ]
            if not is_forward(self.array):
                parts.reverse()
            found = reduce(lambda one, other: one.then(other, same), parts)
        self.found[key] = found
        return found

    def goes_on(self, level: int, extents: Mapping[str, int]) -> bool:
        """Whether the first tile operation after a step of loop `level` continues the group of the one before."""
        nest = self.nest
        return not changes(nest, self.schedule, nest.statements[0], self.array, level, dict(extents))


def lengths_beside(parts: Sequence[tuple[FoldRun, int]], outside: int, array: Array) -> Iterator[tuple[int, int, int]]:
    """
    The length that the outer group of each sequence must have, for consecutive sequences of separate groups.

    `parts` are the sequences in time order, each with its number of runs; `outside` is the transfer beside the last
    (os: the first) of all. Yields the number of a sequence, the length in cycles that the group at its end (os:
    beginning) must have, 0 where it has it already, and the number of runs for which that holds; the first run of each
    sequence is yielded by itself.
    """
    forward = is_forward(array)
    for number, (own, count) in enumerate(parts):
        beyond = number + 1 if forward else number - 1
        between = left_of(own.shift, own)
        end = left_of(parts[beyond][0].shift if 0 <= beyond < len(parts) else outside, own)
        if count == 1:
            yield number, end, 1
            continue
        yield number, between if forward else end, 1
        if not forward or between == end:
            yield number, between, count - 1
            continue
        if count > 2:
            yield number, between, count - 2
        yield number, end, 1


def left_of(length: int, own: FoldRun) -> int:
    """The length that the group at the end of a sequence must have, 0 if it has it; below 0: it began before."""
    return length if length > own.last or length < 0 else 0


def edge_cycles(nest: Nest, schedule: Schedule, array: Array) -> int:
    """The cycles in which the groups of a scheduled nest wait for the edge; 0 where none can."""
    if not can_wait(nest, schedule, array):
        return 0
    return FoldGroups(nest, schedule, array).inside(0, nest.sizes).waits


def can_wait(nest: Nest, schedule: Schedule, array: Array) -> bool:
    """Whether the shortest fold of a scheduled nest is shorter than the longest transfer across the edge."""
    if not array.most_shift:
        return False
    for statement in nest.statements:
        view, place = gemm_view(nest, statement), placement(statement, array)
        rows = min(array.rows, prod(nest.sizes[d] for d in members(view, place.rows)))
        shortest = place.cycles(min(group_lengths(nest, schedule, members(view, place.streamed))))
        # Beside a fold of one statement crosses what another one needs.
        tallest = array.shift(rows if len(nest.statements) == 1 else array.rows)
        if shortest < tallest:
            return True
    return False


def tile_edge_cycles(nest: Nest, schedule: Schedule, array: Array) -> int:
    """The waits within the tile operations of a scheduled nest, none of which continues the group of another."""
    if not can_wait(nest, schedule, array):
        return 0
    sizes: dict[tuple[int, ...], int] = {tuple(nest.sizes.values()): 1}
    names = list(nest.sizes)
    for loop in schedule.loops:
        number, cut = names.index(loop.dim), dict[tuple[int, ...], int]()
        for extents, count in sizes.items():
            whole, rest = divmod(extents[number], loop.step)
            for size, times in ((loop.step, whole), (rest, 1 if rest else 0)):
                if times:
                    inner = (*extents[:number], size, *extents[number + 1 :])
                    cut[inner] = cut.get(inner, 0) + count * times
        sizes = cut
    return sum(
        count * tile_groups(nest, array, dict(zip(names, extents, strict=True))).waits
        for extents, count in sizes.items()
    )


def crossing_lower_bound(nest: Nest, array: Array, extents: Mapping[str, int] | None = None) -> int:
    """
    A lower bound, over all schedules, of the cycles in which stationary tiles cross the edge; 0 unless groups overlap.
    With `extents` of a part of the nest.

    Every row of the stationary tensor crosses the edge once per column fold, however it is tiled: a tile of r rows
    takes at least r / edge_elements cycles.
    """
    if not array.grouped or array.edge_elements is None:
        return 0
    rows = 0
    for statement in nest.statements:
        batch, m, n, k = gemm_view(nest, statement).sizes(extents or nest.sizes)
        size, place = {"m": m, "n": n, "k": k}, placement(statement, array)
        rows += batch * size[place.rows] * -(-size[place.cols] // array.cols)
    return -(-rows // array.edge_elements)
