"""
The reader of numbers in texts: ASCII digits with a sign, blanks around them as they come from a keyboard.

Python's `int` and `float` also take other digits, underscores and control characters, and fail on thousands of digits.
"""

import re
from fractions import Fraction
from math import inf

BLANKS = " \t\r\n"
DIGITS = 18
"""An integer of so many digits has 64 bits."""
_INTEGER = re.compile(r"[+-]?[0-9]+")
_REAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def is_integer(text: str) -> bool:
    """Whether a text is an integer, of any size."""
    return _INTEGER.fullmatch(text.strip(BLANKS)) is not None


def integer_of(text: str, digits: int = DIGITS) -> int | None:
    """The integer that a text is; None for another text, and for one of more than so many digits."""
    text = text.strip(BLANKS)
    if not is_integer(text) or len(text.lstrip("+-").lstrip("0")) > digits:
        return None
    sign = -1 if text[0] == "-" else 1
    return sign * int(text.lstrip("+-").lstrip("0") or "0")


def is_real(text: str) -> bool:
    """Whether a text is a number, with or without a fraction and an exponent."""
    return _REAL.fullmatch(text.strip(BLANKS)) is not None


def real_of(text: str) -> float | None:
    """The finite number that a text is; None for another text."""
    value = float(text.strip(BLANKS)) if is_real(text) else inf
    return value if abs(value) < inf else None


def as_written(value: float) -> Fraction:
    """The decimal number that was written."""
    return Fraction(repr(value))
