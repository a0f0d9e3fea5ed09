"""
Rounding to floats of eight bits, and their codes.

Values are rounded to the nearest, ties to even, or stochastically between their two neighbours; subnormal ones to
multiples of the smallest. Beyond the largest finite value they saturate, as infinities do, in both formats: training
saturates (Micikevicius et al., "FP8 formats for deep learning", 2022, section 5: arXiv 2209.05433). NaN stays NaN.
"""

import numpy as np
import numpy.typing as npt

from npuc.compiler.layers.base import Array
from npuc.compiler.layers.stochastic import Draws, Rounding, as_floats, draws_of, give_sign, in_chunks, round_in_place
from npuc.dialects.formats import SmallFloat

Codes = npt.NDArray[np.uint8]
NAN_CODE = np.uint8(0x7F)
"""NaN as it is written, in both formats; of e5m2 0x7D and 0x7E are read as NaN, too, and all with a sign."""


def round_to_float8(
    x: Array, fmt: SmallFloat, rounding: Rounding = "nearest", seed: int = 0, *, draws: Draws | None = None
) -> Array:
    """
    The values of a tensor in a float of eight bits, as float64 for float64, else float32.

    Part of a tensor is rounded stochastically as in the whole with the part of its `rounding_draws` as `draws`.
    """
    x = as_floats(x)
    draws = draws_of(x, rounding, seed, draws)
    return in_chunks(lambda part, numbers: round_part(part, fmt, numbers), x, draws, x.dtype)


def round_part(x: Array, fmt: SmallFloat, draws: Draws | None) -> Array:
    """A run of values rounded, stochastically if there are draws."""
    with np.errstate(invalid="ignore"):  # signalling NaNs
        return _rounded(x, fmt, draws)


def _rounded(x: Array, fmt: SmallFloat, draws: Draws | None) -> Array:
    magnitudes = np.clip(np.abs(x), 0, fmt.largest)
    steps = _powers(magnitudes)
    np.maximum(steps, 2.0**fmt.least_normal_exponent, out=steps)
    steps *= 2.0**-fmt.fraction
    magnitudes /= steps
    round_in_place(magnitudes, draws)
    magnitudes *= steps
    give_sign(magnitudes, x)
    return magnitudes


def _powers(magnitudes: Array) -> Array:
    """2^floor(log2 x) of each normal float by its exponent bits; 0 of subnormal ones, infinity of NaN."""
    word, mask = (np.uint32, 0x7F800000) if magnitudes.dtype == np.float32 else (np.uint64, 0x7FF0000000000000)
    return (magnitudes.view(word) & word(mask)).view(magnitudes.dtype)


def float8_codes(values: Array, fmt: SmallFloat) -> Codes:
    """The codes of values that are numbers of the format (infinities: of e5m2 alone), or NaN."""
    return in_chunks(lambda part, _: _codes(part, fmt), np.asarray(values, np.float32), None, np.uint8)


def _codes(values: Array, fmt: SmallFloat) -> Array:
    magnitudes = np.abs(values)
    # with the exponents of the small format, whose subnormal numbers become subnormal ones: the bits are the code's
    magnitudes *= np.float32(2.0 ** (fmt.bias - 127))
    codes = magnitudes.view(np.uint32) >> np.uint32(23 - fmt.fraction)
    if not np.isfinite(magnitudes).all():
        codes[np.isinf(values)] = ((1 << fmt.exponent) - 1) << fmt.fraction
        codes[np.isnan(values)] = NAN_CODE
    codes |= np.signbit(values).astype(np.uint32) << np.uint32(7)
    return codes


def float8_values(codes: Codes, fmt: SmallFloat) -> npt.NDArray[np.float32]:
    """The value of each code, as float32."""
    return np.array([_value_of(code, fmt) for code in range(256)], np.float32)[codes]


def _value_of(code: int, fmt: SmallFloat) -> float:
    """The value of one code, by its fields."""
    sign = -1.0 if code >> 7 else 1.0
    exponent, fraction = (code & 0x7F) >> fmt.fraction, code & ((1 << fmt.fraction) - 1)
    if exponent == 0:
        return sign * fraction * 2.0 ** (fmt.least_normal_exponent - fmt.fraction)
    value = (1 + fraction * 2.0**-fmt.fraction) * 2.0 ** (exponent - fmt.bias)
    if value <= fmt.largest:
        return sign * value
    return sign * float("inf") if fraction == 0 else float("nan")
