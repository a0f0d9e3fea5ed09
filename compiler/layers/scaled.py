"""
Tensors with one scale: codes of eight bits or fewer, and a float32 that all of them are multiplied by.

A code is the number of the format next to x / scale: integers symmetric around 0, or floats of eight bits by their
bits. Infinities saturate. Integers have no NaN: a tensor with one has the scale NaN, and its codes are 0.
"""

import numpy as np
import numpy.typing as npt

from npuc.compiler.core.errors import UsageError
from npuc.compiler.layers.base import Array
from npuc.compiler.layers.float8 import Codes, float8_codes, float8_values, round_part
from npuc.compiler.layers.stochastic import Draws, Rounding, as_floats, draws_of, give_sign, in_chunks, round_in_place
from npuc.dialects.formats import ScaledInteger, SmallFloat

SMALLEST, LARGEST = np.float32(2.0**-149), np.finfo(np.float32).max
"""The least and the greatest scale."""


def scale_of(x: Array, fmt: SmallFloat | ScaledInteger) -> np.float32:
    """
    The scale that brings the largest finite magnitude of a tensor to the largest number of the format.

    For integers it is that magnitude over 2^(bits - 1) - 1; for floats over their largest number, rounded up to a power
    of two, so that scaling rounds nothing. It is 1 where all values are 0, and kept within float32. Of a tensor with a
    NaN it is NaN for integers; floats have a NaN of their own, and their scale is that of the other values.
    """
    x = as_floats(x)
    peak = float(np.abs(x).max(initial=0))
    if not np.isfinite(peak):
        if isinstance(fmt, ScaledInteger) and np.isnan(peak):
            return np.float32(np.nan)
        peak = float(np.abs(x[np.isfinite(x)]).max(initial=0))
    if not peak:
        return np.float32(1)
    with np.errstate(over="ignore", under="ignore"):
        if isinstance(fmt, ScaledInteger):
            scale = np.float32(peak / fmt.largest)
        else:
            (size, power), (full, most) = np.frexp(peak), np.frexp(fmt.largest)
            scale = np.float32(np.ldexp(1.0, int(power - most) + int(size > full)))
    return np.clip(scale, SMALLEST, LARGEST if isinstance(fmt, ScaledInteger) else np.float32(2.0**127))


def quantize_scaled(
    x: Array,
    fmt: SmallFloat | ScaledInteger,
    scale: np.float32 | float,
    rounding: Rounding = "nearest",
    seed: int = 0,
    *,
    draws: Draws | None = None,
) -> npt.NDArray[np.int8] | Codes:
    """
    The codes of a tensor under a scale: int8 for integers, for floats their bits as uint8.

    The quotient x / scale is exact for a power of two, else that of float64, from which float32 values are rounded as
    from the exact one. A UsageError refuses a scale that is not positive and finite (or the NaN of `scale_of`), and
    a NaN under a finite scale of integers. Part of a tensor is rounded as in the whole with the part of its
    `rounding_draws` as `draws`.
    """
    x = as_floats(x)
    draws = draws_of(x, rounding, seed, draws)
    if isinstance(fmt, ScaledInteger) and np.isnan(scale):
        return np.zeros(x.shape, np.int8)
    if not 0 < scale < np.inf:
        raise UsageError(f"a scale is positive and finite, got {scale}")
    to = np.int8 if isinstance(fmt, ScaledInteger) else np.uint8
    return in_chunks(lambda part, numbers: _codes(part, fmt, scale, numbers), x, draws, to)


def _codes(x: Array, fmt: SmallFloat | ScaledInteger, scale: np.float32 | float, draws: Draws | None) -> Array:
    """The codes of a run of values."""
    with np.errstate(over="ignore", invalid="ignore"):  # it saturates; signalling NaNs
        quotients = x / x.dtype.type(scale) if np.frexp(scale)[0] == 0.5 else x.astype(np.float64) / float(scale)
    if isinstance(fmt, SmallFloat):
        return float8_codes(round_part(quotients, fmt, draws), fmt)
    magnitudes = np.clip(np.abs(quotients), 0, fmt.largest)
    if np.isnan(magnitudes).any():
        raise UsageError(f"{fmt} has no NaN", hint="scale_of gives a tensor with a NaN the scale NaN")
    round_in_place(magnitudes, draws)
    give_sign(magnitudes, quotients)
    return magnitudes


def scaled_values(
    codes: npt.NDArray[np.int8] | Codes, fmt: SmallFloat | ScaledInteger, scale: np.float32 | float
) -> npt.NDArray[np.float32]:
    """What codes under a scale stand for: code times scale, rounded to float32."""
    numbers = codes.astype(np.float32) if isinstance(fmt, ScaledInteger) else float8_values(codes.astype(np.uint8), fmt)
    return numbers * np.float32(scale)
