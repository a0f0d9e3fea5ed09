"""Sliding windows, shared by convolution and pooling."""

from collections.abc import Iterator, Sequence
from itertools import product

from npuc.compiler.layers.arguments import ArgumentError, Padding
from npuc.dialects.train.window import SIDES


def window_places(
    kernel: Sequence[int], out: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
    """For each offset in the window, in row-major order: the places of the padded input under it, a slice an axis."""
    for offset in product(*map(range, kernel)):
        starts = [d * o for d, o in zip(dilation, offset, strict=True)]
        places = zip(starts, out, stride, strict=True)
        yield offset, tuple(slice(start, start + (n - 1) * step + 1, step) for start, n, step in places)


def window_padding(
    padding: Padding,
    size: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
) -> tuple[int, ...]:
    """
    The two paddings of each axis that an argument says: an integer, one or two integers an axis, "same" or "valid".

    "same" pads so that the output has ceil(size / stride) positions, the odd one at the end.
    """
    axes = len(size)
    if isinstance(padding, int):
        return (padding,) * (2 * axes)
    if padding == "valid":
        return (0,) * (2 * axes)
    if isinstance(padding, str):
        if padding != "same":
            raise ArgumentError(
                "padding", f"found '{padding}', expected an integer, [{SIDES[axes]}], 'same' or 'valid'"
            )
        sides: list[int] = []
        for n, k, step, dilate in zip(size, kernel, stride, dilation, strict=True):
            total = max(0, (-(-n // step) - 1) * step + dilate * (k - 1) + 1 - n) if step > 0 else 0
            sides += [total // 2, total - total // 2]
        return tuple(sides)
    if len(padding) == axes:
        return tuple(side for side in padding for _ in range(2))
    if len(padding) != 2 * axes:
        raise ArgumentError("padding", f"found a list of {len(padding)}, expected [{SIDES[axes]}]")
    return tuple(padding)
