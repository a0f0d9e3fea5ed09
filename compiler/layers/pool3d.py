"""
Pooling of [batch, channels, depth, height, width], in two steps: over height and width, then over depth.

Maxima and means over boxes are maxima and means of those over their layers, and the first largest element of a box is
that of the first layer that has it, so that results and gradients are those of one pooling over three axes.
"""

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.adaptive_pool import adaptive_avg_pool, adaptive_max_pool
from npuc.compiler.layers.arguments import (
    ArgumentError,
    IntOrInts,
    OptInts,
    Padding,
    Value,
    check_positive,
    per_axis,
    rank_exactly,
)
from npuc.compiler.layers.pool import avg_pool, max_pool
from npuc.compiler.layers.shape import view
from npuc.compiler.layers.window import window_padding
from npuc.dialects.tensors import shape_of

MAX_PLACES = 1 << 40
"""The most windows of a channel."""
_VOLUME = "[batch, channels, depth, height, width]"
Pool = Callable[[SSAValue], SSAValue]
Plane = tuple[list[int], list[int], list[int], list[int]]
"""Kernel, stride, padding [top, bottom, left, right] and dilation of a pooling of images."""


def _pooled(b: GraphBuilder, x: SSAValue, plane: Pool, depth: Pool) -> SSAValue:
    """A pooling of the last two axes, then one of the depth, as images whose rows are layers."""
    batch, channels, layers, *size = shape_of(x)
    images = plane(view(x, [batch, channels * layers, *size], b.emit))
    height, width = shape_of(images)[2:]
    rows = depth(view(images, [batch, channels, layers, height * width], b.emit))
    return view(rows, [batch, channels, shape_of(rows)[2], height, width], b.emit)


def _windows(
    x: Value, kernel: IntOrInts, stride: OptInts, padding: Padding, dilation: IntOrInts
) -> tuple[Plane, Plane]:
    """The windows over height and width, and those over depth."""
    shape = rank_exactly("x", x, 5, _VOLUME)
    size, spread = per_axis("kernel", kernel, 3), per_axis("dilation", dilation, 3)
    steps = size if stride is None else per_axis("stride", stride, 3)
    for name, values in (("kernel", size), ("stride", steps), ("dilation", spread)):
        check_positive(name, min(values))
    sides = window_padding(padding, shape[2:], size, steps, spread)
    return (
        (list(size[1:]), list(steps[1:]), list(sides[2:]), list(spread[1:])),
        ([size[0], 1], [steps[0], 1], [*sides[:2], 0, 0], [spread[0], 1]),
    )


def max_pool3d(
    b: GraphBuilder,
    x: Value,
    kernel: IntOrInts,
    stride: OptInts = None,
    padding: Padding = 0,
    dilation: IntOrInts = 1,
    ceil_mode: bool = False,
) -> SSAValue:
    """The largest value of each window of x [batch, channels, depth, height, width]; arguments as for `max_pool`."""
    plane, depth = _windows(x, kernel, stride, padding, dilation)
    return _pooled(b, x, lambda y: max_pool(b, y, *plane, ceil_mode), lambda y: max_pool(b, y, *depth, ceil_mode))


def avg_pool3d(
    b: GraphBuilder,
    x: Value,
    kernel: IntOrInts,
    stride: OptInts = None,
    padding: Padding = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> SSAValue:
    """The mean of each window of x [batch, channels, depth, height, width]; arguments as for `avg_pool`."""
    windows = _windows(x, kernel, stride, padding, 1)

    def pool(y: SSAValue, own: Plane) -> SSAValue:
        return avg_pool(b, y, *own[:3], ceil_mode, count_include_pad)

    return _pooled(b, x, lambda y: pool(y, windows[0]), lambda y: pool(y, windows[1]))


def _adaptive(
    b: GraphBuilder, pool: Callable[[GraphBuilder, Value, Sequence[int]], SSAValue], x: Value, size: IntOrInts
) -> SSAValue:
    rank_exactly("x", x, 5, _VOLUME)
    depth, height, width = per_axis("size", size, 3)
    check_positive("size", min(depth, height, width))
    if depth * height * width > MAX_PLACES:
        raise ArgumentError("size", f"found {depth} x {height} x {width} windows, expected at most {MAX_PLACES:,}")
    return _pooled(b, x, lambda y: pool(b, y, [height, width]), lambda y: pool(b, y, [depth, height * width]))


def adaptive_avg_pool3d(b: GraphBuilder, x: Value, size: IntOrInts) -> SSAValue:
    """Means of nearly equal windows of x [batch, channels, depth, height, width], as many an axis as `size` says."""
    return _adaptive(b, adaptive_avg_pool, x, size)


def adaptive_max_pool3d(b: GraphBuilder, x: Value, size: IntOrInts) -> SSAValue:
    """The largest values of the windows of `adaptive_avg_pool3d`."""
    return _adaptive(b, adaptive_max_pool, x, size)


LAYERS = ()
FUNCTIONS = (max_pool3d, avg_pool3d, adaptive_avg_pool3d, adaptive_max_pool3d)
