"""
Sparse tensors by their elements: `!npu.sparse<f32, 1/10, csr<512>>` is a value of which one in ten is kept, in CSR.

The type says what is stored, not what is computed: a tensor of it has its dense shape, and the interpreter holds its
zeros. `dense_element` is what a multiplier takes of it. Densities are exact; how many values are there is counted when
a program runs.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Final

from xdsl.dialects.builtin import AnyFloat, IntAttr, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.blockfloat import BlockFloatType
from npuc.dialects.sparse_formats import SparseFormat, Structured, parse_sparse_format

DENSE: Final = Fraction(1)
"""The density of a type that says none."""


@irdl_attr_definition
class SparseType(ParametrizedAttribute, TypeAttribute):
    """
    An element of a sparse tensor: the type of a value, the share of values that are kept, the format they are kept in.

        !npu.sparse<f32, 1/10, csr<512>>
        !npu.sparse<!npu.bfp<4, 16, 3>, 1/2, nm<2, 4, 0>>
    """

    name = "npu.sparse"

    element: Attribute
    kept: IntAttr
    of: IntAttr
    format_name: StringAttr

    def __init__(self, element: Attribute, density: Fraction, format: SparseFormat):
        super().__init__(element, IntAttr(density.numerator), IntAttr(density.denominator), StringAttr(str(format)))

    @property
    def density(self) -> Fraction:
        """The share of elements that are kept, above 0 and at most 1."""
        return Fraction(self.kept.data, self.of.data)

    @property
    def format(self) -> SparseFormat:
        """How they are stored."""
        return parse_sparse_format(self.format_name.data)

    def bits(self, value_bits: Fraction | int) -> Fraction:
        """The average bits of an element of the dense shape where a value takes so many; metadata is included."""
        return self.format.bits(value_bits, self.density)

    def verify(self) -> None:
        if not isinstance(self.element, AnyFloat | BlockFloatType):
            raise VerifyException(f"values of a sparse type are {self.element}, expected a float or !npu.bfp")
        if self.of.data < 1 or not 0 < self.density <= 1:
            raise VerifyException(
                f"density of a sparse type is {self.kept.data}/{self.of.data}, expected above 0 and at most 1"
            )
        if self.density.denominator != self.of.data:
            raise VerifyException(f"density of a sparse type is not in lowest terms, expected {self.density}")
        format = self._checked_format()
        if isinstance(format, Structured) and format.density != self.density:
            raise VerifyException(f"density of a sparse type is {self.density}, {format} keeps {format.density}")

    def _checked_format(self) -> SparseFormat:
        try:
            return self.format
        except ValueError as wrong:
            raise VerifyException(str(wrong)) from None

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            element = parser.parse_type()
            parser.parse_punctuation(",")
            kept, of = _parse_density(parser)
            parser.parse_punctuation(",")
            format = _parse_format(parser)
        return element, IntAttr(kept), IntAttr(of), StringAttr(str(format))

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.element)
            printer.print_string(f", {self.density}, {self.format}")


def _parse_density(parser: AttrParser) -> tuple[int, int]:
    """Parse `1/10` in lowest terms or not, or a whole number; the type then has it in lowest terms."""
    start = parser.pos
    kept = parser.parse_integer(allow_boolean=False, allow_negative=False)
    of = 1
    if parser.parse_optional_punctuation("/") is not None:
        of = parser.parse_integer(allow_boolean=False, allow_negative=False)
    if of < 1:
        parser.raise_error("a density is not divided by zero", start, parser.pos)
    density = Fraction(kept, of)
    return density.numerator, density.denominator


def _parse_format(parser: AttrParser) -> SparseFormat:
    """Parse `bitmap`, `csr<512>`, `nm<2, 4, 0, indices>`."""
    start = parser.pos
    text = parser.parse_identifier(" of a format")

    def word() -> str:
        number = parser.parse_optional_integer(allow_boolean=False, allow_negative=False)
        return parser.parse_identifier(" or a number") if number is None else str(number)

    words = parser.parse_optional_comma_separated_list(parser.Delimiter.ANGLE, word)
    if words is not None:
        text = f"{text}<{', '.join(words)}>"
    try:
        return parse_sparse_format(text)
    except ValueError as wrong:
        parser.raise_error(str(wrong), start, parser.pos)


def dense_element(element: Attribute) -> Attribute:
    """The type of a value: of a sparse type that of its values, any other type itself."""
    return element.element if isinstance(element, SparseType) else element


def density_of(element: Attribute) -> Fraction:
    """The share of values that a type says are kept: 1 of all but sparse types."""
    return element.density if isinstance(element, SparseType) else DENSE


@lru_cache(maxsize=1024)
def sparse_type(element: Attribute, density: Fraction, format: SparseFormat) -> SparseType:
    """The shared type of values of `element`."""
    return SparseType(element, density, format)
