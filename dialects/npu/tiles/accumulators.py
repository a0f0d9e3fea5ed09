"""Operations on accumulators: `npu.zero`, `npu.start`, `npu.mac`, `npu.convert`."""

from collections.abc import Sequence
from typing import cast

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryAllocEffect, Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.npu.attrs import BlockType, BoxAttr, MapAttr
from npuc.dialects.npu.footprint import block_shape
from npuc.dialects.npu.sums import check_addends
from npuc.dialects.npu.syntax import parse_map, print_map
from npuc.dialects.npu.tiles.box import (
    BoxOp,
    parse_box,
    parse_place,
    parse_type_list,
    print_place,
    print_types,
    shape_of,
)
from npuc.dialects.npu.widths import is_sum, widths_of


@irdl_op_definition
class ZeroOp(BoxOp):
    """
    A block of zeros at the place of a box: what an accumulator starts from that was never visited before.

        %a = npu.zero [m, n] over (m = %m : 2, n = 0 : 4) : !npu.block<2x4xf32>
    """

    name = "npu.zero"

    block = result_def(BlockType)
    map_attr = prop_def(MapAttr, prop_name="map")

    traits = traits_def(MemoryAllocEffect())

    def __init__(self, map_: MapAttr, box: BoxAttr, indices: Sequence[SSAValue], block: BlockType):
        super().__init__(operands=[indices], result_types=[block], properties={"map": map_, "box": box})

    def verify_(self) -> None:
        """The block has the shape that the map reaches in the box."""
        super().verify_()
        self.check_map(self.map_attr.data, self.block)
        shape = shape_of(self.block)
        room = block_shape(self.map_attr.data, shape, self.box_attr.extents)
        if shape != room:
            raise VerifyException(
                f"the box reaches {'x'.join(map(str, room))} elements, the block is {self.block.type}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> "ZeroOp":
        map_ = MapAttr(parse_map(parser, None))
        box, indices = parse_box(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        return cls.build(
            operands=[indices],
            result_types=[parser.parse_type()],
            properties={"map": map_, "box": box},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_map(printer, self.map_attr.data)
        self.print_box(printer)
        printer.print_op_attributes(self.attributes)
        print_types(printer, [self.block])


@irdl_op_definition
class StartOp(BoxOp):
    """
    Give the elements of an accumulator in the box their start, those that have one already (stored before, or by an
    earlier `npu.start`) excepted.

    Each axis of the start indexes like one axis of the accumulator and is repeated over the others.

        %y = npu.start %a[m, n] from %b[n] over (m = %m : 2 in %end, n = 0 : 4)
            : !npu.block<2x4xf32>, !npu.block<4xf32>
    """

    name = "npu.start"

    acc = operand_def(BlockType)
    source = operand_def(BlockType)
    result = result_def(BlockType)
    acc_map = prop_def(MapAttr)
    source_map = prop_def(MapAttr)

    traits = traits_def(Pure())

    def __init__(
        self,
        acc: SSAValue,
        acc_map: MapAttr,
        source: SSAValue,
        source_map: MapAttr,
        box: BoxAttr,
        indices: Sequence[SSAValue],
    ):
        super().__init__(
            operands=[acc, source, indices],
            result_types=[acc.type],
            properties={"acc_map": acc_map, "source_map": source_map, "box": box},
        )

    def verify_(self) -> None:
        """Each index of the start is one of the accumulator; the accumulator's type stays."""
        super().verify_()
        self.check_map(self.acc_map.data, self.acc)
        self.check_map(self.source_map.data, self.source)
        if self.result.type != self.acc.type:
            raise VerifyException(f"expected {self.acc.type}, got {self.result.type}")
        for axis in self.source_map.data:
            if axis not in self.acc_map.data:
                raise VerifyException(f"index {axis} of the start is no index of the accumulator")

    @classmethod
    def parse(cls, parser: Parser) -> "StartOp":
        acc, acc_map = parse_place(parser)
        parser.parse_keyword("from")
        source, source_map = parse_place(parser)
        box, indices = parse_box(parser)
        attributes = parser.parse_optional_attr_dict()
        types, start = parse_type_list(parser)
        values = parser.resolve_operands([acc, source], types, start)
        return cls.build(
            operands=[*values, indices],
            result_types=types[:1],
            properties={"acc_map": acc_map, "source_map": source_map, "box": box},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_place(printer, self.acc, self.acc_map)
        printer.print_string(" from ")
        print_place(printer, self.source, self.source_map)
        self.print_box(printer)
        printer.print_op_attributes(self.attributes)
        print_types(printer, [self.acc, self.source])


@irdl_op_definition
class MacOp(BoxOp):
    """
    One statement of a nest on a box: `acc[…] += lhs[…] * rhs[…]`, all three in SPM.

        %y = npu.mac %a[m, n] += %x[m, k] * %w[k, n] over (m = %m : 2 in %end, n = 0 : 4, k = 0 : 8)
            : !npu.block<2x4xf32>, !npu.block<2x8xf32>, !npu.block<8x4xf32>
    """

    name = "npu.mac"

    acc = operand_def(BlockType)
    lhs = operand_def(BlockType)
    rhs = operand_def(BlockType)
    result = result_def(BlockType)
    acc_map = prop_def(MapAttr)
    lhs_map = prop_def(MapAttr)
    rhs_map = prop_def(MapAttr)

    traits = traits_def(Pure())

    def __init__(
        self, operands: Sequence[SSAValue], maps: Sequence[MapAttr], box: BoxAttr, indices: Sequence[SSAValue]
    ):
        """`operands` and `maps` are those of the accumulator, the left and the right factor."""
        properties = dict(zip(("acc_map", "lhs_map", "rhs_map"), maps, strict=True))
        super().__init__(
            operands=[*operands, indices], result_types=[operands[0].type], properties={**properties, "box": box}
        )

    def verify_(self) -> None:
        """
        The maps have the ranks of their blocks; the accumulator's type stays, and is as wide as the target says.
        """
        super().verify_()
        self.check_map(self.acc_map.data, self.acc)
        self.check_map(self.lhs_map.data, self.lhs)
        self.check_map(self.rhs_map.data, self.rhs)
        if self.result.type != self.acc.type:
            raise VerifyException(f"expected {self.acc.type}, got {self.result.type}")
        element, lhs, rhs = (cast(BlockType, v.type).element_type for v in (self.acc, self.lhs, self.rhs))
        check_addends("the accumulator", element, (lhs, rhs))
        if not is_sum(element, element, self):
            bits = widths_of(self).accumulator_bits
            raise VerifyException(f"accumulators have {bits} bits here (accumulator_bits), got one of {element}")

    @classmethod
    def parse(cls, parser: Parser) -> "MacOp":
        acc, acc_map = parse_place(parser)
        parser.parse_punctuation("+")
        parser.parse_punctuation("=")
        lhs, lhs_map = parse_place(parser)
        parser.parse_punctuation("*")
        rhs, rhs_map = parse_place(parser)
        box, indices = parse_box(parser)
        attributes = parser.parse_optional_attr_dict()
        types, start = parse_type_list(parser)
        values = parser.resolve_operands([acc, lhs, rhs], types, start)
        return cls.build(
            operands=[*values, indices],
            result_types=types[:1],
            properties={"acc_map": acc_map, "lhs_map": lhs_map, "rhs_map": rhs_map, "box": box},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_place(printer, self.acc, self.acc_map)
        printer.print_string(" += ")
        print_place(printer, self.lhs, self.lhs_map)
        printer.print_string(" * ")
        print_place(printer, self.rhs, self.rhs_map)
        self.print_box(printer)
        printer.print_op_attributes(self.attributes)
        print_types(printer, [self.acc, self.lhs, self.rhs])


@irdl_op_definition
class ConvertOp(IRDLOperation):
    """
    The finished sums of a block as elements of the result's type; the new block takes the place of the old one.

        %y = npu.convert %a : !npu.block<2x4xf32> -> !npu.block<2x4xbf16>
    """

    name = "npu.convert"

    block = operand_def(BlockType)
    result = result_def(BlockType)

    assembly_format = "$block attr-dict `:` type($block) `->` type($result)"

    def __init__(self, block: SSAValue, element: Attribute):
        shape = cast(BlockType, block.type).get_shape()
        super().__init__(operands=[block], result_types=[BlockType(shape, element)])

    def verify_(self) -> None:
        """The shape stays; sums become elements, as wide as the accumulators say."""
        own, new = cast(BlockType, self.block.type), self.result.type
        if own.get_shape() != new.get_shape():
            raise VerifyException(f"expected a block of the shape of {own}, got {new}")
        check_sum(self, own.element_type, new.element_type)


def check_sum(op: Operation, own: Attribute, result: Attribute) -> None:
    """Raise unless elements of the type `own` are partial sums of results of a type."""
    if not is_sum(own, result, op):
        bits = widths_of(op).accumulator_bits
        raise VerifyException(f"partial sums of {result} in {bits}-bit accumulators are no {own}")
