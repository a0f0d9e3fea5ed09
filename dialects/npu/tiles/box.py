"""
Boxes of iterations, on which operations of the tile level work, and their syntax.

A box (`over`) gives the range of each dimension: `m = %m : 2 in 6` are at most two indices, starting at %m, that are
below 6; offset and limit are operands or numbers.
"""

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import IndexType, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, base, prop_def, var_operand_def
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.npu.attrs import BlockType, BoxAttr, MapAttr, Range, parse_ranges
from npuc.dialects.npu.footprint import block_shape
from npuc.dialects.npu.nest import MAX_POSITIONS, Axis
from npuc.dialects.npu.syntax import parse_map, print_map

_INDEX = IndexType()


class BoxOp(IRDLOperation):
    """Base of the operations that work on a box."""

    box_attr = prop_def(BoxAttr, prop_name="box")
    indices = var_operand_def(base(IndexType))

    def verify_(self) -> None:
        """
        Every dimension stands in the box once, with an extent of at least 1 and numbers of 64 bits; it takes as many
        indices as it names.
        """
        ranges = self.box_attr.data
        names = [r.dim for r in ranges]
        for name in sorted({n for n in names if names.count(n) > 1}):
            raise VerifyException(f"dimension {name} is in the box twice")
        for r in ranges:
            if r.extent < 1:
                raise VerifyException(f"extent of {r.dim} is {r.extent}, expected at least 1")
            for number in (r.offset, r.extent, r.limit):
                if number is not None and abs(number) >= 1 << 63:
                    raise VerifyException(f"the range of {r.dim} has the number {number:,}, an index has 64 bits")
        if len(self.indices) != self.box_attr.operands:
            raise VerifyException(f"the box takes {self.box_attr.operands} indices, got {len(self.indices)}")

    def check_map(self, axes: Sequence[Axis], value: SSAValue) -> None:
        """Raise unless the index map fits the rank of `value` and uses dimensions of the box only."""
        known = self.box_attr.extents
        for axis in axes:
            for dim in axis.dims:
                if dim not in known:
                    raise VerifyException(f"unknown dimension '{dim}', the box has {', '.join(known)}")
            if not axis.is_plain and max(span := axis.span(known), abs(axis.offset)) > MAX_POSITIONS:
                far = f"{span:,} positions from {axis.offset:,} on"
                raise VerifyException(f"index {axis} reaches {far}, expected at most {MAX_POSITIONS:,}")
        if len(axes) != len(shape_of(value)):
            raise VerifyException(f"the map has {len(axes)} indices, its value is {value.type}")

    def check_block(self, axes: Sequence[Axis], tensor: SSAValue, block: SSAValue) -> None:
        """Raise unless `block` has the shape and the element type of a block of `tensor`, which may be one, too."""
        self.check_map(axes, tensor)
        room = block_shape(axes, shape_of(tensor), self.box_attr.extents)
        element = cast(TensorType[Attribute] | BlockType, tensor.type).element_type
        expected = BlockType(room, element)
        if block.type != expected:
            raise VerifyException(f"expected {expected}, got {block.type}")

    def print_box(self, printer: Printer) -> None:
        """Print ` over (m = %m : 2 in 6)`."""
        given = iter(self.indices)

        def print_range(r: Range) -> None:
            printer.print_string(f"{r.dim} = ")
            print_number(r.offset)
            printer.print_string(f" : {r.extent}")
            if r.limited:
                printer.print_string(" in ")
                print_number(r.limit)

        def print_number(number: int | None) -> None:
            if number is None:
                printer.print_operand(next(given))
            else:
                printer.print_string(str(number))

        printer.print_string(" over ")
        with printer.in_parens():
            printer.print_list(self.box_attr.data, print_range)


def parse_box(parser: Parser) -> tuple[BoxAttr, list[SSAValue]]:
    """Parse `over (m = %m : 2 in 6)`: the box and its operands."""
    operands: list[SSAValue] = []

    def parse_number() -> int | None:
        operand = parser.parse_optional_unresolved_operand()
        if operand is None:
            return parser.parse_integer(allow_boolean=False)
        operands.append(parser.resolve_operand(operand, _INDEX))
        return None

    parser.parse_keyword("over")
    return BoxAttr(parse_ranges(parser, parse_number)), operands


def parse_place(parser: Parser) -> tuple[UnresolvedOperand, MapAttr]:
    """Parse `%x[m, k]`."""
    return parser.parse_unresolved_operand(), MapAttr(parse_map(parser, None))


def print_place(printer: Printer, value: SSAValue, axes: MapAttr) -> None:
    """Print `%x[m, k]`."""
    printer.print_operand(value)
    print_map(printer, axes.data)


def parse_type_list(parser: Parser) -> tuple[list[Attribute], int]:
    """Parse `: type, type`; returns the types and the position of the first."""
    parser.parse_punctuation(":")
    start = parser.pos
    return list(parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)), start


def print_types(printer: Printer, values: Sequence[SSAValue]) -> None:
    """Print ` : type, type`."""
    printer.print_string(" : ")
    printer.print_list((value.type for value in values), printer.print_attribute)


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The shape of a tensor or a block."""
    type_ = value.type
    return type_.get_shape() if isinstance(type_, BlockType) else cast(TensorType[Attribute], type_).get_shape()
