"""
The tile operations of a scheduled nest as a compressed sequence.

A schedule runs one tile operation per iteration of its loop nest. When a loop steps, the loops inside restart, and the
next operation fetches the blocks that the step changed: it first writes back the blocks of accumulators that they
displace, then reads the new ones. So the sequence is a tree: a node stands for the loops from some depth inwards, as a
list of (node, bits moved before its first operation, repetitions). Equal nodes are shared, by the state that they
depend on: extents of dimensions, tables of axes with halos or borders, and which accumulators are at their first or
last visit, the one that completes them. The cost of building is that of the distinct nodes, not of the trip counts;
axes with windows are walked tile by tile.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.nest.blocks import touched
from npuc.compiler.analysis.nest.core_classes import LoopClasses, loop_classes
from npuc.compiler.analysis.nest.elements import Bits, Width
from npuc.compiler.analysis.timing.neighbours import Neighbours
from npuc.compiler.analysis.timing.sequence import SequenceNode, TileSequence
from npuc.compiler.analysis.timing.tile_blocks import Blocks, Place
from npuc.dialects.npu.nest import Nest, Schedule


def tile_sequence(
    nest: Nest, schedule: Schedule, array: Array, widths: Bits, *, tile_loaded: bool = False, isolated: bool = False
) -> TileSequence:
    """
    The tile operations of a scheduled nest.

    With `tile_loaded` the first operation finds its stationary tile in the array. If they are `isolated`, none does:
    operations of other nests run between any two.
    """
    return TileBuilder(nest, schedule, array, widths, isolated=isolated).sequence(tile_loaded=tile_loaded)


def part_sequences(
    nest: Nest, schedule: Schedule, array: Array, widths: Bits, *, on_chip_reduction: bool = False
) -> Iterator[TileSequence]:
    """
    The tile operations of a core of each class (`core_parts`), which begin with nothing in SPM or array.

    With `on_chip_reduction` a core does not read partial sums of the cores before it. Elements that no operation
    touches belong to the first core.
    """
    return TileBuilder(nest, schedule, array, widths, isolated=False).parts(on_chip_reduction)


class TileBuilder(Blocks):
    """Builds the tree top down, with memoised `nodes`."""

    def __init__(self, nest: Nest, schedule: Schedule, array: Array, widths: Bits, *, isolated: bool):
        super().__init__(nest, schedule, widths)
        self.neighbours = Neighbours(nest, schedule, array, isolated=isolated)
        self.nodes: dict[tuple[int, Place], SequenceNode] = {}

    def sequence(self, *, tile_loaded: bool) -> TileSequence:
        found = self.neighbours.begins(-1, self.nest.sizes)
        found = tuple(-1 for _ in found) if tile_loaded else found
        place = self.whole(found)
        root = self._node(0, place)
        head = tail = 0
        for number, moved in enumerate(self.moved):
            head += moved.width * self._loaded(number, moved, -1, place)
            if moved.stream.kind == "accumulator":
                tail += self._written(number, moved, -1, place, finished=True)
        return TileSequence(root, head, tail, self._spare())

    def _spare(self) -> int:
        """The bits of elements that no operation touches, which move all the same."""
        tensors = [(moved.final, moved.stream.tensor) for moved in self.moved if moved.stream.kind != "input"]
        return sum(bits * (tensor.elements - touched(tensor, self.nest.sizes)) for bits, tensor in tensors)

    def whole(self, found: tuple[int, ...] = ()) -> Place:
        """Outside of all loops."""
        every = tuple(True for _ in self.moved)
        return Place(tuple(self.nest.sizes.values()), tuple(self.roots), every, every, found)

    def parts(self, on_chip_reduction: bool) -> Iterator[TileSequence]:
        spare = self._spare()
        loops = loop_classes(self.nest, self.loops[: self.schedule.core_depth])
        for place in self._cores(loops, self.whole(), on_chip_reduction):
            yield self.part(place, spare)
            spare = 0

    def part(self, place: Place, spare: Width) -> TileSequence:
        """What the core at a place inside all loops over cores does."""
        level = self.schedule.core_depth - 1
        head = tail = 0
        for number, moved in enumerate(self.moved):
            elements, new, _ = self._block(moved, level, place, last=False)
            if moved.stream.kind == "accumulator":
                tail += self._written(number, moved, level, place, finished=True)
                head += moved.width * (elements - new if place.first[number] else elements)
            elif moved.stream.kind == "input" or place.first[number]:
                head += moved.width * elements
        found = self.neighbours.begins(level, self._extents(place))
        return TileSequence(self._child(level, place, place.first, place.last, found), head, tail, spare)

    def _cores(self, loops: Sequence[LoopClasses], place: Place, on_chip_reduction: bool) -> Iterator[Place]:
        """The places of the first core of each class, inside all loops over cores, of which `loops` are left."""
        if not loops:
            yield place
            return
        level = self.schedule.core_depth - len(loops)
        later = self._later(level, place.first)
        if on_chip_reduction:
            later = tuple(first or m.stream.kind == "accumulator" for first, m in zip(later, self.moved, strict=True))
        runs, end = list(self._iterations(level, place)), loops[0].iterations - 1
        earlier = self._earlier(level, place.last)
        for like in loops[0].classes:
            first = later if like.first else place.first
            last = place.last if like.first == end else earlier
            inner = replace(_iteration(runs, like.first), first=first, last=last)
            yield from self._cores(loops[1:], inner, on_chip_reduction)

    def _node(self, level: int, place: Place) -> SequenceNode:
        """What the loops from `level` on do at this place."""
        if level == len(self.loops):
            return self._leaf(place)
        key = (level, place)
        found = self.nodes.get(key)
        if found is not None:
            return found
        items: list[tuple[SequenceNode, int, int]] = []
        later = self._later(level, place.first)
        previous: Place | None = None
        for inner, found, count, last in self._told_apart(level, place):
            flags = place.first if previous is None else later
            moved = 0 if previous is None else self._step(level, place, previous, inner)
            items.append((self._child(level, inner, flags, last, found), moved, count))
            previous = inner
        node = SequenceNode(
            tuple(items),
            sum(child.cycles * count for child, _, count in items),
            items[0][0].first,
            sum((child.moved + moved) * count for child, moved, count in items),
            sum((child.loads + (moved > 0)) * count for child, moved, count in items),
            waits=sum(child.waits * count for child, _, count in items),
        )
        self.nodes[key] = node
        return node

    def _told_apart(self, level: int, place: Place) -> Iterator[tuple[Place, tuple[int, ...], int, tuple[bool, ...]]]:
        """The runs of iterations, with the accumulators that see their last visit in them: the last one by itself."""
        runs, earlier = self._runs(level, place), self._earlier(level, place.last)
        if earlier == place.last:
            for inner, found, count in runs:
                yield inner, found, count, place.last
            return
        *before, (inner, found, count) = runs
        for run in before:
            yield *run, earlier
        if count > 1:
            yield inner, found, count - 1, earlier
        yield inner, found, 1, place.last

    def _runs(self, level: int, place: Place) -> Iterator[tuple[Place, tuple[int, ...], int]]:
        """
        The iterations of a loop, in order: place, state before the first operation, count of equal iterations.

        The first iteration of all stands alone, and so does the first of other extents than the one before.
        """
        runs = list(self._iterations(level, place))
        parts = [(self._extents(inner), count) for inner, count in runs]
        for number, found, count in self.neighbours.runs(level, self._extents(place), place.found, parts):
            yield runs[number][0], found, count

    def _extents(self, place: Place) -> dict[str, int]:
        return dict(zip(self.nest.sizes, place.extents, strict=True))

    def _leaf(self, place: Place) -> SequenceNode:
        key = (len(self.loops), place)
        node = self.nodes.get(key)
        if node is None:
            node = self.nodes[key] = self.neighbours.leaf(self._extents(place), place.found)
        return node

    def _iterations(self, level: int, place: Place) -> Iterator[tuple[Place, int]]:
        """The places of the iterations of a loop, in order, with how often each repeats."""
        loop = self.loops[level]
        number = self.numbers[loop.dim]
        whole, rest = divmod(place.extents[number], loop.step)
        tables = [n for n, loops in enumerate(self.table_loops) if level in loops and place.tables[n] is not None]

        def at(extent: int, index: int) -> Place:
            chosen = list(place.tables)
            for n in tables:
                table = chosen[n]
                chosen[n] = None if table is None else table.children[index]
            extents = (*place.extents[:number], extent, *place.extents[number + 1 :])
            return Place(extents, tuple(chosen), place.first, place.last, place.found)

        if not tables:
            if whole:
                yield at(loop.step, 0), whole
            if rest:
                yield at(rest, 0), 1
            return
        run: tuple[Place, int] | None = None
        for index in range(whole + (rest > 0)):
            inner = at(loop.step if index < whole else rest, index)
            if run is not None and inner == run[0]:
                run = (run[0], run[1] + 1)
                continue
            if run is not None:
                yield run
            run = (inner, 1)
        if run is not None:
            yield run

    def _child(
        self, level: int, inner: Place, first: tuple[bool, ...], last: tuple[bool, ...], found: tuple[int, ...]
    ) -> SequenceNode:
        """The node inside one iteration; what no deeper loop asks for is forgotten, so that more nodes are equal."""
        tables = tuple(t if self.table_depth[n] > level + 1 else None for n, t in enumerate(inner.tables))
        flags = tuple(f if m.stream.depth > level + 1 else True for f, m in zip(first, self.moved, strict=True))
        if not all(last):
            last = tuple(
                seen or not self._changes_inside(level, inner, moved)
                for seen, moved in zip(last, self.moved, strict=True)
            )
        return self._node(level + 1, Place(inner.extents, tables, flags, last, found))

    def _later(self, level: int, first: tuple[bool, ...]) -> tuple[bool, ...]:
        """Which tensors still see their first visit after a first iteration of a loop."""
        dim = self.loops[level].dim
        return tuple(
            m.stream.kind == "input" or (f and dim in m.stream.out.dims) for f, m in zip(first, self.moved, strict=True)
        )

    def _earlier(self, level: int, last: tuple[bool, ...]) -> tuple[bool, ...]:
        """Which tensors see their last visit in an iteration of a loop before the last one."""
        dim = self.loops[level].dim
        return tuple(
            seen and not (told and dim not in m.stream.tensor.dims)
            for seen, told, m in zip(last, self.told, self.moved, strict=True)
        )

    def _step(self, level: int, place: Place, previous: Place, inner: Place) -> int:
        """The bits that move when a loop steps from one place to another."""
        dim = self.loops[level].dim
        total = 0
        for number, moved in enumerate(self.moved):
            stream = moved.stream
            if level >= stream.depth:
                continue
            if stream.kind == "start" and (dim not in stream.out.dims or not place.first[number]):
                continue
            changes = (
                level < self.schedule.core_depth
                or dim in stream.tensor.dims
                or self._changes_inside(level, place, moved)
            )
            if not changes:
                continue
            total += moved.width * self._loaded(number, moved, level, inner)
            if stream.kind == "accumulator":
                total += self._written(number, moved, level, previous, finished=dim in stream.tensor.dims)
        return total


def _iteration(runs: Sequence[tuple[Place, int]], number: int) -> Place:
    """The place of one iteration of a loop, whose equal ones are counted."""
    for place, count in runs:
        if number < count:
            return place
        number -= count
    raise IndexError(f"a loop has no iteration {number} beyond its last one")
