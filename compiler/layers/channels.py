"""Helpers for arrays [batch, channels, …] with one value per channel."""

from collections.abc import Sequence

from npuc.compiler.layers.base import Array


def over_channels(x: Array) -> tuple[int, ...]:
    """The axes of all that one channel holds: every axis but the second."""
    return (0, *range(2, x.ndim))


def columns(values: Array, x: Array) -> Array:
    """One value a channel, shaped to broadcast against x."""
    return values.reshape(1, -1, *(1,) * (x.ndim - 2))


def normalized(x: Array, affine: Sequence[Array], mean: Array, var: Array, eps: float) -> Array:
    """x by the mean and variance of its channels, then scaled and shifted where `affine` holds a scale and a shift."""
    deviation = (var + eps) ** 0.5
    if not affine:
        return (x - columns(mean, x)) / columns(deviation, x)
    y = (x - columns(mean, x)) * columns(affine[0] / deviation, x)
    return y + columns(affine[1], x) if len(affine) == 2 else y
