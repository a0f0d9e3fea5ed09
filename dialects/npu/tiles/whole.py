"""
Whole tensors at the level of tiles: `npu.finish`, `npu.fill`, and tensors that are resident as one block.
"""

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerType, TensorType, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    base,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.npu.attrs import BlockType
from npuc.dialects.npu.tiles.accumulators import check_sum
from npuc.dialects.npu.tiles.box import (
    parse_type_list,
    print_types,
    shape_of,
)


@irdl_op_definition
class FinishOp(IRDLOperation):
    """
    Write what no store wrote, zeros or the start, and hand the tensor on as an ordinary one.

    Axis i of the start runs along axis `axes[i]` of the tensor and is repeated over the others. Elements of the start
    that no stored element took are read.

    Of a tensor of partial sums the result has the result's type. That moves nothing: the last store of an element
    finishes it and writes it in that type. The indices of the loops tell the last one, so that no condition is written.

        %y = npu.finish %x : tensor<6x4xf32>
    """

    name = "npu.finish"

    tensor = operand_def(base(TensorType))
    start = opt_operand_def(base(TensorType))
    result = result_def(base(TensorType))
    axes_attr = opt_prop_def(DenseArrayBase, prop_name="axes")

    def __init__(
        self,
        tensor: SSAValue,
        start: SSAValue | None = None,
        axes: Sequence[int] = (),
        type_: Attribute | None = None,
    ):
        """`type_` is that of the result, where the tensor is one of partial sums."""
        super().__init__(
            operands=[tensor, start],
            result_types=[tensor.type if type_ is None else type_],
            properties={"axes": None if start is None else DenseArrayBase.from_list(i64, axes)},
        )

    @property
    def axes(self) -> tuple[int, ...]:
        """The axis of the tensor for each axis of the start."""
        attr = self.axes_attr
        return () if attr is None else tuple(cast(DenseArrayBase[IntegerType], attr).get_values())

    def verify_(self) -> None:
        """The shape stays; sums become elements as wide as the accumulators say; a start has axes that match it."""
        if self.result.type != self.tensor.type:
            if shape_of(self.result) != shape_of(self.tensor):
                raise VerifyException(f"expected a tensor of the shape of {self.tensor.type}, got {self.result.type}")
            own, result = (cast("TensorType[Attribute]", v.type).element_type for v in (self.tensor, self.result))
            check_sum(self, own, result)
        if (self.start is None) != (self.axes_attr is None):
            raise VerifyException("a start and its axes go together")
        if self.start is not None:
            _check_start(shape_of(self.tensor), self.start, self.axes)

    @classmethod
    def parse(cls, parser: Parser) -> "FinishOp":
        operands = [parser.parse_unresolved_operand()]
        properties: dict[str, Attribute] = {}
        if parser.parse_optional_keyword("from"):
            operands.append(parser.parse_unresolved_operand())
            properties["axes"] = _parse_axes(parser)
        attributes = parser.parse_optional_attr_dict()
        types, start = parse_type_list(parser)
        values = parser.resolve_operands(operands, types, start)
        result = parser.parse_type() if parser.parse_optional_punctuation("->") else types[0]
        return cls.create(operands=values, result_types=[result], properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.tensor)
        if self.start is not None:
            _print_start(printer, self.start, self.axes)
        printer.print_op_attributes(self.attributes)
        print_types(printer, self.operands)
        if self.result.type != self.tensor.type:
            printer.print_string(" -> ")
            printer.print_attribute(self.result.type)


