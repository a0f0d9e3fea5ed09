"""
The number formats once more, value by value in exact fractions: what the vectorised rounding is compared with.

Nothing here is shared with `compiler/layers`: floats of eight bits are found in the list of all codes, exponents by the
lengths of integers, and random numbers by Philox on Python's integers.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache

import numpy as np
import numpy.typing as npt

from npuc.dialects.formats import BlockFloat, ScaledInteger, SmallFloat

Draw = Callable[[int], Fraction | None]
"""The random number of a place, or None: to the nearest."""

_MASK = 2**64 - 1


def to_nearest(place: int) -> None:
    """No random number anywhere."""


def draw_of(seed: int) -> Draw:
    """The random number in [0, 1) of a place, in steps of 2^-24: four words a block, two numbers a word."""

    def draw(place: int) -> Fraction:
        word = _philox(place // 8 + 1, seed % 2**64, int.from_bytes(b"rounding", "big"))[place % 8 // 2]
        half = word >> 32 if place % 2 else word & 0xFFFFFFFF
        return Fraction(half // 256, 2**24)

    return draw


def _philox(counter: int, key0: int, key1: int) -> tuple[int, int, int, int]:
    """Philox4x64-10 (Salmon et al., SC 2011)."""
    a, b, c, d = counter, 0, 0, 0
    for _ in range(10):
        first, second = 0xD2E7470EE14C6C93 * a, 0xCA5A826395121157 * c
        a, b, c, d = second >> 64 ^ b ^ key0, second & _MASK, first >> 64 ^ d ^ key1, first & _MASK
        key0, key1 = key0 + 0x9E3779B97F4A7C15 & _MASK, key1 + 0xBB67AE8584CAA73B & _MASK
    return a, b, c, d


def integer_of(t: Fraction, u: Fraction | None) -> int:
    """A non-negative fraction as an integer: floor(t + u), or the nearest with ties to even."""
    if u is not None:
        return math.floor(t + u)
    whole, rest = divmod(t, 1)
    return int(whole) + (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2 == 1))


def floor_log2(value: Fraction) -> int:
    """The largest k with 2^k <= value."""
    k = value.numerator.bit_length() - value.denominator.bit_length()
    return k if Fraction(2) ** k <= value else k - 1


def signed(magnitude: Fraction, x: float) -> float:
    return math.copysign(float(magnitude), x)


def exact_blocks(x: npt.NDArray[np.floating], fmt: BlockFloat, axis: int, draw: Draw) -> list[float]:
    """A tensor in block floating point, row by row."""
    smallest = Fraction(2) ** (-149 if x.dtype == np.float32 else -1074)
    finite = [abs(Fraction(v)) for v in map(float, x.flat) if math.isfinite(v) and v]
    top = floor_log2(max(finite)) if finite else (127 if x.dtype == np.float32 else 1023)
    places = np.moveaxis(np.arange(x.size).reshape(x.shape), axis, -1).reshape(-1, x.shape[axis])
    values, result = [float(v) for v in x.flat], [0.0] * x.size
    for row in places.tolist():
        for start in range(0, len(row), fmt.group):
            members = row[start : start + fmt.group]
            rounded = _group([values[i] for i in members], fmt, (top, smallest), [draw(i) for i in members])
            for i, value in zip(members, rounded, strict=True):
                result[i] = value
    return result


def _group(
    values: Sequence[float], fmt: BlockFloat, limits: tuple[int, Fraction], draws: Sequence[Fraction | None]
) -> list[float]:
    """One group; all results are multiples of the smallest number of the type, as are all values."""
    top, smallest = limits
    if any(map(math.isnan, values)):
        return [math.nan] * len(values)
    least = top - 2**fmt.exponent + 1
    if any(map(math.isinf, values)):
        exponent = top
    else:
        peak = max(abs(Fraction(v)) for v in values)
        exponent = max(floor_log2(peak), least) if peak else least
    step, most = Fraction(2) ** (exponent + 1 - fmt.mantissa), 2**fmt.mantissa - 1
    found: list[float] = []
    for value, u in zip(values, draws, strict=True):
        q = most if math.isinf(value) else min(most, integer_of(abs(Fraction(value)) / step, u))
        found.append(signed(q * step // smallest * smallest, value))
    return found


@cache
def all_values(fmt: SmallFloat) -> list[Fraction]:
    """The finite values of the codes 0, 1, 2 … without sign, which rise with the code."""
    exponents, fractions, bias = {"f8e4m3": (16, 8, 7), "f8e5m2": (31, 4, 15)}[str(fmt)]
    values: list[Fraction] = []
    for e in range(exponents):
        for f in range(fractions):
            hidden, power = (1, e - bias) if e else (0, 1 - bias)
            values.append((hidden + Fraction(f, fractions)) * Fraction(2) ** power)
    return values[:-1] if str(fmt) == "f8e4m3" else values


def exact_code(x: Fraction, fmt: SmallFloat, u: Fraction | None) -> int:
    """The code of a magnitude: of the two values beside it the nearer one, the even code of a tie, or by chance."""
    values = all_values(fmt)
    below = bisect_right(values, x) - 1
    if below == len(values) - 1:
        return below
    part = (x - values[below]) / (values[below + 1] - values[below])
    if u is None:
        return below + (part > Fraction(1, 2) or (part == Fraction(1, 2) and below % 2 == 1))
    return below + (part + u >= 1)


def exact_float8(x: float, fmt: SmallFloat, u: Fraction | None) -> float:
    """One value in a float of eight bits."""
    if math.isnan(x):
        return math.nan
    values = all_values(fmt)
    return signed(values[-1] if math.isinf(x) else values[exact_code(abs(Fraction(x)), fmt, u)], x)


def exact_scaled(x: float, fmt: SmallFloat | ScaledInteger, scale: float, u: Fraction | None) -> int:
    """The code of a number that is not NaN under a scale."""
    if isinstance(fmt, ScaledInteger):
        most = 2 ** (fmt.width - 1) - 1
        size = most if math.isinf(x) else min(most, integer_of(abs(Fraction(x)) / Fraction(scale), u))
        return -size if x < 0 else size
    most = len(all_values(fmt)) - 1
    code = most if math.isinf(x) else exact_code(abs(Fraction(x)) / Fraction(scale), fmt, u)
    return code + 128 * (math.copysign(1, x) < 0)
