"""The text of operations that read a block: `npu.load` from a tensor, `npu.fetch` from a block further out."""

from __future__ import annotations

from typing import TypeVar

from xdsl.dialects.builtin import UnitAttr, i1
from xdsl.ir import SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer

from npuc.dialects.npu.attrs import MapAttr
from npuc.dialects.npu.tiles.box import BoxOp, parse_box, parse_place, parse_type_list, print_place, print_types

Read = TypeVar("Read", bound=BoxOp)


def parse_read(kind: type[Read], parser: Parser) -> Read:
    """An operation of a kind, after its name."""
    partial = parser.parse_optional_keyword("partial") is not None
    source, map_ = parse_place(parser)
    box, indices = parse_box(parser)
    when = None
    if parser.parse_optional_keyword("when"):
        when = parser.resolve_operand(parser.parse_unresolved_operand(), i1)
    attributes = parser.parse_optional_attr_dict()
    types, start = parse_type_list(parser)
    parser.parse_punctuation("->")
    result = parser.parse_type()
    (value,) = parser.resolve_operands([source], types, start)
    return kind.build(
        operands=[value, when, indices],
        result_types=[result],
        properties={"map": map_, "box": box, "partial": UnitAttr() if partial else None},
        attributes=attributes,
    )


def print_read(
    op: BoxOp, printer: Printer, source: SSAValue, map_: MapAttr, when: SSAValue | None, *, partial: bool
) -> None:
    """What follows the name of an operation that reads from `source`."""
    printer.print_string(" partial " if partial else " ")
    print_place(printer, source, map_)
    op.print_box(printer)
    if when is not None:
        printer.print_string(" when ")
        printer.print_operand(when)
    printer.print_op_attributes(op.attributes)
    print_types(printer, [source])
    printer.print_string(" -> ")
    printer.print_attribute(op.results[0].type)
