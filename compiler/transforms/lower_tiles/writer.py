"""Writes the tile-level operations that replace one contraction."""

from collections.abc import Sequence
from typing import TypeVar

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, StringAttr
from xdsl.ir import Operation, SSAValue

from npuc.compiler.transforms.lower_tiles.place import State
from npuc.dialects import npu
from npuc.dialects.npu.nest import Axis, Tensor
from npuc.dialects.provenance import derive

OpT = TypeVar("OpT", bound=Operation)
INDEX = IndexType()


class TileWriter:
    """
    The operations that replace one contraction: `ops` those written so far, `head` constants before all of them.
    """

    def __init__(self, op: npu.ContractOp):
        self.op = op
        self.nest = op.nest
        self.schedule = op.schedule
        self.maps = {name: npu.MapAttr(t.axes) for name, t in self.nest.tensors.items()}
        self.constants: dict[int, SSAValue] = {}
        self.head: list[Operation] = []
        self.ops: list[Operation] = []

    def emit(self, op: OpT, tensor: str | None = None, source: Operation | None = None) -> OpT:
        """Append an operation that stands for the contraction, or for `source`."""
        if tensor is not None:
            op.attributes["tensor"] = StringAttr(tensor)
        self.ops.append(derive(self.op if source is None else source, op))
        return op

    def named(self, value: SSAValue, name: str) -> SSAValue:
        """Give a value a name to print."""
        value.name_hint = name
        return value

    def constant(self, number: int) -> SSAValue:
        """An index constant, made once."""
        if number not in self.constants:
            op = derive(self.op, arith.ConstantOp(IntegerAttr(number, INDEX)))
            self.constants[number] = self.named(op.result, f"c{number}")
            self.head.append(op)
        return self.constants[number]

    def plus(self, value: SSAValue | int, number: int) -> SSAValue | int:
        """value + number."""
        if isinstance(value, int):
            return value + number
        return value if number == 0 else self.emit(arith.AddiOp(value, self.constant(number))).result

    def as_value(self, value: SSAValue | int) -> SSAValue:
        """A number as an operand."""
        return self.constant(value) if isinstance(value, int) else value

    def box(self, dims: Sequence[str], state: State) -> tuple[npu.BoxAttr, list[SSAValue]]:
        """The box of these dimensions at this place, with its operands."""
        ranges: list[npu.Range] = []
        operands: list[SSAValue] = []
        for dim in dims:
            part = state.parts[dim]
            numbers = [n if isinstance(n, int) else None for n in (part.offset, part.limit)]
            ranges.append(npu.Range(dim, numbers[0], part.extent, numbers[1], part.limit is not None))
            operands += [v for v in (part.offset, part.limit) if isinstance(v, SSAValue)]
        return npu.BoxAttr(tuple(ranges)), operands

    def tensor_box(self, tensor: Tensor, state: State) -> tuple[npu.BoxAttr, list[SSAValue]]:
        """The box of a tensor's own dimensions, in the nest's order."""
        return self.box([dim for dim in self.nest.sizes if dim in tensor.dims], state)

    def all_zero(self, offsets: Sequence[SSAValue]) -> SSAValue | None:
        """Whether all these offsets are zero; None if there are none."""
        result: SSAValue | None = None
        for offset in offsets:
            zero = self.emit(arith.CmpiOp(offset, self.constant(0), "eq")).result
            result = zero if result is None else self.emit(arith.AndIOp(result, zero)).result
        return result if result is None else self.named(result, "first")


def whole_place(shape: Sequence[int]) -> tuple[npu.MapAttr, npu.BoxAttr, list[SSAValue]]:
    """The map and box of all of a tensor, of dimensions of its own."""
    dims = [f"d{number}" for number in range(len(shape))]
    box = npu.BoxAttr(tuple(npu.Range(dim, 0, size) for dim, size in zip(dims, shape, strict=True)))
    return npu.MapAttr(tuple(Axis(((dim, 1),)) for dim in dims)), box, []
