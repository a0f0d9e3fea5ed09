"""
Fused vector work at the level of tiles.

When the block of an output is complete, blocks of the work's other operands are loaded, the work is done in SPM, and
the results are stored. Operands of another shape are loaded whole before the loops, those over cores excepted: each
core has its own.
"""

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from npuc.compiler.transforms.lower_tiles.place import State
from npuc.compiler.transforms.lower_tiles.writer import TileWriter, whole_place
from npuc.dialects import npu
from npuc.dialects.npu.footprint import block_shape
from npuc.dialects.npu.fused_blocks import fused_places, is_stored
from npuc.dialects.npu.nest import Tensor
from npuc.dialects.npu.vector import FusedVector
from npuc.dialects.tensors import shape_of


class FusedBlocks:
    """
    The work that is fused with a contraction whose tiles a writer emits.

    `stored` are the results that go to DRAM, by the name under which the loops carry them.
    """

    def __init__(self, writer: TileWriter, fused: Sequence[FusedVector]):
        self.writer, self.fused = writer, tuple(fused)
        self.inside = {f.op for f in fused}
        self.places = fused_places(writer.op, fused)
        self.stored: dict[str, tuple[FusedVector, int]] = {}
        for f in fused:
            for number, result in enumerate(f.op.results):
                if is_stored(result, self.inside):
                    name = result.name_hint or f.op.kind
                    while name in self.stored or name in writer.nest.tensors:
                        name += "_"
                    self.stored[name] = f, number

    def keeps(self, out: Tensor) -> bool:
        """Whether only fused work uses an output, so that it does not go to DRAM."""
        value = self.writer.op.result_of(out.name)
        return any(f.output == out.name for f in self.fused) and not is_stored(value, self.inside)

    def begin(self) -> dict[str, SSAValue]:
        """The tensors that results are stored into."""
        empty: dict[str, SSAValue] = {}
        for name, (f, number) in self.stored.items():
            op = self.writer.emit(npu.EmptyOp(f.op.results[number].type), source=f.op)
            empty[name] = self.writer.named(op.result, name)
        return empty

    def load_smaller(self) -> dict[tuple[str, SSAValue], SSAValue]:
        """Load the operands of other shapes; their blocks, by the output to which the work applies and the operand."""
        found: dict[tuple[str, SSAValue], SSAValue] = {}
        for f in self.fused:
            for value in f.outside:
                if shape_of(value) != shape_of(f.op.results[0]):
                    found[f.output, value] = self._load_all(f, value)
        return found

    def finish(self, out: Tensor, state: State, block: SSAValue, sums: Mapping[str, SSAValue]) -> dict[str, SSAValue]:
        """Apply the work to a complete block of an output and store results used elsewhere; the loop-carried values."""
        writer, own = self.writer, [f for f in self.fused if f.output == out.name]
        place = writer.maps[out.name], *writer.tensor_box(out, state)
        carried = dict(sums)
        blocks = {writer.op.result_of(out.name): block}
        blocks |= {value: held for (name, value), held in (state.smaller or {}).items() if name == out.name}
        for f in own:
            for value in f.outside:
                if value not in blocks:
                    load = writer.emit(npu.LoadOp(value, *place), f"in{list(f.op.operands).index(value)}", f.op)
                    blocks[value] = writer.named(load.block, f"{value.name_hint or f.op.kind}_b")
        names = {result.op.results[number]: name for name, (result, number) in self.stored.items()}
        for f in own:
            into = [self._room(f, number, out, place, blocks) for number in range(len(f.op.results))]
            args = [blocks[value] for value in f.op.operands]
            work = npu.ApplyOp(f.op.kind_attr, f.op.params_attr, args, into, out.shape, *place)
            writer.emit(work, source=f.op)
            for number, (result, value) in enumerate(zip(f.op.results, work.outs, strict=True)):
                blocks[result] = writer.named(value, f"{result.name_hint or f.op.kind}_b")
                if result in names:
                    store = npu.StoreOp(value, carried[names[result]], *place)
                    done = writer.emit(store, f"out{number}", f.op).result
                    carried[names[result]] = writer.named(done, names[result])
        return carried

    def results(self, sums: Mapping[str, SSAValue]) -> dict[SSAValue, SSAValue]:
        """The tensors in place of the results that are stored."""
        found: dict[SSAValue, SSAValue] = {}
        for name, (f, number) in self.stored.items():
            finish = self.writer.emit(npu.FinishOp(sums[name]), f"out{number}", f.op)
            found[f.op.results[number]] = finish.result
        return found

    def _load_all(self, f: FusedVector, value: SSAValue) -> SSAValue:
        load = npu.LoadOp(value, *whole_place(shape_of(value)))
        load = self.writer.emit(load, f"in{list(f.op.operands).index(value)}", f.op)
        return self.writer.named(load.block, f"{value.name_hint or f.op.kind}_b")

    def _room(
        self,
        f: FusedVector,
        number: int,
        out: Tensor,
        place: tuple[npu.MapAttr, npu.BoxAttr, list[SSAValue]],
        blocks: Mapping[SSAValue, SSAValue],
    ) -> SSAValue:
        """The block that a result overwrites, or a new one."""
        result = f.op.results[number]
        taken = self.places[result]
        if taken is not None:
            return blocks[taken]
        element = cast("TensorType[Attribute]", result.type).get_element_type()
        block = npu.BlockType(block_shape(out.axes, out.shape, place[1].extents), element)
        zero = self.writer.emit(npu.ZeroOp(*place, block), f"out{number}", f.op)
        return self.writer.named(zero.block, f"{result.name_hint or f.op.kind}_b")
