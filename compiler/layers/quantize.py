"""
Rounding to block floating point, and what FAST decides by.

A group is g successive values along one axis, the summed one of a product; the last group of an axis is short, as if
filled up with zeros. Its exponent is E = floor(log2(max |x|)), its step 2^(E + 1 - m), and a value becomes
q * step with |q| the rounded |x| / step, at most 2^m - 1. An exponent of e bits has 2^e values: those that end at the
exponent of the tensor's largest finite magnitude (a bias a tensor). Groups below them have the least of these
exponents, and may become zeros.

Numbers that are none: a NaN makes its group NaN, and no other. An infinity becomes the largest number of the tensor,
(2^m - 1) * 2^(top + 1 - m) where `top` is the tensor's largest exponent, with which its group is rounded; where the
float type ends before the mantissa does, without the bits below. A tensor whose finite values are all 0 has the largest
exponent of its float type as `top`. Zeros keep their signs.

Source: Zhang, McDanel and Kung, "FAST: DNN training under variable precision block floating point with stochastic
rounding", HPCA 2022 (arXiv 2110.15456).
"""

import math
from collections.abc import Iterator

import numpy as np

from npuc.compiler.core.errors import UsageError
from npuc.compiler.layers.base import Array
from npuc.compiler.layers.stochastic import CHUNK, Draws, Rounding, as_floats, draws_of, give_sign, round_in_place
from npuc.dialects.formats import BlockFloat


def quantize_blocks(
    x: Array,
    fmt: BlockFloat,
    axis: int,
    rounding: Rounding = "nearest",
    seed: int = 0,
    *,
    largest: int | None = None,
    draws: Draws | None = None,
) -> Array:
    """
    The values of a tensor of any shape in block floating point, grouped along `axis` (from the end if negative).

    The result is float64 for float64, else float32, and every value of the format is one of these types. A part of a
    tensor that is cut between groups is rounded as in the whole, with the whole one's `largest_exponent` as `largest`
    and, for stochastic rounding, the part of its `rounding_draws` as `draws`; otherwise they are those of `x` itself.
    A UsageError refuses an axis that is not there.
    """
    x = as_floats(x)
    draws = draws_of(x, rounding, seed, draws)
    if not -x.ndim <= axis < x.ndim:
        raise UsageError(f"values are grouped along an axis of the tensor, which has {x.ndim}; got axis {axis}")
    if not x.size:
        return x.copy()
    top = largest_exponent(x) if largest is None else largest
    outer, size = math.prod(x.shape[: axis % x.ndim]), x.shape[axis]
    inner = x.size // (outer * size)
    values, result = x.reshape(outer, size, inner), np.empty((outer, size, inner), x.dtype)
    numbers = None if draws is None else draws.reshape(outer, size, inner)
    with np.errstate(over="ignore", invalid="ignore"):  # beyond a given largest exponent; signalling NaNs
        for span, group in _spans(size, fmt.group):
            to, of = _grouped(result, span, group), _grouped(values, span, group)
            by = None if numbers is None else _grouped(numbers, span, group)
            for run in _runs(of.shape):
                to[run] = _rounded(of[run], fmt, top, None if by is None else by[run])
    return result.reshape(x.shape)


def _spans(size: int, group: int) -> list[tuple[slice, int]]:
    """An axis as what full groups take of it, and a short group; with the values of a group of each."""
    full = size - size % group
    spans = ((slice(0, full), group), (slice(full, size), size - full))
    return [(span, own) for span, own in spans if span.start < span.stop]


