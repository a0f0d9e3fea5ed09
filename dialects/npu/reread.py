"""
Operands that vector work reads in two passes: `again [0, 1] groups 32 beside [2]`.

A normalisation reads its operand for the statistics of each group, and once more to normalise it. A group that is kept
in SPM between the two passes is read from DRAM once, any other is reread.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Data, SSAValue
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from npuc.compiler.core.frozen import frozen


@frozen
class Reread:
    """
    The operands, by number, of a second pass, which needs statistics from the first.

    Each of the `groups`, contiguous and of equal size, has statistics of its own: the operands are read from DRAM once
    if one group of them fits in SPM together with all of the operands `beside`, which every group uses.
    """

    operands: tuple[int, ...]
    groups: int = 1
    beside: tuple[int, ...] = ()

    def __str__(self) -> str:
        beside = f" beside {list(self.beside)}" if self.beside else ""
        return f"again {list(self.operands)} groups {self.groups}{beside}"


def parse_reread(parser: AttrParser) -> Reread | None:
    """Parse an optional `again [0, 1] groups 32 beside [2]`; None where there is none."""
    if parser.parse_optional_keyword("again") is None:
        return None
    operands = _parse_numbers(parser)
    parser.parse_keyword("groups")
    groups = parser.parse_integer(allow_boolean=False)
    beside = _parse_numbers(parser) if parser.parse_optional_keyword("beside") else ()
    return Reread(operands, groups, beside)


def _parse_numbers(parser: AttrParser) -> tuple[int, ...]:
    return tuple(
        parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parser.parse_integer(allow_boolean=False))
    )


@irdl_attr_definition
class RereadAttr(Data[Reread]):
    """The operands that vector work reads in two passes: `#npu.again<again [0] groups 32>`."""

    name = "npu.again"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Reread:
        with parser.in_angle_brackets():
            reread = parse_reread(parser)
            return reread if reread is not None else parser.raise_error("expected 'again'")

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(str(self.data))


def check_reread(reread: Reread, operands: Sequence[SSAValue], reads: Sequence[int] | None) -> None:
    """Raise for operand numbers that do not exist, or groups that do not divide them; `reads` are elements read."""
    numbers = (*reread.operands, *reread.beside)
    if not reread.operands or len(set(numbers)) < len(numbers) or not {*numbers} <= {*range(len(operands))}:
        raise VerifyException(
            f"found '{reread}', expected numbers of operands, each once and below {len(operands)}, and one or more "
            "that are read again"
        )
    for number in reread.operands:
        whole = prod(cast("TensorType[Attribute]", operands[number].type).get_shape())
        if reread.groups < 1 or whole % reread.groups:
            raise VerifyException(
                f"groups is {reread.groups}, expected a divisor of the {whole} elements of in{number}"
            )
        if reads is not None and reads[number] != whole:
            raise VerifyException(
                f"in{number} is read again, but only {reads[number]} of its {whole} elements are read"
            )
