"""
What crosses the edge of an array beside its folds, and the folds that wait for it.

Operands and sums cross the top or bottom edge of a systolic array, one port a column; a port takes or gives
`array.edge_elements` in a cycle. So the stationary tile of a fold that uses r rows takes S = ceil(r / edge_elements)
cycles to come in (ws, is), or its sums to go out (os). Consecutive folds on one stationary tile are a *group* g, which
streams T_g in all. The array has a second set of registers: while a group streams, the tile of the next one comes in,
or the sums of the one before go out, and a group lasts as long as the longer of both:

    ws, is    (P - T) + sum over g < G of max(T_g, S_(g+1)) + T_G
    os        (P - T) + T_1 + sum over g > 1 of max(T_g, S_(g-1))

What a group waits beyond T_g counts as computation of the tile operation in which it begins. P - T has the first load,
and with `drain = "full"` the last store. Derived from a model of single elements whose shadow registers shift row by
row (`tests/unit/cycle/shadow.py`).

In a tile operation column folds are outer, row folds inner, each element of a batch is a product of its own, and the
statements follow each other. Of a nest of one statement a tile operation of a single fold may go on with the group of
the one before (`residency.changes`); all others begin groups of their own.

Sequences are counted in the direction in which a group's length matters for what is next to it: forwards (ws, is), or
backwards (os), where "next" is the fold before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from math import prod

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.stationary import changes, members, placement
from npuc.compiler.analysis.nest.blocks import group_lengths
from npuc.dialects.npu.gemm import gemm_view
from npuc.dialects.npu.nest import Nest, Schedule, Statement


@dataclass(frozen=True)
class FoldRun:
    """
    Groups of folds that follow each other, in the direction of the waits: `count` of them, of which the first streams
    `first` cycles and the last `last`; `shift` is what crosses the edge for the first.

    `waits` are those of all groups but the last, whose wait depends on what follows.
    """

    count: int
    first: int
    last: int
    shift: int
    waits: int = 0

    def then(self, other: FoldRun, same: bool) -> FoldRun:
        """These and then others; `same`: both are one group."""
        if same:
            return FoldRun(1, self.first + other.first, self.last + other.last, self.shift)
        waits = self.waits + wait(other.shift, self.last) + other.waits
        return FoldRun(self.count + other.count, self.first, other.last, self.shift, waits)

    def times(self, count: int, same: bool) -> FoldRun:
        """These again and again; `same`: all of them are one group."""
        if same:
            return FoldRun(1, count * self.first, count * self.last, self.shift)
        waits = count * self.waits + (count - 1) * wait(self.shift, self.last)
        return FoldRun(count * self.count, self.first, self.last, self.shift, waits)


def wait(shift: int, streamed: int) -> int:
    """What a group that streams so many cycles waits for what crosses the edge beside it."""
    return max(0, shift - streamed)


def is_forward(array: Array) -> bool:
    """Whether a group waits for the one after it, whose operand comes in, or for the sums of the one before."""
    return array.dataflow != "os"


def product_groups(statement: Statement, nest: Nest, array: Array, extents: Mapping[str, int]) -> FoldRun:
    """The folds of one statement in one tile operation, a group each."""
    batch, m, n, k = gemm_view(nest, statement).sizes(extents)
    size, place = {"m": m, "n": n, "k": k}, placement(statement, array)
    rows, streamed = size[place.rows], size[place.streamed]
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
    """The folds of one tile operation, a group each, statement by statement."""
    return in_order((product_groups(s, nest, array, extents) for s in nest.statements), array)


def in_order(parts: Iterable[FoldRun], array: Array) -> FoldRun:
    """Sequences that follow each other in time, none going on with the one before."""
    ordered = list(parts) if is_forward(array) else list(parts)[::-1]
    return reduce(lambda one, other: one.then(other, same=False), ordered)


class FoldGroups:
    """The groups of a scheduled nest at any place of its loops; `array.grouped` holds."""

    def __init__(self, nest: Nest, schedule: Schedule, array: Array):
        self.nest, self.schedule, self.array = nest, schedule, array
        self.found: dict[tuple[int, ...], FoldRun] = {}

    def inside(self, level: int, extents: Mapping[str, int]) -> FoldRun:
        """The groups of what the loops from `level` on do where the dimensions have these extents."""
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
        """Whether the first tile operation after a step of a loop goes on with the group of the one before."""
        nest = self.nest
        return len(nest.statements) == 1 and not changes(
            nest, self.schedule, nest.statements[0], self.array, level, dict(extents)
        )


def lengths_beside(parts: Sequence[tuple[FoldRun, int]], outside: int, array: Array) -> Iterator[tuple[int, int, int]]:
    """
    How long the outer group of each of some sequences must be, which follow each other without going on.

    `parts` are the sequences in time, and how often each runs; what crosses the edge beside the last (os: the first) of
    all is `outside`. Yields the number of a sequence, the length in cycles that the group at its end (os: beginning)
    must have, 0 where it has it, and for how many of its runs that holds; the first run of each stands alone.
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
    """How long the group at the end of a sequence must be, 0 where it is; below 0: it began before."""
    return length if length > own.last or length < 0 else 0


def edge_cycles(nest: Nest, schedule: Schedule, array: Array) -> int:
    """The cycles in which the groups of a scheduled nest wait for the edge; 0 where it has no part in the time."""
    if not can_wait(nest, schedule, array):
        return 0
    return FoldGroups(nest, schedule, array).inside(0, nest.sizes).waits


def can_wait(nest: Nest, schedule: Schedule, array: Array) -> bool:
    """Whether the shortest fold of a scheduled nest is shorter than what crosses the edge for the tallest."""
    if not array.most_shift:
        return False
    for statement in nest.statements:
        view, place = gemm_view(nest, statement), placement(statement, array)
        rows = min(array.rows, prod(nest.sizes[d] for d in members(view, place.rows)))
        shortest = min(group_lengths(nest, schedule, members(view, place.streamed)))
        # Beside a fold of one statement crosses what another one needs.
        tallest = array.shift(rows if len(nest.statements) == 1 else array.rows)
        if shortest < tallest:
            return True
    return False


def tile_edge_cycles(nest: Nest, schedule: Schedule, array: Array) -> int:
    """The waits within the tile operations of a scheduled nest, whatever stands between any two of them."""
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


@lru_cache(maxsize=4096)
def least_crossing(nest: Nest, array: Array) -> int:
    """
    The cycles in which what is stationary crosses the edge at least, under any schedule; 0 where groups do not overlap.

    Every row of the stationary tensor crosses it once for each column fold, in whatever tiles: a tile of r rows takes
    r / edge_elements or more.
    """
    if not array.grouped or array.edge_elements is None:
        return 0
    rows = 0
    for statement in nest.statements:
        batch, m, n, k = gemm_view(nest, statement).sizes(nest.sizes)
        size, place = {"m": m, "n": n, "k": k}, placement(statement, array)
        rows += batch * size[place.rows] * -(-size[place.cols] // array.cols)
    return -(-rows // array.edge_elements)