def _grouped(array: Array, span: slice, group: int) -> Array:
    """A view of a part of the middle axis as [outer, groups, values of a group, inner]."""
    outer, _, inner = array.shape
    return array[:, span].reshape(outer, (span.stop - span.start) // group, group, inner)


def _rounded(values: Array, fmt: BlockFloat, top: int, draws: Draws | None) -> Array:
    """Some groups, [outer, groups, values of a group, inner], rounded with exponents that end at `top`."""
    magnitudes = np.abs(values)
    steps, most = _steps(_maxima(magnitudes), fmt, top)
    magnitudes /= steps
    np.clip(magnitudes, 0, most, out=magnitudes)
    round_in_place(magnitudes, draws)
    magnitudes *= steps
    give_sign(magnitudes, values)
    return magnitudes


def _runs(shape: tuple[int, ...]) -> Iterator[tuple[slice, slice]]:
    """Runs of groups that together are worked on in cache."""
    outer, groups, size, inner = shape
    rows, many = max(1, CHUNK // (groups * size * inner)), max(1, CHUNK // (size * inner))
    for row in range(0, outer, rows):
        for group in range(0, groups, many):
            yield slice(row, row + rows), slice(group, group + many)


def largest_exponent(x: Array) -> int:
    """
    floor(log2 |x|) of the largest finite magnitude of a tensor: the exponent that its range ends at.

    Where no finite value is other than 0, it is that of the largest number of the float type.
    """
    x = as_floats(x)
    if not x.size:
        return int(np.finfo(x.dtype).maxexp) - 1
    peak = max(x.max(), -x.min())
    if not np.isfinite(peak):
        peak = np.abs(x[np.isfinite(x)]).max(initial=0)
    return int(np.frexp(peak)[1] if peak else np.finfo(x.dtype).maxexp) - 1


def _maxima(magnitudes: Array) -> Array:
    """The largest of each group, or NaN: by halves, since numpy reduces short axes slowly."""
    while (size := magnitudes.shape[2]) > 1:
        even = size - size % 2
        halves = np.maximum(magnitudes[:, :, 0:even:2], magnitudes[:, :, 1:even:2])
        if size % 2:
            np.maximum(halves[:, :, :1], magnitudes[:, :, even:], out=halves[:, :, :1])
        magnitudes = halves
    return magnitudes


def _steps(maxima: Array, fmt: BlockFloat, top: int) -> tuple[Array, Array | int]:
    """
    The step of each group, NaN for a group with one, and its largest multiple: of each group, or of all.

    No step is below the smallest number of the float type: all of its numbers are multiples of that, and only what
    saturates is rounded, to what the type has of the largest multiple.
    """
    exponents = np.frexp(maxima)[1] - 1
    np.clip(exponents, top + 1 - 2**fmt.exponent, top, out=exponents)
    exponents[np.isinf(maxima)] = top
    limits = np.finfo(maxima.dtype)
    fine = np.maximum(int(limits.minexp - limits.nmant) - (exponents + 1 - fmt.mantissa), 0)
    steps = np.ldexp(maxima.dtype.type(1), exponents + 1 - fmt.mantissa + fine)
    steps[np.isnan(maxima)] = np.nan
    mantissas = np.maximum(fmt.mantissa - fine, 0)
    return steps, (np.ldexp(steps.dtype.type(1), mantissas) - 1 if fine.any() else 2**fmt.mantissa - 1)


def improvement(x: Array, low: BlockFloat, high: BlockFloat, axis: int) -> float:
    """
    FAST's relative improvement of a tensor in a better format: r = sum |high(x) - low(x)| / sum |low(x)|.

    Both are rounded to the nearest along `axis`. It is 0 where all values are, and NaN where one is.
    """
    coarse, fine = quantize_blocks(x, low, axis), quantize_blocks(x, high, axis)
    change, size = (float(np.abs(values).sum(dtype=np.float64)) for values in (fine - coarse, coarse))
    return change / size if change else 0.0


def fast_threshold(
    layer: int, layers: int, step: int, steps: int, alpha: float = 0.6, beta1: float = 0.3, beta2: float = 0.3
) -> float:
    """
    The improvement above which FAST takes the better format: alpha - beta1 * layer / layers - beta2 * step / steps.

    Layers and steps count from 0, so that it falls from alpha over depth and over training. A UsageError refuses a
    layer or step that is not among them.
    """
    for what, place, count in (("layer", layer, layers), ("step", step, steps)):
        if not 0 <= place < count:
            raise UsageError(f"of {count} {what}s there is no {what} {place}", hint="they count from 0")
    return alpha - beta1 * layer / layers - beta2 * step / steps
