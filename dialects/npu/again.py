"""
What vector work reads twice: `again [0, 1] groups 32 beside [2]`.

A normalisation reads its operand for the statistics of each group, and again to normalise it. What a group needs comes
from DRAM once where it stays in SPM in between; else it comes twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Data, SSAValue
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException


@dataclass(frozen=True)
class Again:
    """
    Operands, by number, that are read a second time once the statistics of the first are known.

    Each of the `groups`, neighbours in memory and equally large, has statistics of its own: what is read twice comes
    from DRAM once where one group of it stays in SPM meanwhile, beside all of the operands `beside`, which every group
    uses.
    """

    operands: tuple[int, ...]
    groups: int = 1
    beside: tuple[int, ...] = ()

    def __str__(self) -> str:
        beside = f" beside {list(self.beside)}" if self.beside else ""
        return f"again {list(self.operands)} groups {self.groups}{beside}"


def parse_again(parser: AttrParser) -> Again | None:
    """Parse `again [0, 1] groups 32 beside [2]`; None if it is not there."""
    if parser.parse_optional_keyword("again") is None:
        return None
    operands = _parse_numbers(parser)
    parser.parse_keyword("groups")
    groups = parser.parse_integer(allow_boolean=False)
    beside = _parse_numbers(parser) if parser.parse_optional_keyword("beside") else ()
    return Again(operands, groups, beside)


def _parse_numbers(parser: AttrParser) -> tuple[int, ...]:
    return tuple(
        parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parser.parse_integer(allow_boolean=False))
    )


@irdl_attr_definition
class AgainAttr(Data[Again]):
    """What vector work reads twice: `#npu.again<again [0] groups 32>`."""

    name = "npu.again"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Again:
        with parser.in_angle_brackets():
            again = parse_again(parser)
            return again if again is not None else parser.raise_error("expected 'again'")

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(str(self.data))


def check_again(again: Again, operands: Sequence[SSAValue], reads: Sequence[int] | None) -> None:
    """Raise `VerifyException` for operands that there are not, or that have no such groups; `reads` are elements."""
    numbers = (*again.operands, *again.beside)
    if not again.operands or len(set(numbers)) < len(numbers) or not {*numbers} <= {*range(len(operands))}:
        raise VerifyException(
            f"found '{again}', expected numbers of operands, each once and below {len(operands)}, and one or more "
            "that are read again"
        )
    for number in again.operands:
        whole = prod(cast("TensorType[Attribute]", operands[number].type).get_shape())
        if again.groups < 1 or whole % again.groups:
            raise VerifyException(f"groups is {again.groups}, expected a divisor of the {whole} elements of in{number}")
        if reads is not None and reads[number] != whole:
            raise VerifyException(
                f"in{number} is read again, but only {reads[number]} of its {whole} elements are read"
            )
