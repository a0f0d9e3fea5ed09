"""
Block floating point as an element type: a group of values shares an exponent, each has a sign and a mantissa.

`!npu.bfp<m, g, e>` is a mantissa of m bits, groups of g values, an exponent of e bits for each group, as in FAST
(Zhang, McDanel and Kung, HPCA 2022, arXiv 2110.15456). A value takes m + 1 bits and its share of the exponent:
m + 1 + e/g, a fraction where g does not divide e. `mantissa_bits` says of every element type what a multiplier has to
take of it.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Final, cast

from xdsl.dialects.builtin import AnyFloat, IntAttr, IntegerType, ReducedPrecisionFloatType
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.formats import EXPONENT, GROUP, MANTISSA, BlockFloat

LIMITS: Final = {"mantissa": MANTISSA, "group": GROUP, "exponent": EXPONENT}
"""The least and the largest value of each parameter of the type."""
SIGNIFICANDS: Final = {"f16": 11, "bf16": 8, "tf32": 11, "f32": 24, "f64": 53, "f80": 64, "f128": 113}
"""The bits of a significand, its leading one included, of the floats of IEEE 754 and of those that are like them."""


@irdl_attr_definition
class BlockFloatType(ParametrizedAttribute, TypeAttribute):
    """
    A number of a group that shares an exponent, written `!npu.bfp<4, 16, 3>`: bits of the mantissa, values in a group,
    bits of the exponent that a group shares.
    """

    name = "npu.bfp"

    mantissa: IntAttr
    group: IntAttr
    exponent: IntAttr

    def __init__(self, mantissa: int, group: int, exponent: int):
        super().__init__(IntAttr(mantissa), IntAttr(group), IntAttr(exponent))

    @property
    def mantissa_bits(self) -> int:
        """The bits of a value's magnitude; its sign is one more."""
        return self.mantissa.data

    @property
    def bits(self) -> Fraction:
        """The bits of a value: its sign, its mantissa, and its share of the exponent of its group."""
        return self.format.bits

    @property
    def format(self) -> BlockFloat:
        """The values that there are, to round to."""
        return BlockFloat(self.mantissa.data, self.group.data, self.exponent.data)

    def verify(self) -> None:
        for name, (least, most) in LIMITS.items():
            value = cast(IntAttr, getattr(self, name)).data
            if not least <= value <= most:
                raise VerifyException(f"{name} of a block floating-point type is {value}, expected {least} to {most}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        values: list[IntAttr] = []
        with parser.in_angle_brackets():
            for place in range(len(LIMITS)):
                if place:
                    parser.parse_punctuation(",")
                values.append(IntAttr(parser.parse_integer(allow_boolean=False)))
        return values

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.mantissa.data}, {self.group.data}, {self.exponent.data}")


def mantissa_bits(element: Attribute) -> int:
    """
    The bits that a multiplier takes of an element: a float's significand with its leading one, all bits of an integer.

    Of block floating point the mantissa, which has no leading one of its own. Other types, indices, take 64 bits.
    """
    if isinstance(element, BlockFloatType):
        return element.mantissa_bits
    if isinstance(element, ReducedPrecisionFloatType):
        return element.SEMANTICS.mantissa_bits + 1
    if isinstance(element, AnyFloat):
        return SIGNIFICANDS[str(element)]
    return cast(IntegerType, element).width.data if isinstance(element, IntegerType) else 64
