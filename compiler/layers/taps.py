"""Weighted sums along an axis: which elements each position of a resized axis reads, and with what weights."""

from collections.abc import Sequence
from math import ceil
from typing import TypeAlias

import numpy as np

from npuc.compiler.layers.base import Array

Taps: TypeAlias = Sequence[tuple[Array, Array]]
"""For the positions of one axis of the output: positions in the input and their weights, once for each neighbour."""
_CUBIC, _CUBIC_SMOOTH = -0.75, -0.5
"""The slope of cubic weights at a distance of 1, by PyTorch's rules without and with antialiasing."""


def weighed(x: Array, taps: Taps) -> Array:
    """The last axis of x at the taps."""
    return sum((x[..., at] * weight.astype(x.dtype) for at, weight in taps), np.zeros((), dtype=x.dtype, like=x))


def spread(dy: Array, taps: Taps, size: int) -> Array:
    """The gradient of the last axis of an input that is read at the taps."""
    dx = np.zeros((size, *dy.shape[:-1]), dtype=dy.dtype, like=dy)
    for at, weight in taps:
        shares = np.moveaxis(dy * weight.astype(dy.dtype), -1, 0)
        for place, part in zip(at, shares, strict=True):
            dx[place] += part
    return np.moveaxis(dx, 0, -1)


def _step(size: int, out: int, scale: float, corners: bool) -> float:
    """The distance in the input of neighbours in the output."""
    if corners:
        return (size - 1) / (out - 1) if out > 1 else 0.0
    return 1 / scale if scale else size / out


def linear_taps(size: int, out: int, scale: float, *, corners: bool) -> Taps:
    """The two positions in the input that each position of one axis of the output weighs."""
    places = np.arange(out, dtype=np.float64)
    if corners:
        source = places * _step(size, out, scale, True)
    else:
        source = np.maximum((places + 0.5) / (scale or out / size) - 0.5, 0.0)
    low = np.minimum(source.astype(int), size - 1)
    share = np.clip(source - low, 0.0, 1.0)
    return [(low, 1.0 - share), (np.minimum(low + 1, size - 1), share)]


def cubic_weights(distance: Array, slope: float = _CUBIC) -> Array:
    """The weight of a neighbour at a distance of at most 2 (Keys 1981)."""
    far = np.abs(distance)
    near = ((slope + 2) * far - (slope + 3)) * far * far + 1
    beyond = ((slope * far - 5 * slope) * far + 8 * slope) * far - 4 * slope
    return np.where(far <= 1, near, np.where(far < 2, beyond, 0.0))


def cubic_taps(size: int, out: int, scale: float, *, corners: bool) -> Taps:
    """The four positions in the input that each position of one axis of the output weighs; the border is repeated."""
    places = np.arange(out, dtype=np.float64)
    step = _step(size, out, scale, corners)
    source = places * step if corners else (places + 0.5) * step - 0.5
    low = np.floor(source)
    share = source - low
    return [(np.clip(low.astype(int) + by, 0, size - 1), cubic_weights(share - by)) for by in (-1, 0, 1, 2)]


def smooth_taps(size: int, out: int, scale: float, *, corners: bool, cubic: bool) -> Taps:
    """
    The positions that each position of one axis of the output weighs with antialiasing.

    Where the axis shrinks, weights are as much wider as it shrinks; those beyond the border are left out and the others
    scaled to a sum of 1 (PyTorch's rule, and Pillow's).
    """
    step = _step(size, out, scale, corners)
    wide = max(step, 1.0)
    reach = (2 if cubic else 1) * wide
    middle = step * (np.arange(out) + 0.5)
    first = np.maximum((middle - reach + 0.5).astype(int), 0)
    behind = np.minimum((middle + reach + 0.5).astype(int), size)
    count = max(1, ceil(float((behind - first).max())))
    at = first[:, None] + np.arange(count)
    distance = (at - middle[:, None] + 0.5) / wide
    weight = cubic_weights(distance, _CUBIC_SMOOTH) if cubic else np.maximum(1 - np.abs(distance), 0)
    weight = np.where(at < behind[:, None], weight, 0)
    total = weight.sum(axis=1, keepdims=True)
    weight = weight / np.where(total == 0, 1, total)
    return [(np.minimum(at[:, i], size - 1), weight[:, i]) for i in range(count)]
