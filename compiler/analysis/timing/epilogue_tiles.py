"""
The tile operations of a nest with vector work on the blocks of outputs that it finishes.

The vector unit works on a finished block while the array goes on with the next one of the same output, and must be
done when that is finished: the array waits for what is left then. To be safe, the block before is taken to be of the
largest size. Of several outputs, blocks that are visited in inner loops come first at the vector unit, so that the work
on an outer one has what these leave of its time. Such a wait is an operation more, which moves nothing. The last blocks
stream: what moves with them moves while the vector unit works on them.
"""

from dataclasses import replace
from fractions import Fraction
from math import ceil, prod

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.nest.blocks import is_plain
from npuc.compiler.analysis.nest.elements import Bits
from npuc.compiler.analysis.timing.sequence import SequenceNode, TileSequence
from npuc.compiler.analysis.timing.tile_blocks import Moved, Place
from npuc.compiler.analysis.timing.tiles import TileBuilder
from npuc.dialects.npu.epilogue import block_elements
from npuc.dialects.npu.nest import Nest, Schedule

Finish = tuple[tuple[str, Fraction], ...]
"""Outputs that are worked on, and the cycles of the vector unit for an element of each."""


def finishing_sequence(nest: Nest, schedule: Schedule, array: Array, widths: Bits, finish: Finish) -> TileSequence:
    """
    The tile operations of a scheduled nest on one core, with vector work.

    The schedule finishes these outputs block by block (`npuc.dialects.npu.epilogue`), and the array keeps no tile.
    """
    return _FinishingBuilder(nest, schedule, array, widths, finish).finishing()


def finishing_parts(
    nest: Nest, schedule: Schedule, array: Array, widths: Bits, finish: Finish, reduction: bool
) -> tuple[TileSequence, ...]:
    """The same on each core of a schedule over cores (`part_sequences`): a core's vector unit has its own blocks."""
    return tuple(_FinishingBuilder(nest, schedule, array, widths, finish).parts(reduction))


class _FinishingBuilder(TileBuilder):
    def __init__(self, nest: Nest, schedule: Schedule, array: Array, widths: Bits, finish: Finish):
        super().__init__(nest, schedule, array, widths, apart=False)
        by_name = {moved.stream.tensor.name: moved for moved in self.moved}
        self.finish = [(by_name[name], cycles) for name, cycles in finish]
        sizes = {name: block_elements(nest, schedule, name) for name, _ in finish}
        self.largest = [ceil(cycles * sizes[moved.stream.tensor.name]) for moved, cycles in self.finish]
        self.ended: dict[tuple[int, Place], SequenceNode] = {}
        self.busy: dict[SequenceNode, int] = {}
        """The cycles of the vector unit on the blocks that a node finishes."""

    def finishing(self) -> TileSequence:
        """The sequence with the vector unit's cycles, in all and on the last blocks."""
        return self._with_work(self.sequence(False), self.whole())

    def part(self, place: Place, spare: int) -> TileSequence:
        return self._with_work(super().part(place, spare), place)

    def _with_work(self, sequence: TileSequence, place: Place) -> TileSequence:
        level = self.schedule.core_depth - 1
        last = sum(ceil(cycles * self._block(moved, level, place, last=True)[0]) for moved, cycles in self.finish)
        return replace(sequence, vector=self._busy(sequence.root), beside=last)

    def _node(self, level: int, place: Place) -> SequenceNode:
        node = super()._node(level, place)
        depths = [self._depth(moved) for moved, _ in self.finish]
        if level not in depths:
            return node
        key = level, place
        if key not in self.ended:
            own = sum(self._work(moved, cycles, place) for moved, cycles in self.finish if self._depth(moved) == level)
            inside = self._busy(node)
            # What is left of the block before and of inner ones, less the time of this one; a single block has none.
            due = sum(work for work, depth in zip(self.largest, depths, strict=True) if depth >= level) + inside
            wait = max(0, due - node.cycles) if level > self.schedule.core_depth else 0
            items = ((node, 0, 1), (SequenceNode((), wait, wait), 0, 1))
            ended = replace(node, items=items, cycles=node.cycles + wait, ends=None) if wait else _same(node)
            self.busy[ended] = inside + own
            self.ended[key] = ended
        return self.ended[key]

    def _depth(self, moved: Moved) -> int:
        """The loops around a block of an output; what a core does is inside all loops over cores."""
        return max(moved.stream.depth, self.schedule.core_depth)

    def _busy(self, node: SequenceNode) -> int:
        if node not in self.busy:
            self.busy[node] = sum(self._busy(child) * count for child, _, count in node.items)
        return self.busy[node]

    def _work(self, moved: Moved, cycles: Fraction, place: Place) -> int:
        """The cycles of the vector unit on one block."""
        tensor = moved.stream.tensor
        extents = dict(zip(self.nest.sizes, place.extents, strict=True))
        axes = zip(tensor.axes, tensor.shape, strict=True)
        # An axis with a window is not cut, or the block would not be final.
        return ceil(cycles * prod(extents[axis.dims[0]] if is_plain(axis) else size for axis, size in axes))


def _same(node: SequenceNode) -> SequenceNode:
    """A node like another, which may be visited elsewhere without finishing anything."""
    return replace(node)
