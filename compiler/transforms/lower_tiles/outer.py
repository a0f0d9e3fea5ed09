"""
Blocks in memories between SPM and DRAM at the level of tiles.

A block is loaded into the outermost memory that keeps it, from there into the next one inwards (`npu.fetch`), and so
on to SPM; a sum goes back the same way (`npu.put`), and to DRAM when its block leaves the outermost memory. Tensors of
sums have the type of partial sums, and are finished as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import SSAValue

from npuc.compiler.transforms.lower_tiles.place import State
from npuc.dialects import npu
from npuc.dialects.npu.nest import Schedule, Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from npuc.compiler.transforms.lower_tiles.writer import TileWriter


@dataclass(frozen=True)
class KeptLevel:
    """A memory that the schedule names, and the schedule as it sees it."""

    name: str
    schedule: Schedule


def kept_levels(schedule: Schedule) -> tuple[KeptLevel, ...]:
    """
    The memories that a schedule names, outermost first.

    None over cores: what is in a memory of several cores is no matter of one of them.
    """
    if schedule.core_depth:
        return ()
    names = [one.level for one in schedule.outer]
    seen = schedule.at_levels(names)[1:]
    return tuple(KeptLevel(name, own) for name, own in reversed(list(zip(names, seen, strict=True))))


class OuterBlocks:
    """
    Writes the transfers of the memories outside of SPM; `settled` says whether no loop from a depth on changes the
    block of a tensor as a schedule keeps it.
    """

    def __init__(
        self,
        writer: TileWriter,
        levels: Sequence[KeptLevel],
        values: dict[str, SSAValue],
        settled: Callable[[Tensor, int, State, Schedule], bool],
    ):
        self.writer, self.levels, self.values, self.settled = writer, tuple(levels), values, settled

    def load(self, depth: int, state: State) -> State:
        """Load the blocks that are settled at `depth`, from the outermost memory inwards."""
        for number in range(len(self.levels)):
            state = self._load_level(number, depth, state)
        return state

    def _load_level(self, number: int, depth: int, state: State) -> State:
        level, nest = self.levels[number], self.writer.nest
        outer, before, sums = dict(state.outer), dict(state.before), dict(state.sums)
        for tensor in nest.ins:
            if (number, tensor.name) not in outer and self.settled(tensor, depth, state, level.schedule):
                outer[number, tensor.name] = self._read(number, tensor, state, self._source(number, tensor, state))
        for out, start in zip(nest.outs, nest.starts, strict=True):
            if (number, out.name) not in before and self.settled(out, depth, state, level.schedule):
                before[number, out.name] = sums[out.name]
                sums[out.name] = self._read(number, out, state, sums[out.name], partial=True)
            if start is None or start.name in state.started or (number, start.name) in outer:
                continue
            others = [part.offset for dim, part in state.parts.items() if part.cut and dim not in out.dims]
            later = any(isinstance(offset, int) and offset > 0 for offset in others)
            if not later and self.settled(start, depth, state, level.schedule):
                first = self.writer.all_zero([offset for offset in others if isinstance(offset, SSAValue)])
                source = self._source(number, start, state)
                outer[number, start.name] = self._read(number, start, state, source, when=first)
        return replace(state, outer=outer, before=before, sums=sums)

    def _source(self, number: int, tensor: Tensor, state: State) -> SSAValue:
        """Where a level reads an input: in the memory outside of it."""
        return self.values[tensor.name] if number == 0 else state.outer[number - 1, tensor.name]

    def _read(
        self,
        number: int,
        tensor: Tensor,
        state: State,
        source: SSAValue,
        *,
        partial: bool = False,
        when: SSAValue | None = None,
    ) -> SSAValue:
        """The block of a tensor in a memory, read from a tensor in DRAM or a block outside of it."""
        block = read_block(self.writer, tensor, state, source, partial=partial, when=when)
        name = self.levels[number].name
        assert block.owner is self.writer.ops[-1]
        self.writer.ops[-1].attributes["level"] = StringAttr(name)
        return self.writer.named(block, f"{tensor.name}_{name}")

    def spm_source(self, tensor: Tensor, state: State) -> SSAValue:
        """Where SPM reads an input or a start: in the innermost of these memories, or in DRAM."""
        return self._source(len(self.levels), tensor, state)

    def leave(self, out: Tensor, inner: State, state: State, sums: dict[str, SSAValue]) -> dict[str, SSAValue]:
        """Write the blocks of a sum that the memories do not keep any longer, from the innermost one outwards."""
        for number in reversed(range(len(self.levels))):
            key = number, out.name
            if key in inner.before and key not in state.before:
                written = write_block(self.writer, out, state, sums[out.name], inner.before[key])
                self.writer.ops[-1].attributes["level"] = StringAttr(self.levels[number].name)
                sums = {**sums, out.name: written}
        return sums


def read_block(
    writer: TileWriter,
    tensor: Tensor,
    state: State,
    source: SSAValue,
    *,
    partial: bool = False,
    when: SSAValue | None = None,
) -> SSAValue:
    """The block of a tensor at this place, read from the tensor or from a block that contains it."""
    box, indices = writer.tensor_box(tensor, state)
    place = writer.maps[tensor.name], box, indices
    if isinstance(source.type, npu.BlockType):
        return writer.emit(npu.FetchOp(source, *place, partial=partial, when=when), tensor.name).block
    return writer.emit(npu.LoadOp(source, *place, partial=partial, when=when), tensor.name).block


def write_block(writer: TileWriter, out: Tensor, state: State, block: SSAValue, target: SSAValue) -> SSAValue:
    """The tensor or block outside after a block of a sum was written into it."""
    box, indices = writer.tensor_box(out, state)
    place = writer.maps[out.name], box, indices
    if isinstance(target.type, npu.BlockType):
        written = writer.emit(npu.PutOp(block, target, *place), out.name).result
    else:
        written = writer.emit(npu.StoreOp(block, target, *place), out.name).result
    return writer.named(written, out.name)
