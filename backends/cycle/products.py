"""
A contraction as a layer of SCALE-Sim: a matrix product, or a convolution of an image with filters.

    Y[b, o, y, x] += X[b, i, y * 2 + r, x * 2 + s] * W[o, i, r, s]   ->   an image, its window, filters, strides

Gradients, dilated windows and windows over three axes are plain products. A batch dimension (heads of attention,
groups of channels) makes several products of one size.
"""

from __future__ import annotations

from dataclasses import dataclass

from npuc.backends.cycle.scalesim import Image, Layer, Sparsity
from npuc.dialects.npu.gemm import gemm_view
from npuc.dialects.npu.nest import Axis, Nest, Tensor


@dataclass(frozen=True)
class _Side:
    """One axis of an image: its size, and the positions, size and stride of the window along it."""

    size: int
    positions: int
    window: int
    stride: int


def product_of(nest: Nest, sparsity: Sparsity | None = None) -> tuple[int, Layer]:
    """The number of products in a nest of one statement, and one of them as a layer."""
    statement = nest.statements[0]
    products, m, n, k = gemm_view(nest, statement).sizes(nest.sizes)
    image = None
    if statement.out == "Y" and statement.lhs == "X" and statement.rhs == "W":
        image = _image(nest, nest.tensors["X"], m, k)
    return products, Layer(m, n, k, image, sparsity)


def _image(nest: Nest, x: Tensor, m: int, k: int) -> Image | None:
    """The image of a forward convolution [batch, channels, (height,) width]; None for other nests."""
    if len(x.axes) not in (3, 4):
        return None
    sides = [_side(nest, axis, size) for axis, size in zip(x.axes[2:], x.shape[2:], strict=True)]
    if len(sides) == 1:
        sides.insert(0, _Side(1, 1, 1, 1))
    if sides[0] is None or sides[1] is None:
        return None
    high, wide = sides[0], sides[1]
    images, rest = divmod(m, high.positions * wide.positions)
    channels, more = divmod(k, high.window * wide.window)
    if rest or more or (images > 1 and not x.axes[0].terms):
        return None
    return Image(high.size, wide.size, high.window, wide.window, channels, high.stride, wide.stride, images)


def _side(nest: Nest, axis: Axis, size: int) -> _Side | None:
    """
    One axis of the image, with its padding, as SCALE-Sim expects.

    SCALE-Sim rounds the number of positions up. Therefore an image that extends beyond the last window is cropped to
    its end, and a window may extend beyond the edge by less than a stride.
    """
    positions, window, stride = 1, 1, 1
    y = nest.tensors["Y"].dims
    for dim, coefficient in axis.terms:
        if dim in y and positions == 1:
            positions, stride = nest.sizes[dim], coefficient
        elif dim not in y and window == 1 and coefficient == 1:
            window = nest.sizes[dim]
        else:
            return None
    reach = (positions - 1) * stride + window
    hangs = axis.offset == 0 and 0 <= reach - size < stride and window <= size
    return _Side(size if hangs else reach, positions, window, stride)
