"""Transfers between tensors in DRAM and blocks in SPM: `npu.empty`, `npu.load`, `npu.store`."""

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import TensorType, UnitAttr, i1
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    base,
    eq,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryAllocEffect
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.npu.attrs import BlockType, BoxAttr, MapAttr
from npuc.dialects.npu.footprint import block_shape
from npuc.dialects.npu.tiles.box import (
    BoxOp,
    parse_box,
    parse_place,
    parse_type_list,
    print_place,
    print_types,
)
from npuc.dialects.npu.tiles.reads import parse_read, print_read

_UNIT = UnitAttr()


@irdl_op_definition
class EmptyOp(IRDLOperation):
    """
    A tensor in DRAM that nothing was written to yet.

        %y = npu.empty : tensor<6x4xf32>
    """

    name = "npu.empty"

    result = result_def(base(TensorType))

    traits = traits_def(MemoryAllocEffect())

    def __init__(self, type_: Attribute):
        super().__init__(result_types=[type_])

    @classmethod
    def parse(cls, parser: Parser) -> "EmptyOp":
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        return cls.create(result_types=[parser.parse_type()], attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
        print_types(printer, [self.result])


@irdl_op_definition
class LoadOp(BoxOp):
    """
    Read a block from DRAM: the distinct elements inside the tensor that the index map reaches in the box.

    With `partial` the tensor is one of partial sums, and elements that were not written yet are not read but 0. With
    `when` false nothing is read, and the block must not be looked at.

        %b = npu.load %x[m, k] over (m = %m : 2, k = 0 : 8) : tensor<6x8xf32> -> !npu.block<2x8xf32>
    """

    name = "npu.load"

    tensor = operand_def(base(TensorType))
    when = opt_operand_def(eq(i1))
    block = result_def(BlockType)
    map_attr = prop_def(MapAttr, prop_name="map")
    partial_attr = opt_prop_def(UnitAttr, prop_name="partial")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        tensor: SSAValue | Operation,
        map_: MapAttr,
        box: BoxAttr,
        indices: Sequence[SSAValue],
        *,
        partial: bool = False,
        when: SSAValue | None = None,
    ):
        tensor = SSAValue.get(tensor)
        type_ = cast(TensorType[Attribute], tensor.type)
        block = BlockType(block_shape(map_.data, type_.get_shape(), box.extents), type_.get_element_type())
        super().__init__(
            operands=[tensor, when, indices],
            result_types=[block],
            properties={"map": map_, "box": box, "partial": _UNIT if partial else None},
        )

    @property
    def partial(self) -> bool:
        """Whether the tensor is one of partial sums."""
        return self.partial_attr is not None

    def verify_(self) -> None:
        """The map has the tensor's rank and dimensions of the box; the block has room for what it reaches."""
        super().verify_()
        self.check_block(self.map_attr.data, self.tensor, self.block)

    @classmethod
    def parse(cls, parser: Parser) -> "LoadOp":
        return parse_read(cls, parser)

    def print(self, printer: Printer) -> None:
        print_read(self, printer, self.tensor, self.map_attr, self.when, partial=self.partial)


@irdl_op_definition
class StoreOp(BoxOp):
    """
    Write a block to DRAM; the result is the tensor after it.

        %y = npu.store %b into %x[m, n] over (m = %m : 2, n = 0 : 4) : !npu.block<2x4xf32>, tensor<6x4xf32>
    """

    name = "npu.store"

    block = operand_def(BlockType)
    tensor = operand_def(base(TensorType))
    result = result_def(base(TensorType))
    map_attr = prop_def(MapAttr, prop_name="map")

    def __init__(self, block: SSAValue, tensor: SSAValue, map_: MapAttr, box: BoxAttr, indices: Sequence[SSAValue]):
        super().__init__(
            operands=[block, tensor, indices], result_types=[tensor.type], properties={"map": map_, "box": box}
        )

    def verify_(self) -> None:
        """The map has the tensor's rank and dimensions of the box; the block has the shape that it reaches."""
        super().verify_()
        self.check_block(self.map_attr.data, self.tensor, self.block)
        if self.result.type != self.tensor.type:
            raise VerifyException(f"expected {self.tensor.type}, got {self.result.type}")

    @classmethod
    def parse(cls, parser: Parser) -> "StoreOp":
        block = parser.parse_unresolved_operand()
        parser.parse_keyword("into")
        tensor, map_ = parse_place(parser)
        box, indices = parse_box(parser)
        attributes = parser.parse_optional_attr_dict()
        types, start = parse_type_list(parser)
        values = parser.resolve_operands([block, tensor], types, start)
        return cls.build(
            operands=[*values, indices],
            result_types=types[1:],
            properties={"map": map_, "box": box},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.block)
        printer.print_string(" into ")
        print_place(printer, self.tensor, self.map_attr)
        self.print_box(printer)
        printer.print_op_attributes(self.attributes)
        print_types(printer, [self.block, self.tensor])
