"""
The elements of a systolic array that work in each cycle of some folds, in closed form.

Operands enter at two edges, skewed by a cycle a row and column, so that the element at row i and column j works on a
fold from cycle start + i + j on, for as many cycles as the fold streams steps. When folds start follows from how the
array is filled:

    fill = "per-fold"    each fold fills and drains alone; the stationary tile (ws, is) is loaded first, a row a cycle
    fill = "overlap"     a fold follows the one before, once the array's edge lets it (`edge.py`)
    in-place             as either of them; the tile that stays is loaded before its first fold (W), or drained after
                         its last one (the sums of dW), a row a cycle
    array.overlap        instructions of `tile_m` rows, whose stages overlap (`overlap.py`)

All times are those of the array by itself, without waits for data.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.edge import is_forward, wait


def _pairs(since: int) -> int:
    """The pairs of numbers from 0 on with a sum of at most `since`."""
    return (since + 1) * (since + 2) // 2 if since >= 0 else 0


def _pairs_so_far(since: int) -> int:
    """The sum of these counts from 0 to `since`."""
    return (since + 1) * (since + 2) * (since + 3) // 6 if since >= 0 else 0


@dataclass(frozen=True)
class Fold:
    """
    A fold of the statement with output `name`: it uses `rows` x `cols` elements and streams `steps`.

    Consecutive folds with the same `tile` work on one stationary tile; `sums` says that it is a tile of sums.
    """

    name: str
    rows: int
    cols: int
    steps: int
    tile: Hashable
    sums: bool = False


@dataclass(frozen=True)
class Wave:
    """
    A fold, or an instruction of one, on the array: in cycle `start` its first element begins.

    `deep` rows of multipliers are in one element, and work at the same time.
    """

    rows: int
    cols: int
    steps: int
    start: int
    deep: int = 1

    @property
    def macs(self) -> int:
        """Its multiply-accumulates, one for each multiplier in use and step."""
        return self.rows * self.cols * self.steps

    @property
    def last(self) -> int:
        """The last cycle in which an element works."""
        return self.start + -(-self.rows // self.deep) + self.cols + self.steps - 3

    @property
    def middle(self) -> int:
        """A cycle in which most elements work at a time: the wave rises and falls alike."""
        return (self.start + self.last) // 2

    @property
    def ramp(self) -> int:
        """The cycles until most elements work, and those from the last such cycle to the end."""
        return min(-(-self.rows // self.deep) + self.cols - 2, self.middle - self.start)

    def works(self, row: int, col: int, cycle: int) -> bool:
        """Whether a multiplier works in a cycle."""
        inside = row < self.rows and col < self.cols
        return inside and 0 <= cycle - self.start - row // self.deep - col < self.steps

    def busy(self, cycle: int) -> int:
        """How many multipliers work in a cycle."""
        since = cycle - self.start
        return self._sum(since, _pairs) - self._sum(since - self.steps, _pairs)

    def done(self, cycle: int) -> int:
        """The multiply-accumulates until the end of a cycle."""
        since = cycle - self.start
        return self._sum(since, _pairs_so_far) - self._sum(since - self.steps, _pairs_so_far)

    def _sum(self, since: int, count: Callable[[int], int]) -> int:
        """What all multipliers have begun until then, counted by how many begin at a time: over row and column."""
        total = 0
        for first in range(self.deep):
            # Every `deep`-th row is a row of elements.
            rows = -(-(self.rows - first) // self.deep)
            total += count(since) - count(since - rows) - count(since - self.cols) + count(since - rows - self.cols)
        return total


def waves_of(folds: Iterable[Fold], array: Array, *, tile_loaded: bool = False) -> Iterator[Wave]:
    """
    The waves of folds that follow each other from cycle 0 on; on a register-fed array one for each instruction.

    `tile_loaded` says that the first stationary tile is in the array. Not for row-stationary arrays.
    """
    if array.stages is not None:
        return _instructions(folds, array)
    if array.dataflow == "in-place":
        return _in_place(folds, array, tile_loaded=tile_loaded)
    return _grouped(folds, array) if array.grouped else _each_alone(folds, array)


def _each_alone(folds: Iterable[Fold], array: Array) -> Iterator[Wave]:
    at = 0
    for fold in folds:
        yield Wave(fold.rows, fold.cols, fold.steps, at + _load(array))
        at += array.stream(fold.steps)


def _grouped(folds: Iterable[Fold], array: Array) -> Iterator[Wave]:
    at, streamed, behind = _load(array), 0, 0
    before: Fold | None = None
    for fold in folds:
        if before is not None and fold.tile != before.tile:
            # Beside a group the next tile comes in, or the sums of the group before go out.
            at += wait(array.shift(fold.rows) if is_forward(array) else behind, streamed)
            streamed, behind = 0, array.shift(before.rows)
        yield Wave(fold.rows, fold.cols, fold.steps, at)
        at, streamed, before = at + fold.steps, streamed + fold.steps, fold


def _in_place(folds: Iterable[Fold], array: Array, *, tile_loaded: bool) -> Iterator[Wave]:
    at, tiles = 0, dict[bool, Hashable]()
    for fold in folds:
        new = fold.sums not in tiles
        if new or tiles[fold.sums] != fold.tile:
            # Weights come before their first fold, sums leave when others take their place.
            at += 0 if new and (fold.sums or tile_loaded) else array.reload
        tiles[fold.sums] = fold.tile
        yield Wave(fold.rows, fold.cols, fold.steps, at)
        at += array.stream(fold.steps)


def _instructions(folds: Iterable[Fold], array: Array) -> Iterator[Wave]:
    own = array.stages
    assert own is not None
    at = own.load
    held: Hashable = None
    count = 0
    for fold in folds:
        if fold.tile != held:
            # `count` are the instructions on the tile that is replaced.
            at += 0 if held is None else own.reload + own.wait(count)
            count = 0
        for low in range(0, fold.steps, array.tile_m):
            yield Wave(fold.rows, fold.cols, min(array.tile_m, fold.steps - low), at, own.deep)
            at, count = at + own.block, count + 1
        held = fold.tile


def _load(array: Array) -> int:
    """The cycles in which the first stationary tile is loaded."""
    return 0 if array.keeps_sums else array.rows
