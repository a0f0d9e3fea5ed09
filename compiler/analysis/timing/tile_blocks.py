"""The bits that move when a block of a scheduled nest is fetched or displaced, by the position in its loops."""

from npuc.compiler.analysis.nest.axes import AxisTable, AxisTables, Counts
from npuc.compiler.analysis.nest.blocks import Stream, is_plain, streams
from npuc.compiler.analysis.nest.elements import Bits, Width
from npuc.compiler.core.frozen import frozen
from npuc.dialects.npu.nest import Nest, Schedule


@frozen
class Place:
    """
    The position of a node in the loops: extents by dimension, tables by tensor axis, which tensors are at their first
    visit, and which accumulators at their last.

    `found` is the state of the array before the node's first operation (`neighbours.py`).
    """

    extents: tuple[int, ...]
    tables: tuple[AxisTable | None, ...]
    first: tuple[bool, ...]
    last: tuple[bool, ...]
    found: tuple[int, ...] = ()


@frozen
class Moved:
    """
    A tensor with the loops that tile each of its axes.

    `width` are the bits of an element when read, of an accumulator those of a partial sum; `final` are the bits of a
    completed element.
    """

    stream: Stream
    width: Width
    final: Width
    plain: tuple[tuple[int, tuple[tuple[int, int], ...]], ...]
    """Of each axis that is one dimension: the dimension's number, and (loop, step) of what cuts it here."""
    tables: tuple[int, ...]
    """The numbers of the tables of the other axes."""
    cuts: tuple[tuple[int, int, int], ...]
    """(loop, dimension's number, step) of the loops that index the tensor."""


class Blocks:
    """The tensors of a scheduled nest that move, and their blocks at a place."""

    def __init__(self, nest: Nest, schedule: Schedule, widths: Bits):
        self.nest, self.schedule, self.loops = nest, schedule, schedule.loops
        self.numbers = {dim: number for number, dim in enumerate(nest.sizes)}
        self.table_loops: list[frozenset[int]] = []
        self.table_depth: list[int] = []
        self.roots: list[AxisTable] = []
        tables = AxisTables()
        self.stored, self.held = widths.by_name(nest), widths.with_sums(nest)
        self.moved = [self._prepare(s, tables) for s in streams(nest, schedule)]
        self.told = [m.stream.kind == "accumulator" and m.width != m.final for m in self.moved]
        """The accumulators of which it matters whether a block is finished."""

    def _prepare(self, stream: Stream, tables: AxisTables) -> Moved:
        plain: list[tuple[int, tuple[tuple[int, int], ...]]] = []
        numbers: list[int] = []
        for axis, size in zip(stream.tensor.axes, stream.tensor.shape, strict=True):
            cuts = [p for p in stream.loops if self.loops[p].dim in axis.dims]
            if is_plain(axis):
                plain.append((self.numbers[axis.terms[0][0]], tuple((p, self.loops[p].step) for p in cuts)))
                continue
            numbers.append(len(self.roots))
            self.table_loops.append(frozenset(cuts))
            self.table_depth.append(stream.depth)
            steps = [(self.loops[p].dim, self.loops[p].step) for p in cuts]
            self.roots.append(tables.build(axis, size, self.nest.sizes, steps))
        index = tuple(
            (p, self.numbers[self.loops[p].dim], self.loops[p].step)
            for p in stream.loops
            if self.loops[p].dim in stream.tensor.dims
        )
        name = stream.tensor.name
        return Moved(stream, self.held[name], self.stored[name], tuple(plain), tuple(numbers), index)

    def _changes_inside(self, level: int, place: Place, moved: Moved) -> bool:
        """Whether a tensor's block changes within an iteration of `level`."""
        return any(p > level and place.extents[n] > step for p, n, step in moved.cuts)

    def _written(self, number: int, moved: Moved, level: int, place: Place, *, finished: bool) -> Width:
        """
        The bits written of an accumulator's last block inside an iteration of `level`.

        Its elements that no later block has are finished, where it is `finished` within the loops that come back to it.
        """
        elements, _, final = self._block(moved, level, place, last=True)
        if not (finished and place.last[number]):
            final = 0
        return moved.width * elements + (moved.final - moved.width) * final

    def _loaded(self, number: int, moved: Moved, level: int, inner: Place) -> Width:
        """The elements read when the first block inside an iteration comes in."""
        elements, new, _ = self._block(moved, level, inner, last=False)
        if moved.stream.kind != "accumulator":
            return elements
        dim = None if level < 0 else self.loops[level].dim
        fresh = inner.first[number] and (dim is None or dim in moved.stream.tensor.dims)
        return elements - new if fresh else elements

    def _block(self, moved: Moved, level: int, place: Place, *, last: bool) -> Counts:
        """
        Elements of the first or last block of a tensor inside an iteration of `level`, those new to it, and those that
        no block after it has.
        """
        elements = new = final = 1
        for dim, cuts in moved.plain:
            extent = place.extents[dim]
            for p, step in cuts:
                if p > level:
                    extent = ((extent - 1) % step) + 1 if last else min(extent, step)
            elements *= extent
            new *= extent
            final *= extent
        for n in moved.tables:
            table = place.tables[n]
            assert table is not None, "the tables of a tensor are kept down to its load depth"
            count, fresh, end = table.last if last else table.first
            elements *= count
            new *= fresh
            final *= end
        return elements, new, final
