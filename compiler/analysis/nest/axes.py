"""
Tables of tensor axes with windows, strides or borders: for each tile its positions, those that no earlier tile holds,
and those that no later tile holds.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from npuc.compiler.analysis.nest.blocks import inside
from npuc.compiler.core.frozen import frozen
from npuc.dialects.npu.footprint import positions
from npuc.dialects.npu.nest import Axis

Counts = tuple[int, int, int]


@frozen(eq=False)
class AxisTable:
    """
    The tiles of one axis of one tensor from some loop inwards, as a tree with one level per loop over the axis.

    `first` and `last` describe the first and last tile: its distinct positions inside the tensor, those that no earlier
    tile of the axis reaches, and those that no later tile reaches.
    """

    children: tuple["AxisTable", ...]
    first: Counts
    last: Counts


@dataclass
class AxisTables:
    """Builds tables of axes; equal tables are one object."""

    known: dict[object, AxisTable] = field(default_factory=dict[object, AxisTable])

    def build(self, axis: Axis, size: int, sizes: dict[str, int], loops: list[tuple[str, int]]) -> AxisTable:
        """The table of an axis of a tensor; `loops` are the (dimension, step) of the loops that tile it."""
        tiles = _AxisTiles(axis, size, {d: (0, sizes[d]) for d in axis.dims}, loops)
        masks = list(tiles.masks(0))
        after = reached = 0
        final: list[int] = []
        for mask in reversed(masks):
            final.append((mask & ~after).bit_count())
            after |= mask
        counts: list[Counts] = []
        for mask in masks:
            counts.append((mask.bit_count(), (mask & ~reached).bit_count(), final.pop()))
            reached |= mask
        return self._table(tiles, iter(counts), 0)

    def _table(self, tiles: "_AxisTiles", counts: Iterator[Counts], number: int) -> AxisTable:
        """The table from a loop inwards; `counts` are those of the tiles that are left, in order."""
        if number == len(tiles.loops):
            own = next(counts)
            return self._intern(own, (), own, own)
        children = tuple(self._table(tiles, counts, number + 1) for _ in tiles.steps(number))
        return self._intern(tuple(map(id, children)), children, children[0].first, children[-1].last)

    def _intern(self, key: object, children: tuple[AxisTable, ...], first: Counts, last: Counts) -> AxisTable:
        found = self.known.get((len(children), key))
        if found is None:
            found = self.known[(len(children), key)] = AxisTable(children, first, last)
        return found


@dataclass
class _AxisTiles:
    """
    The tiles of an axis, loop by loop; `ranges` are the first index and the extent of each dimension at present.

    A function that calls itself inside another is a reference cycle, and what it holds stays until these are searched
    for: walks are methods here.
    """

    axis: Axis
    size: int
    ranges: dict[str, tuple[int, int]]
    loops: list[tuple[str, int]]

    def steps(self, number: int) -> Iterator[None]:
        """Go through the iterations of a loop."""
        dim, step = self.loops[number]
        low, extent = self.ranges[dim]
        for at in range(0, extent, step):
            self.ranges[dim] = (low + at, min(step, extent - at))
            yield
        self.ranges[dim] = (low, extent)

    def masks(self, number: int) -> Iterator[int]:
        """The positions of each tile from a loop inwards as a bit mask, in order."""
        if number == len(self.loops):
            axis, ranges = self.axis, self.ranges
            base = axis.offset + sum(c * ranges[d][0] for d, c in axis.terms)
            yield inside(positions(tuple((c, ranges[d][1]) for d, c in axis.terms)), base, self.size)
            return
        for _ in self.steps(number):
            yield from self.masks(number + 1)
