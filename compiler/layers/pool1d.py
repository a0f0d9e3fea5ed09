"""Pooling of [batch, channels, length], as pooling of a view as images of height 1."""

from collections.abc import Callable

from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import ArgumentError, OptInt, Padding, Value, rank_exactly
from npuc.compiler.layers.pool import as_image, avg_pool, max_pool
from npuc.compiler.layers.shape import view
from npuc.dialects.tensors import shape_of


def _sides(padding: Padding) -> Padding:
    """The padding of the image: none above and below."""
    if isinstance(padding, str):
        return padding
    if isinstance(padding, int):
        return [0, padding]
    if len(padding) != 2:
        raise ArgumentError("padding", f"found a list of {len(padding)}, expected an integer or [left, right]")
    return [0, 0, padding[0], padding[1]]


def _pool1d(b: GraphBuilder, x: SSAValue, pool: Callable[[SSAValue], SSAValue]) -> SSAValue:
    rank_exactly("x", x, 3, "[batch, channels, length]")
    image, _ = as_image(b, x)
    y = pool(image)
    batch, channels, _, length = shape_of(y)
    return view(y, [batch, channels, length], b.emit)


def max_pool1d(
    b: GraphBuilder,
    x: Value,
    kernel: int,
    stride: OptInt = None,
    padding: Padding = 0,
    dilation: int = 1,
    ceil_mode: bool = False,
) -> SSAValue:
    """The largest value of each window of x [batch, channels, length]; arguments as for `max_pool`."""
    step = kernel if stride is None else stride
    return _pool1d(
        b, x, lambda image: max_pool(b, image, [1, kernel], [1, step], _sides(padding), [1, dilation], ceil_mode)
    )


def avg_pool1d(
    b: GraphBuilder,
    x: Value,
    kernel: int,
    stride: OptInt = None,
    padding: Padding = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> SSAValue:
    """The mean of each window of x [batch, channels, length]; arguments as for `avg_pool`."""
    step = kernel if stride is None else stride
    return _pool1d(
        b, x, lambda image: avg_pool(b, image, [1, kernel], [1, step], _sides(padding), ceil_mode, count_include_pad)
    )


LAYERS = ()
FUNCTIONS = (max_pool1d, avg_pool1d)
