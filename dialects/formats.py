"""
Number formats of quantised training: block floating point, floats of eight bits, scaled integers.

A format says which values there are and what they take in bits; `npuc.compiler.layers` rounds to them. Sources: block
floating point of Zhang, McDanel and Kung, "FAST: DNN training under variable precision block floating point with
stochastic rounding", HPCA 2022; the two floats of Micikevicius et al., "FP8 formats for deep learning", 2022 (arXiv
2209.05433).
"""

import re
from fractions import Fraction
from typing import TypeAlias

from npuc.compiler.core.frozen import frozen

MANTISSA = (1, 24)
GROUP = (1, 4096)
EXPONENT = (1, 8)
INTEGER = (2, 8)
"""The least and the greatest of each parameter of a format."""


def _check(what: str, value: int, limits: tuple[int, int]) -> None:
    least, most = limits
    if not least <= value <= most:
        raise ValueError(f"{what} is {least} to {most}, got {value}")


@frozen
class BlockFloat:
    """
    Block floating point: a sign and `mantissa` bits a value, and an exponent of `exponent` bits for `group` values.

    With the shared exponent E the values are the multiples -(2^m - 1) … 2^m - 1 of 2^(E + 1 - m): no bit is hidden.
    """

    mantissa: int
    group: int
    exponent: int

    def __post_init__(self) -> None:
        """Refuse parameters out of range with a ValueError."""
        _check(f"the mantissa of {self}, in bits,", self.mantissa, MANTISSA)
        _check(f"the group of {self}, in values,", self.group, GROUP)
        _check(f"the exponent of {self}, in bits,", self.exponent, EXPONENT)

    def __str__(self) -> str:
        return f"bfp<{self.mantissa}, {self.group}, {self.exponent}>"

    @property
    def bits(self) -> Fraction:
        """The bits of a value: sign, mantissa, and its part of the shared exponent."""
        return self.mantissa + 1 + Fraction(self.exponent, self.group)

    @property
    def mantissa_bits(self) -> int:
        """The bits that a multiplier takes of a value, in chunks."""
        return self.mantissa


@frozen
class SmallFloat:
    """
    A float of eight bits: a sign, `exponent` bits biased by half their range, `fraction` bits behind the hidden one.

    `largest` is the largest finite value. Of e4m3 the code with all exponent and fraction bits set is NaN, and all
    others are finite; e5m2 has infinities and NaN as IEEE 754 has them.
    """

    exponent: int
    fraction: int
    largest: float

    def __str__(self) -> str:
        return f"f8e{self.exponent}m{self.fraction}"

    @property
    def bias(self) -> int:
        """What is subtracted from the exponent bits of a normal value."""
        return 2 ** (self.exponent - 1) - 1

    @property
    def least_normal_exponent(self) -> int:
        """The exponent of the smallest normal value; the subnormal ones below are spaced as those of this exponent."""
        return 1 - self.bias

    @property
    def bits(self) -> Fraction:
        """The bits of a value."""
        return Fraction(1 + self.exponent + self.fraction)

    @property
    def mantissa_bits(self) -> int:
        """The bits that a multiplier takes of a value, in chunks: the fraction and the hidden bit."""
        return self.fraction + 1


@frozen
class ScaledInteger:
    """Integers of two's complement with one scale a tensor, symmetric: -(2^(bits - 1) - 1) … 2^(bits - 1) - 1."""

    width: int = 8

    def __post_init__(self) -> None:
        """Refuse widths out of range with a ValueError."""
        _check(f"the width of {self}, in bits,", self.width, INTEGER)

    def __str__(self) -> str:
        return f"int{self.width}"

    @property
    def largest(self) -> int:
        """The largest code; the smallest one is its negative."""
        return 2 ** (self.width - 1) - 1

    @property
    def bits(self) -> Fraction:
        """The bits of a value."""
        return Fraction(self.width)

    @property
    def mantissa_bits(self) -> int:
        """The bits that a multiplier takes of a value, in chunks."""
        return self.width


NumberFormat: TypeAlias = BlockFloat | SmallFloat | ScaledInteger

F8E4M3 = SmallFloat(exponent=4, fraction=3, largest=448.0)
F8E5M2 = SmallFloat(exponent=5, fraction=2, largest=57344.0)
INT8 = ScaledInteger(8)
NAMES = ("bfp<m, g, e>", str(F8E4M3), str(F8E5M2), str(INT8))
"""The formats as users write them."""


def parse_format(name: str) -> NumberFormat:
    """
    The format that a user has named: `bfp<4, 16, 3>`, `f8e4m3`, `f8e5m2`, `int8` (or fewer bits). Spaces count nothing.

    A ValueError says what is wrong with another name.
    """
    squeezed = "".join(name.split())
    for known in (F8E4M3, F8E5M2):
        if squeezed == str(known):
            return known
    if found := re.fullmatch(r"int([0-9]{1,9})", squeezed):
        return ScaledInteger(int(found[1]))
    if found := re.fullmatch(r"bfp<([0-9]{1,9}),([0-9]{1,9}),([0-9]{1,9})>", squeezed):
        return BlockFloat(*map(int, found.groups()))
    if squeezed.startswith("bfp"):
        raise ValueError(f"'{name}' is no block floating point: it is written bfp<m, g, e>, in whole numbers")
    raise ValueError(f"unknown format '{name}'; known: {', '.join(NAMES)}")
