"""The padding of windows as TensorFlow has it."""

from __future__ import annotations

from collections.abc import Sequence


def same(sizes: Sequence[int], kernel: Sequence[int], strides: Sequence[int], dilation: Sequence[int]) -> list[int]:
    """
    Padding before and after each axis so that an axis of n elements has ceil(n / stride) windows.

    The larger half is after the last element (TensorFlow's `tf.nn`, "SAME").
    """
    pads: list[int] = []
    for size, length, stride, distance in zip(sizes, kernel, strides, dilation, strict=True):
        span = (length - 1) * distance + 1
        total = max((-(-size // stride) - 1) * stride + span - size, 0)
        pads += [total // 2, total - total // 2]
    return pads


def shown(values: Sequence[int]) -> int | list[int]:
    """Numbers of all axes; one where they are equal."""
    return values[0] if len(set(values)) == 1 else list(values)


def padding(pads: Sequence[int]) -> dict[str, int | list[int]]:
    """The argument `padding` of a call, none where there is none."""
    return {"padding": shown(pads)} if any(pads) else {}


def steps(name: str, values: Sequence[int], default: int = 1) -> dict[str, int | list[int]]:
    """An argument of a number for each axis, none where all have the default."""
    return {} if set(values) == {default} else {name: shown(values)}
