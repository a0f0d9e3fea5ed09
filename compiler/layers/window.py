"""Sliding windows over two axes, shared by convolution and pooling."""

from collections.abc import Iterator

from npuc.compiler.layers.base import ArgumentError, Padding


def windows(
    kernel: tuple[int, ...], out: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...] = (1, 1)
) -> Iterator[tuple[int, int, slice, slice]]:
    """For each window position r, s in row-major order: the rows and columns of the padded input under it."""
    for r in range(kernel[0]):
        top = r * dilation[0]
        for s in range(kernel[1]):
            left = s * dilation[1]
            rows = slice(top, top + (out[0] - 1) * stride[0] + 1, stride[0])
            yield r, s, rows, slice(left, left + (out[1] - 1) * stride[1] + 1, stride[1])


def window_padding(
    padding: Padding,
    size: tuple[int, int],
    kernel: tuple[int, int],
    stride: tuple[int, int],
    dilation: tuple[int, int] = (1, 1),
) -> tuple[int, int, int, int]:
    """
    [top, bottom, left, right] of a padding argument: an integer, two or four integers, or "same".

    "same" pads so that the output has ceil(size / stride) positions, the odd one at the end.
    """
    if isinstance(padding, int):
        return padding, padding, padding, padding
    if isinstance(padding, str):
        if padding != "same":
            raise ArgumentError(
                "padding", f"found '{padding}', expected an integer, [top, bottom, left, right] or 'same'"
            )
        sides: list[int] = []
        for n, k, step, dilate in zip(size, kernel, stride, dilation, strict=True):
            total = max(0, (-(-n // step) - 1) * step + dilate * (k - 1) + 1 - n) if step > 0 else 0
            sides += [total // 2, total - total // 2]
        return sides[0], sides[1], sides[2], sides[3]
    if len(padding) == 2:
        return padding[0], padding[0], padding[1], padding[1]
    if len(padding) != 4:
        raise ArgumentError("padding", f"found a list of {len(padding)}, expected [top, bottom, left, right]")
    return padding[0], padding[1], padding[2], padding[3]