@irdl_op_definition
class FillOp(IRDLOperation):
    """
    Give the elements of a whole accumulator block that no `npu.start` gave a start theirs, read from DRAM.

    It is to a block that stays in SPM what `npu.finish` is to a tensor in DRAM: axis i of the start runs along axis
    `axes[i]` of the block and is repeated over the others, and elements of the start that were taken are not read.

        %y = npu.fill %b from %s axes [1] : !npu.block<6x4xf32>, tensor<4xf32>
    """

    name = "npu.fill"

    block = operand_def(BlockType)
    start = operand_def(base(TensorType))
    result = result_def(BlockType)
    axes_attr = prop_def(DenseArrayBase, prop_name="axes")

    def __init__(self, block: SSAValue, start: SSAValue, axes: Sequence[int]):
        super().__init__(
            operands=[block, start],
            result_types=[block.type],
            properties={"axes": DenseArrayBase.from_list(i64, axes)},
        )

    @property
    def axes(self) -> tuple[int, ...]:
        """The axis of the block for each axis of the start."""
        return tuple(cast(DenseArrayBase[IntegerType], self.axes_attr).get_values())

    def verify_(self) -> None:
        """The block stays as it is; the start's sizes are those of its axes."""
        if self.result.type != self.block.type:
            raise VerifyException(f"expected {self.block.type}, got {self.result.type}")
        own = cast(BlockType, self.block.type)
        _check_start(own.get_shape(), self.start, self.axes)
        check_sum(self, own.element_type, cast("TensorType[Attribute]", self.start.type).element_type)

    @classmethod
    def parse(cls, parser: Parser) -> "FillOp":
        block = parser.parse_unresolved_operand()
        parser.parse_keyword("from")
        operands = [block, parser.parse_unresolved_operand()]
        properties = {"axes": _parse_axes(parser)}
        attributes = parser.parse_optional_attr_dict()
        types, start = parse_type_list(parser)
        values = parser.resolve_operands(operands, types, start)
        return cls.create(operands=values, result_types=types[:1], properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.block)
        _print_start(printer, self.start, self.axes)
        printer.print_op_attributes(self.attributes)
        print_types(printer, self.operands)


def _check_start(shape: Sequence[int], start: SSAValue, axes: Sequence[int]) -> None:
    """Raise unless a start runs along these axes of what has a shape."""
    if len(set(axes)) != len(axes) or any(not 0 <= axis < len(shape) for axis in axes):
        raise VerifyException(f"axes are {list(axes)}, expected different ones below {len(shape)}")
    expected = tuple(shape[axis] for axis in axes)
    if shape_of(start) != expected:
        raise VerifyException(f"expected a start of {'x'.join(map(str, expected))}, got {start.type}")


def _parse_axes(parser: Parser) -> DenseArrayBase:
    """Parse `axes [0, 2]` after a start."""
    parser.parse_keyword("axes")
    axes = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parser.parse_integer(allow_boolean=False))
    return DenseArrayBase.from_list(i64, axes)


def _print_start(printer: Printer, start: SSAValue, axes: Sequence[int]) -> None:
    """Print ` from %start axes [0, 2]`."""
    printer.print_string(" from ")
    printer.print_operand(start)
    printer.print_string(f" axes [{', '.join(map(str, axes))}]")


def _check_same(tensor: SSAValue, block: SSAValue) -> None:
    """Raise unless a block is that of all of a tensor."""
    type_ = cast("TensorType[Attribute]", tensor.type)
    expected = BlockType(type_.get_shape(), type_.get_element_type())
    if block.type != expected:
        raise VerifyException(f"the block of all of {type_} is {expected}, got {block.type}")


@irdl_op_definition
class AsBlockOp(IRDLOperation):
    """
    The block of a whole tensor that is resident in SPM: nothing is read.

        %b = npu.as_block %x : tensor<6x8xf32> -> !npu.block<6x8xf32>
    """

    name = "npu.as_block"

    value = operand_def(base(TensorType))
    result = result_def(BlockType)

    assembly_format = "$value attr-dict `:` type($value) `->` type($result)"

    def __init__(self, value: SSAValue):
        type_ = cast("TensorType[Attribute]", value.type)
        super().__init__(operands=[value], result_types=[BlockType(type_.get_shape(), type_.get_element_type())])

    def verify_(self) -> None:
        """The block is that of the whole tensor."""
        _check_same(self.value, self.result)


@irdl_op_definition
class AsTensorOp(IRDLOperation):
    """
    The tensor of a whole block that is left resident in SPM for later operations: nothing is written.

        %x = npu.as_tensor %b : !npu.block<6x8xf32> -> tensor<6x8xf32>
    """

    name = "npu.as_tensor"

    value = operand_def(BlockType)
    result = result_def(base(TensorType))

    assembly_format = "$value attr-dict `:` type($value) `->` type($result)"

    def __init__(self, value: SSAValue):
        type_ = cast(BlockType, value.type)
        super().__init__(operands=[value], result_types=[TensorType(type_.element_type, type_.get_shape())])

    def verify_(self) -> None:
        """The tensor has the shape and elements of the block."""
        _check_same(self.result, self.value)
