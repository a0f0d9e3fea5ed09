"""
The tile operations of a nest with an epilogue: vector work on completed blocks of its outputs.

The vector unit processes a completed block while the array computes the next block of the same output, and must be done
when that one completes: otherwise the array waits for the rest. The previous block is assumed to have the largest size,
which is safe. With several outputs, blocks of inner loops have priority at the vector unit, and the work on a block of
an outer loop gets the time that they leave. A wait is an additional operation that moves nothing. The last blocks
stream: their transfers overlap with the vector work on them.
"""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from math import ceil, prod

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.nest.blocks import is_plain
from npuc.compiler.analysis.nest.elements import Bits, Width
from npuc.compiler.analysis.timing.sequence import SequenceNode, TileSequence
from npuc.compiler.analysis.timing.tile_blocks import Moved, Place
from npuc.compiler.analysis.timing.tiles import TileBuilder
from npuc.dialects.npu.epilogue import block_elements
from npuc.dialects.npu.nest import Nest, Schedule

EpilogueWork = tuple[tuple[str, Fraction], ...]
"""Outputs with an epilogue, and the cycles of the vector unit per element of each."""


def epilogue_sequence(
    nest: Nest, schedule: Schedule, array: Array, widths: Bits, epilogue: EpilogueWork
) -> TileSequence:
    """
    The tile operations of a scheduled nest with an epilogue, on one core.

    The schedule completes these outputs block by block (`npuc.dialects.npu.epilogue`); the array keeps no stationary
    tile between nests.
    """
    return _EpilogueBuilder(nest, schedule, array, widths, epilogue).with_epilogue()


def epilogue_parts(
    nest: Nest, schedule: Schedule, array: Array, widths: Bits, epilogue: EpilogueWork, *, on_chip_reduction: bool
) -> Iterator[TileSequence]:
    """The sequences of each core of a schedule over cores (`part_sequences`), with a vector unit on every core."""
    return _EpilogueBuilder(nest, schedule, array, widths, epilogue).parts(on_chip_reduction)


class _EpilogueBuilder(TileBuilder):
    def __init__(self, nest: Nest, schedule: Schedule, array: Array, widths: Bits, epilogue: EpilogueWork):
        super().__init__(nest, schedule, array, widths, isolated=False)
        by_name = {moved.stream.tensor.name: moved for moved in self.moved}
        self.epilogue = [(by_name[name], cycles) for name, cycles in epilogue]
        sizes = {name: block_elements(nest, schedule, name) for name, _ in epilogue}
        self.largest = [ceil(cycles * sizes[moved.stream.tensor.name]) for moved, cycles in self.epilogue]
        self.ended: dict[tuple[int, Place], SequenceNode] = {}
        self.busy: dict[SequenceNode, int] = {}
        """The cycles of the vector unit on the blocks that a node completes."""

    def with_epilogue(self) -> TileSequence:
        """The sequence, with the vector unit's cycles in total and on the last blocks."""
        return self._with_work(self.sequence(tile_loaded=False), self.whole())

    def part(self, place: Place, spare: Width) -> TileSequence:
        return self._with_work(super().part(place, spare), place)

    def _with_work(self, sequence: TileSequence, place: Place) -> TileSequence:
        level = self.schedule.core_depth - 1
        last = sum(ceil(cycles * self._block(moved, level, place, last=True)[0]) for moved, cycles in self.epilogue)
        return replace(sequence, vector=self._busy(sequence.root), beside=last)

    def _node(self, level: int, place: Place) -> SequenceNode:
        node = super()._node(level, place)
        depths = [self._depth(moved) for moved, _ in self.epilogue]
        if level not in depths:
            return node
        key = level, place
        if key not in self.ended:
            own = sum(
                self._work(moved, cycles, place) for moved, cycles in self.epilogue if self._depth(moved) == level
            )
            inside = self._busy(node)
            # Work on the previous block and on inner blocks beyond the time of this block; a single block has none.
            due = sum(work for work, depth in zip(self.largest, depths, strict=True) if depth >= level) + inside
            wait = max(0, due - node.cycles) if level > self.schedule.core_depth else 0
            items = ((node, 0, 1), (SequenceNode((), wait, wait), 0, 1))
            ended = replace(node, items=items, cycles=node.cycles + wait, ends=None) if wait else _same(node)
            self.busy[ended] = inside + own
            self.ended[key] = ended
        return self.ended[key]

    def _depth(self, moved: Moved) -> int:
        """The number of loops around a block of an output, at least those over cores."""
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
        # An axis with a window is not tiled, or the block would be incomplete.
        return ceil(cycles * prod(extents[axis.dims[0]] if is_plain(axis) else size for axis, size in axes))


def _same(node: SequenceNode) -> SequenceNode:
    """A copy of a node that may also occur where it completes no block."""
    return replace(node)
