"""Transfers between blocks in neighbouring memories on the chip: `npu.fetch`, `npu.put`."""

from collections.abc import Sequence

from xdsl.dialects.builtin import UnitAttr, i1
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    eq,
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

from npuc.dialects.npu.attrs import BlockType, BoxAttr, MapAttr
from npuc.dialects.npu.footprint import block_shape
from npuc.dialects.npu.tiles.box import BoxOp, parse_box, parse_place, parse_type_list, print_place, print_types
from npuc.dialects.npu.tiles.reads import parse_read, print_read

_UNIT = UnitAttr()


@irdl_op_definition
class FetchOp(BoxOp):
    """
    Read a block from a block of the memory outside of it: those of its elements that the index map reaches in the box.

    With `partial` the blocks are of partial sums, and elements that were not written yet are not read but 0. With
    `when` false nothing is read, and the block must not be looked at. The attribute `level` names the memory that it
    is read into, where that is not SPM.

        %b = npu.fetch %x[m, k] over (m = %m : 2, k = 0 : 8) : !npu.block<6x8xf32> -> !npu.block<2x8xf32>
    """

    name = "npu.fetch"

    source = operand_def(BlockType)
    when = opt_operand_def(eq(i1))
    block = result_def(BlockType)
    map_attr = prop_def(MapAttr, prop_name="map")
    partial_attr = opt_prop_def(UnitAttr, prop_name="partial")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        source: SSAValue,
        map_: MapAttr,
        box: BoxAttr,
        indices: Sequence[SSAValue],
        *,
        partial: bool = False,
        when: SSAValue | None = None,
    ):
        type_ = source.type
        assert isinstance(type_, BlockType)
        block = BlockType(block_shape(map_.data, type_.get_shape(), box.extents), type_.element_type)
        super().__init__(
            operands=[source, when, indices],
            result_types=[block],
            properties={"map": map_, "box": box, "partial": _UNIT if partial else None},
        )

    @property
    def partial(self) -> bool:
        """Whether the blocks are of partial sums."""
        return self.partial_attr is not None

    def verify_(self) -> None:
        """The map has the source's rank and dimensions of the box; the block has the shape that it reaches there."""
        super().verify_()
        self.check_block(self.map_attr.data, self.source, self.block)

    @classmethod
    def parse(cls, parser: Parser) -> "FetchOp":
        return parse_read(cls, parser)

    def print(self, printer: Printer) -> None:
        print_read(self, printer, self.source, self.map_attr, self.when, partial=self.partial)


@irdl_op_definition
class PutOp(BoxOp):
    """
    Write a block into one of the memory outside of it; the result is that block after it.

    The attribute `level` names the memory that it is written from, where that is not SPM.

        %c = npu.put %b into %a[m, n] over (m = %m : 2, n = 0 : 4) : !npu.block<2x4xf32>, !npu.block<6x4xf32>
    """

    name = "npu.put"

    block = operand_def(BlockType)
    target = operand_def(BlockType)
    result = result_def(BlockType)
    map_attr = prop_def(MapAttr, prop_name="map")

    def __init__(self, block: SSAValue, target: SSAValue, map_: MapAttr, box: BoxAttr, indices: Sequence[SSAValue]):
        super().__init__(
            operands=[block, target, indices], result_types=[target.type], properties={"map": map_, "box": box}
        )

    def verify_(self) -> None:
        """The map has the target's rank and dimensions of the box; the block has the shape that it reaches there."""
        super().verify_()
        self.check_block(self.map_attr.data, self.target, self.block)
        if self.result.type != self.target.type:
            raise VerifyException(f"expected {self.target.type}, got {self.result.type}")

    @classmethod
    def parse(cls, parser: Parser) -> "PutOp":
        block = parser.parse_unresolved_operand()
        parser.parse_keyword("into")
        target, map_ = parse_place(parser)
        box, indices = parse_box(parser)
        attributes = parser.parse_optional_attr_dict()
        types, start = parse_type_list(parser)
        values = parser.resolve_operands([block, target], types, start)
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
        print_place(printer, self.target, self.map_attr)
        self.print_box(printer)
        printer.print_op_attributes(self.attributes)
        print_types(printer, [self.block, self.target])
