"""Formats as users write them."""

from fractions import Fraction

import pytest

from npuc.dialects.formats import F8E4M3, F8E5M2, INT8, BlockFloat, NumberFormat, ScaledInteger, parse_format


@pytest.mark.parametrize(
    ("name", "fmt", "bits", "mantissa"),
    [
        ("bfp<4, 16, 3>", BlockFloat(4, 16, 3), Fraction(83, 16), 4),
        ("bfp<2,16,3>", BlockFloat(2, 16, 3), Fraction(51, 16), 2),
        (" bfp< 24 ,4096, 8 > ", BlockFloat(24, 4096, 8), 25 + Fraction(1, 512), 24),
        ("f8e4m3", F8E4M3, 8, 4),
        ("f8e5m2", F8E5M2, 8, 3),
        ("int8", INT8, 8, 8),
        ("int4", ScaledInteger(4), 4, 4),
    ],
)
def test_names(name: str, fmt: NumberFormat, bits: Fraction, mantissa: int) -> None:
    assert parse_format(name) == fmt
    assert (fmt.bits, fmt.mantissa_bits) == (bits, mantissa)
    assert parse_format(str(fmt)) == fmt


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bfp<0, 16, 3>", "the mantissa of bfp<0, 16, 3>, in bits, is 1 to 24, got 0"),
        ("bfp<25, 16, 3>", "the mantissa of bfp<25, 16, 3>, in bits, is 1 to 24, got 25"),
        ("bfp<4, 0, 3>", "the group of bfp<4, 0, 3>, in values, is 1 to 4096, got 0"),
        ("bfp<4, 4097, 3>", "the group of bfp<4, 4097, 3>, in values, is 1 to 4096, got 4097"),
        ("bfp<4, 16, 9>", "the exponent of bfp<4, 16, 9>, in bits, is 1 to 8, got 9"),
        ("int1", "the width of int1, in bits, is 2 to 8, got 1"),
        ("int9", "the width of int9, in bits, is 2 to 8, got 9"),
        ("bfp<4, 16>", "'bfp<4, 16>' is no block floating point: it is written bfp<m, g, e>, in whole numbers"),
        ("bfp<4, 16, x>", "'bfp<4, 16, x>' is no block floating point: it is written bfp<m, g, e>, in whole numbers"),
        ("bfp<٤, 16, 3>", "'bfp<٤, 16, 3>' is no block floating point: it is written bfp<m, g, e>, in whole numbers"),
        ("f8e3m4", "unknown format 'f8e3m4'; known: bfp<m, g, e>, f8e4m3, f8e5m2, int8"),
        ("", "unknown format ''; known: bfp<m, g, e>, f8e4m3, f8e5m2, int8"),
        ("int" + "8" * 5000, f"unknown format 'int{'8' * 5000}'; known: bfp<m, g, e>, f8e4m3, f8e5m2, int8"),
    ],
)
def test_wrong_names(name: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        parse_format(name)
    assert str(caught.value) == message
