"""Arrays [batch, channels, …] and one value a channel."""

from npuc.compiler.layers.base import Array


def over_channels(x: Array) -> tuple[int, ...]:
    """The axes of all that one channel holds: every axis but the second."""
    return (0, *range(2, x.ndim))


def columns(values: Array, x: Array) -> Array:
    """One value a channel, shaped to broadcast against x."""
    return values.reshape(1, -1, *(1,) * (x.ndim - 2))
