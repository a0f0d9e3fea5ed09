"""The rules of sliding windows, shared by convolution and pooling."""

from xdsl.utils.exceptions import VerifyException

_NUMBERS = {1: "one integer", 2: "two integers", 3: "three integers"}
SIDES = {1: "left, right", 2: "top, bottom, left, right", 3: "front, back, top, bottom, left, right"}
"""The order of the padding of windows over one, two and three axes."""


def window_size(size: int, kernel: int, stride: int, before: int, after: int, dilation: int = 1) -> int:
    """Output positions of a sliding window along one axis; below 1 if the window does not fit."""
    return (size + before + after - dilation * (kernel - 1) - 1) // stride + 1


def check_window(
    stride: tuple[int, ...], padding: tuple[int, ...], dilation: tuple[int, ...] | None = None, axes: int = 2
) -> None:
    """The rule for window arguments: strides and dilations of at least 1, two paddings an axis of at least 0."""
    if len(stride) != axes or min(stride) < 1:
        raise VerifyException(f"stride is {list(stride)}, expected {_NUMBERS[axes]} of at least 1")
    if dilation is not None and (len(dilation) != axes or min(dilation) < 1):
        raise VerifyException(f"dilation is {list(dilation)}, expected {_NUMBERS[axes]} of at least 1")
    if len(padding) != 2 * axes or min(padding) < 0:
        raise VerifyException(f"padding is {list(padding)}, expected [{SIDES[axes]}] of at least 0")
