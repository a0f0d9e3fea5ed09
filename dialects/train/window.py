"""The rules of sliding windows, shared by convolution and pooling."""

from xdsl.utils.exceptions import VerifyException

from npuc.dialects.train.rules import check_positive

SIDES = {1: "left, right", 2: "top, bottom, left, right", 3: "front, back, top, bottom, left, right"}
"""The order of the padding of windows over one, two and three axes."""


def window_size(
    size: int, kernel: int, stride: int, before: int, after: int, dilation: int = 1, *, ceil: bool = False
) -> int:
    """
    Output positions of a sliding window along one axis; below 1 if the window does not fit.

    With `ceil` a last window may reach beyond the padding, if it starts inside the input or the padding before it.
    """
    room = size + before + after - dilation * (kernel - 1) - 1
    count = (room + (stride - 1 if ceil else 0)) // stride + 1
    return count - 1 if ceil and (count - 1) * stride >= size + before else count


def check_window(stride: tuple[int, ...], padding: tuple[int, ...], dilation: tuple[int, ...], axes: int = 2) -> None:
    """The rule for window arguments: strides and dilations of at least 1, two paddings an axis of at least 0."""
    check_positive("stride", stride, axes)
    check_positive("dilation", dilation, axes)
    if len(padding) != 2 * axes or min(padding) < 0:
        raise VerifyException(f"padding is {list(padding)}, expected [{SIDES[axes]}] of at least 0")
