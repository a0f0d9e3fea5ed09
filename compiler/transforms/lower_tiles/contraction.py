"""The loops of one contraction: loads, macs, conversions and stores, with what is fused with it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from xdsl.dialects import scf
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from npuc.compiler.transforms.lower_tiles.fused import FusedBlocks
from npuc.compiler.transforms.lower_tiles.outer import OuterBlocks, kept_levels, read_block, write_block
from npuc.compiler.transforms.lower_tiles.place import Part, State
from npuc.compiler.transforms.lower_tiles.resident import needs_fill, resident_inputs
from npuc.compiler.transforms.lower_tiles.writer import INDEX, TileWriter, whole_place
from npuc.dialects import npu
from npuc.dialects.npu.epilogue import incomplete_reason
from npuc.dialects.npu.footprint import block_shape
from npuc.dialects.npu.nest import Schedule, Tensor, start_axes
from npuc.dialects.npu.resident import unmoved_tensors
from npuc.dialects.npu.sums import sum_type
from npuc.dialects.npu.vector import FusedVector
from npuc.dialects.npu.widths import widths_of
from npuc.dialects.tensors import tensor_of, tensor_type

Sums: TypeAlias = dict[str, SSAValue]


class TileLowering(TileWriter):
    """
    The lowering of one contraction and its fused work.

    `loaded` are blocks of whole inputs that are in SPM already, by name. Resident tensors are whole blocks, too.
    """

    def __init__(
        self, op: npu.ContractOp, loaded: Mapping[str, SSAValue] | None = None, fused: Sequence[FusedVector] = ()
    ):
        super().__init__(op)
        self.loaded = dict(loaded or {})
        self.unmoved, self.left = unmoved_tensors(op), frozenset(op.resident.outs) & op.named_results().keys()
        self.left_blocks: dict[str, SSAValue] = {}
        self.fused = FusedBlocks(self, fused)
        self.elements = {t.name: tensor_type(v).element_type for t, v in zip(self.nest.outs, op.results, strict=True)}
        bits = widths_of(op).accumulator_bits
        self.sum_elements = {name: sum_type(element, bits) for name, element in self.elements.items()}
        self.values = dict(zip((t.name for t in npu.operand_tensors(self.nest)), op.operands, strict=True))
        levels = kept_levels(self.schedule)
        if levels and (fused or loaded):
            what = "vector work is fused with it" if fused else "others share its blocks"
            raise VerifyException(
                f"a contraction keeps blocks in {levels[-1].name}, and {what}: only SPM is known there"
            )
        self.outer = OuterBlocks(self, levels, self.values, self.settled)

    def lower(self) -> tuple[list[Operation], dict[SSAValue, SSAValue]]:
        """
        The operations in place of the contraction and its fused work, and the values in place of their results;
        a result that only fused work uses has none.
        """
        self.loaded |= resident_inputs(self, self.values)
        sums: dict[str, SSAValue] = {}
        for out, result in zip(self.nest.outs, self.op.results, strict=True):
            if not self.fused.keeps(out) and out.name not in self.unmoved:
                type_ = result.type if self.leaves_finished(out) else tensor_of(self.sum_elements[out.name], out.shape)
                sums[out.name] = self.named(self.emit(npu.EmptyOp(type_)).result, out.name)
        sums |= self.fused.begin()
        sums = self.nested(0, replace(self.whole(), sums=sums, blocks=self.loaded))
        results: dict[SSAValue, SSAValue] = {}
        for out, start in zip(self.nest.outs, self.nest.starts, strict=True):
            if out.name in self.unmoved:
                tensor = self.emit(npu.AsTensorOp(self.left_blocks[out.name]), out.name)
                results[self.op.result_of(out.name)] = tensor.result
            if out.name not in sums:
                continue
            source = None if start is None else self.values[start.name]
            axes = () if start is None else start_axes(out, start) or ()
            type_ = self.op.result_of(out.name).type
            finish = self.emit(npu.FinishOp(sums[out.name], source, axes, type_), out.name)
            results[self.op.result_of(out.name)] = finish.result
        results |= self.fused.results(sums)
        return [*self.head, *self.ops], results

    def leaves_finished(self, out: Tensor) -> bool:
        """Whether each block of an output that leaves SPM is finished."""
        if self.outer.levels:
            return False
        return out.name in self.left or incomplete_reason(self.nest, self.schedule, out.name) is None

    def converted(self, out: Tensor, block: SSAValue) -> SSAValue:
        """The block of an output that leaves SPM, as elements of the result if it is finished."""
        element = self.elements[out.name]
        if element == self.sum_elements[out.name] or not self.leaves_finished(out):
            return block
        return self.named(self.emit(npu.ConvertOp(block, element), out.name).result, f"{out.name}_b")

    def filled(self, out: Tensor, start: Tensor | None, block: SSAValue) -> SSAValue:
        """The block of an output with the initial values that no loop has loaded."""
        if start is None or not needs_fill(self.op, out, start):
            return block
        fill = npu.FillOp(block, self.values[start.name], start_axes(out, start) or ())
        return self.named(self.emit(fill, out.name).result, f"{out.name}_b")

    def place(self, out: Tensor, state: State) -> tuple[npu.MapAttr, npu.BoxAttr, list[SSAValue]]:
        """The map and box of an output's block; those of the whole output where it is left resident."""
        if out.name in self.left:
            return whole_place(out.shape)
        return self.maps[out.name], *self.tensor_box(out, state)

    def whole(self) -> State:
        """The state outside of all loops."""
        return State({dim: Part(0, size) for dim, size in self.nest.dims}, {})

    def load_whole(self, tensor: str) -> tuple[Operation, SSAValue]:
        """Load an input that stays in SPM throughout; its block."""
        block = self.load_block(self.nest.tensors[tensor], self.whole(), None)
        return self.ops.pop(), block

    # loops

    def nested(self, depth: int, state: State) -> Sums:
        """Emit everything inside the first `depth` loops; returns the values that the loops carry afterwards."""
        spread = self.schedule.loops[depth : self.schedule.core_depth]
        if state.smaller is None and not any(loop.step < state.parts[loop.dim].extent for loop in spread):
            state = replace(state, smaller=self.fused.load_smaller())
        inner = self.load(depth, state)
        sums = self.loops(depth, inner)
        for out, start in zip(self.nest.outs, self.nest.starts, strict=True):
            if out.name in inner.dram and out.name not in state.dram:
                block = self.converted(out, self.filled(out, start, sums[out.name]))
                dram = inner.dram[out.name]
                if dram is None:
                    self.left_blocks[out.name] = block
                    sums = {name: value for name, value in sums.items() if name != out.name}
                elif isinstance(dram.type, npu.BlockType):
                    sums = {**sums, out.name: write_block(self, out, state, block, dram)}
                else:
                    store = npu.StoreOp(block, dram, *self.place(out, state))
                    sums = {**sums, out.name: self.named(self.emit(store, out.name).result, out.name)}
                sums = self.fused.finish(out, state, block, sums)
            sums = self.outer.leave(out, inner, state, sums)
        return sums

    def loops(self, depth: int, state: State) -> Sums:
        """Emit the loop at `depth` and what is inside it, or the statements if there are no more loops."""
        if depth == len(self.schedule.loops):
            return self.statements(state)
        dim, step = self.schedule.loops[depth].dim, self.schedule.loops[depth].step
        part = state.parts[dim]
        whole, rest = divmod(part.extent, step)
        if part.extent <= step:
            return self.nested(depth + 1, state)
        if rest == 0 or all(loop.dim != dim for loop in self.schedule.loops[depth + 1 :]):
            return self.loop(depth, state, part.extent)
        if whole == 1:
            sums = self.nested(depth + 1, state.at(dim, Part(part.offset, step, cut=True)))
        else:
            sums = self.loop(depth, state, whole * step)
        last = Part(self.plus(part.offset, whole * step), rest, cut=True)
        return self.nested(depth + 1, replace(state, sums=sums).at(dim, last))

    def loop(self, depth: int, state: State, extent: int) -> Sums:
        """Emit `extent` indices of the loop at `depth` as an `scf.for` that carries the outputs."""
        dim, step = self.schedule.loops[depth].dim, self.schedule.loops[depth].step
        base = state.parts[dim].offset
        end = self.plus(base, extent)
        if isinstance(end, SSAValue):
            self.named(end, f"{dim}_end")
        bounds = self.as_value(base), self.as_value(end), self.constant(step)
        body = Block(arg_types=[INDEX, *(value.type for value in state.sums.values())])
        inside = Part(self.named(body.args[0], dim), step, end if extent % step else None, cut=True)
        names = {name: f"{name}_b" if name in state.dram else name for name in state.sums}
        carried = {name: self.named(arg, names[name]) for name, arg in zip(state.sums, body.args[1:], strict=True)}
        outer, self.ops = self.ops, []
        sums = self.nested(depth + 1, replace(state, sums=carried).at(dim, inside))
        self.emit(scf.YieldOp(*(sums[name] for name in state.sums)))
        body.add_ops(self.ops)
        self.ops = outer
        loop = self.emit(scf.ForOp(*bounds, list(state.sums.values()), body))
        if self.schedule.loops[depth].cores:
            loop.attributes["cores"] = UnitAttr()
        return {name: self.named(value, names[name]) for name, value in zip(state.sums, loop.results, strict=True)}

    def statements(self, state: State) -> Sums:
        """Emit the statements on the blocks of one innermost iteration."""
        sums = dict(state.sums)
        box, indices = self.box(list(self.nest.sizes), state)
        for s in self.nest.statements:
            operands = [sums[s.out], state.blocks[s.lhs], state.blocks[s.rhs]]
            maps = [self.maps[name] for name in (s.out, s.lhs, s.rhs)]
            sums[s.out] = self.named(self.emit(npu.MacOp(operands, maps, box, indices)).result, f"{s.out}_b")
        return sums

    # blocks

    def settled(self, tensor: Tensor, depth: int, state: State, kept: Schedule | None = None) -> bool:
        """
        Whether no loop from `depth` on and outside the kept block changes the block; one over cores changes all. `kept`
        is the schedule as another memory than SPM sees it.
        """
        if tensor.name in self.left:
            return True
        end = len(self.schedule.loops) - (kept or self.schedule).keep_depth(tensor.name)
        return not any(
            (loop.cores or loop.dim in tensor.dims) and loop.step < state.parts[loop.dim].extent
            for loop in self.schedule.loops[depth:end]
        )

    def load(self, depth: int, state: State) -> State:
        """Load the blocks that are settled at `depth`: inputs, outputs, initial values of accumulators."""
        state = self.outer.load(depth, state)
        blocks, sums, dram = dict(state.blocks), dict(state.sums), dict(state.dram)
        for tensor in self.nest.ins:
            if tensor.name not in blocks and self.settled(tensor, depth, state):
                blocks[tensor.name] = self.load_block(tensor, state, None)
        for out in self.nest.outs:
            if out.name not in dram and self.settled(out, depth, state):
                dram[out.name] = sums.get(out.name)
                sums[out.name] = self.named(self.output_block(out, state), f"{out.name}_b")
        state = replace(state, blocks=blocks, sums=sums, dram=dram)
        for out, start in zip(self.nest.outs, self.nest.starts, strict=True):
            if start is not None and start.name not in state.started:
                state = self.give_start(out, start, depth, state)
        return state

    def load_block(self, tensor: Tensor, state: State, when: SSAValue | None) -> SSAValue:
        """Load the block of an input or of an accumulator's initial values at this place."""
        source = self.outer.spm_source(tensor, state)
        return self.named(read_block(self, tensor, state, source, when=when), f"{tensor.name}_b")

    def output_block(self, out: Tensor, state: State) -> SSAValue:
        """
        The block of an output at this place: zeros if no earlier iteration can have reached it, else the stored values.
        """
        map_, box, indices = self.place(out, state)
        dram = state.sums.get(out.name)
        cut = {dim for dim, part in state.parts.items() if part.cut}
        overlapping = {dim for axis in out.axes if len(axis.terms) > 1 for dim in axis.dims}
        if dram is None or cut <= out.dims - overlapping:
            block = npu.BlockType(block_shape(map_.data, out.shape, box.extents), self.sum_elements[out.name])
            return self.emit(npu.ZeroOp(map_, box, indices, block), out.name).block
        if isinstance(dram.type, npu.BlockType):
            return read_block(self, out, state, dram, partial=True)
        return self.emit(npu.LoadOp(dram, map_, box, indices, partial=True), out.name).block

    def give_start(self, out: Tensor, start: Tensor, depth: int, state: State) -> State:
        """
        Load the block of initial values if it is settled at `depth`, and initialise the block of its output once both
        are loaded.
        """
        others = [part.offset for dim, part in state.parts.items() if part.cut and dim not in out.dims]
        if any(isinstance(offset, int) and offset > 0 for offset in others):
            return state  # Not the first iteration of a loop that does not index the output: it is initialised already.
        blocks = state.blocks
        if start.name not in blocks and self.settled(start, depth, state):
            first = self.all_zero([offset for offset in others if isinstance(offset, SSAValue)])
            blocks = {**blocks, start.name: self.load_block(start, state, first)}
            state = replace(state, blocks=blocks)
        if start.name not in blocks or out.name not in state.dram:
            return state
        box, indices = self.tensor_box(out, state)
        operands = (state.sums[out.name], self.maps[out.name], blocks[start.name], self.maps[start.name])
        value = self.named(self.emit(npu.StartOp(*operands, box, indices)).result, f"{out.name}_b")
        return replace(state, sums={**state.sums, out.name: value}, started=state.started | {start.name})
