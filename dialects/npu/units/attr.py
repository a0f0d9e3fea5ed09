"""The attribute of an assignment, and what it has to agree with."""

from collections.abc import Mapping
from functools import lru_cache
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr
from xdsl.ir import Attribute, Data, Operation
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.npu.nest import Nest
from npuc.dialects.npu.units.assignment import AXES, UNITS, Assignment, UnitAxis, UnitPart

UNITS_OF = "units"
"""The property of a contraction that says on which units it runs."""


@irdl_attr_definition
class UnitsAttr(Data[Assignment]):
    """The units that a contraction runs on: `#npu.units<n [eie : 352, matraptor : 160] stage 3>`."""

    name = "npu.units"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Assignment:
        def part() -> UnitPart:
            unit = parser.parse_optional_str_literal() or parser.parse_identifier(" of a unit")
            parser.parse_punctuation(":")
            return UnitPart(unit, parser.parse_integer(allow_boolean=False))

        with parser.in_angle_brackets():
            axis: UnitAxis | None = next((one for one in AXES if parser.parse_optional_keyword(one)), None)
            parts = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, part, " in units")
            stage = None
            if parser.parse_optional_keyword("stage"):
                stage = parser.parse_integer(allow_boolean=False)
        return Assignment(axis, tuple(parts), stage)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            own = self.data
            printer.print_string("" if own.axis is None else f"{own.axis} ")
            with printer.in_square_brackets():
                printer.print_list(own.parts, lambda part: _print_part(printer, part))
            printer.print_string("" if own.stage is None else f" stage {own.stage}")


def _print_part(printer: Printer, part: UnitPart) -> None:
    """A name as it stands where it is an identifier, else as a string."""
    if part.unit.isascii() and part.unit.isidentifier() and part.unit not in ("true", "false"):
        printer.print_string(part.unit)
    else:
        printer.print_string_literal(part.unit)
    printer.print_string(f" : {part.size}")


def taken_units(parser: AttrParser, attributes: dict[str, Attribute], before: int) -> dict[str, Attribute]:
    """Take the units out of a dictionary of attributes, as a property; nothing where there are none."""
    found = attributes.pop(UNITS_OF, None)
    if found is None:
        return {}
    if not isinstance(found, UnitsAttr):
        parser.raise_error(f"{UNITS_OF} is {found}, expected #npu.units", before)
    return {UNITS_OF: found}


@lru_cache(maxsize=4096)
def _problem(nest: Nest, assignment: Assignment) -> str | None:
    return next(assignment.problems(nest), None)


def check_units(op: Operation, nest: Nest, attr: UnitsAttr, others: Mapping[str, Attribute | None]) -> None:
    """Raise for units that do not have each part once, that the machine lacks, or beside what says how it runs."""
    problem = _problem(nest, attr.data)
    if problem is not None:
        raise VerifyException(f"units: {problem}")
    for name, other in others.items():
        if other is not None:
            raise VerifyException(f"units have buffers and orders of their own: no {name} beside them")
    known = _names(op)
    missing = None if known is None else attr.data.unknown(known)
    if known is not None and missing is not None:
        raise VerifyException(f"units: the machine has no unit '{missing}', it has {', '.join(known)}")


def _names(op: Operation) -> list[str] | None:
    """The units of the machine that an operation is compiled for; None where nothing says them."""
    around: Operation | None = op
    while around is not None:
        told = around.attributes.get(UNITS)
        rows = told.data.get(UNITS_OF) if isinstance(told, DictionaryAttr) else None
        if isinstance(rows, ArrayAttr):
            entries = [row for row in cast("ArrayAttr[Attribute]", rows) if isinstance(row, DictionaryAttr)]
            names = [row.data.get("name") for row in entries]
            return [name.data for name in names if isinstance(name, StringAttr)]
        around = around.parent_op()
    return None
