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
        reached = after = 0
        ranges = {d: (0, sizes[d]) for d in axis.dims}

        def tiles(number: int) -> Iterator[int]:
            """The positions of each tile as a bit mask, in order."""
            if number == len(loops):
                base = axis.offset + sum(c * ranges[d][0] for d, c in axis.terms)
                yield inside(positions(tuple((c, ranges[d][1]) for d, c in axis.terms)), base, size)
                return
            dim, step = loops[number]
            low, extent = ranges[dim]
            for at in range(0, extent, step):
                ranges[dim] = (low + at, min(step, extent - at))
                yield from tiles(number + 1)
            ranges[dim] = (low, extent)

        masks = list(tiles(0))
        final: list[int] = []
        for mask in reversed(masks):
            final.append((mask & ~after).bit_count())
            after |= mask

        def table(number: int) -> AxisTable:
            nonlocal reached
            if number == len(loops):
                mask = masks[-len(final)]
                counts = (mask.bit_count(), (mask & ~reached).bit_count(), final.pop())
                reached |= mask
                return self._intern(counts, (), counts, counts)
            dim, step = loops[number]
            low, extent = ranges[dim]
            children: list[AxisTable] = []
            for at in range(0, extent, step):
                ranges[dim] = (low + at, min(step, extent - at))
                children.append(table(number + 1))
            ranges[dim] = (low, extent)
            key = tuple(id(child) for child in children)
            return self._intern(key, tuple(children), children[0].first, children[-1].last)

        return table(0)

    def _intern(self, key: object, children: tuple[AxisTable, ...], first: Counts, last: Counts) -> AxisTable:
        found = self.known.get((len(children), key))
        if found is None:
            found = self.known[(len(children), key)] = AxisTable(children, first, last)
        return found
