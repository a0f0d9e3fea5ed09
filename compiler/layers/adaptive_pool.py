"""
Adaptive pooling to a given output size: windows have nearly equal sizes and may overlap by one element.

Work: one vector operation for each element of each window, forward and backward, as for other pooling.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import ArgumentError, IntOrInts, Value, image_size
from npuc.compiler.layers.base import Array, Cut, Emit, Gradients, Layer, OpT, Work
from npuc.compiler.layers.cuts import image_cuts
from npuc.compiler.layers.pool import as_image
from npuc.compiler.layers.shape import view
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.adaptive_pool import (
    AdaptiveAvgPoolGradOp,
    AdaptiveAvgPoolOp,
    AdaptiveMaxPoolGradOp,
    AdaptiveMaxPoolOp,
    AdaptivePoolBase,
)


def _bounds(size: int, count: int) -> list[slice]:
    """The windows of one axis."""
    return [slice(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


def _windows(image: Sequence[int], out: Sequence[int]) -> Iterator[tuple[int, int, slice, slice]]:
    """For each output position: its row and column, and the rows and columns of the input under it."""
    for i, rows in enumerate(_bounds(image[2], out[2])):
        for j, columns in enumerate(_bounds(image[3], out[3])):
            yield i, j, rows, columns


def _area(rows: slice, columns: slice) -> int:
    return (rows.stop - rows.start) * (columns.stop - columns.start)


class _AdaptivePoolLayer(Layer[OpT]):
    """One vector operation for each element of each window."""

    def work(self, op: OpT) -> Work:
        image, out = shape_of(op.operands[0]), shape_of(op.results[0])
        if not isinstance(op, AdaptivePoolBase):
            image, out = out, image
        rows, columns = (sum(b.stop - b.start for b in _bounds(image[axis], out[axis])) for axis in (2, 3))
        return Work(vector_ops=image[0] * image[1] * rows * columns)

    def cuts(self, op: OpT) -> Sequence[Cut]:
        return image_cuts(op)


class AdaptiveAvgPoolLayer(_AdaptivePoolLayer[AdaptiveAvgPoolOp]):
    """The mean of each window."""

    op = AdaptiveAvgPoolOp

    def evaluate(self, op: AdaptiveAvgPoolOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        y = np.zeros(shape_of(op.out), dtype=x.dtype, like=x)
        for i, j, rows, columns in _windows(x.shape, y.shape):
            y[:, :, i, j] = x[:, :, rows, columns].sum(axis=(2, 3)) / _area(rows, columns)
        return (y,)

    def vjp(
        self, op: AdaptiveAvgPoolOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]
    ) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(AdaptiveAvgPoolGradOp(g, results=[op.x.type])).dx]


class AdaptiveAvgPoolGradLayer(_AdaptivePoolLayer[AdaptiveAvgPoolGradOp]):
    """Each gradient distributed evenly over its window."""

    op = AdaptiveAvgPoolGradOp

    def evaluate(self, op: AdaptiveAvgPoolGradOp, *arrays: Array) -> tuple[Array, ...]:
        (dy,) = arrays
        dx = np.zeros(shape_of(op.dx), dtype=dy.dtype, like=dy)
        for i, j, rows, columns in _windows(dx.shape, dy.shape):
            dx[:, :, rows, columns] += (dy[:, :, i, j] / _area(rows, columns))[:, :, None, None]
        return (dx,)


class AdaptiveMaxPoolLayer(_AdaptivePoolLayer[AdaptiveMaxPoolOp]):
    """The largest element of each window."""

    op = AdaptiveMaxPoolOp

    def evaluate(self, op: AdaptiveMaxPoolOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        y = np.zeros(shape_of(op.out), dtype=x.dtype, like=x)
        for i, j, rows, columns in _windows(x.shape, y.shape):
            y[:, :, i, j] = x[:, :, rows, columns].max(axis=(2, 3))
        return (y,)

    def vjp(
        self, op: AdaptiveMaxPoolOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]
    ) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(AdaptiveMaxPoolGradOp(g, op.x)).dx]


class AdaptiveMaxPoolGradLayer(_AdaptivePoolLayer[AdaptiveMaxPoolGradOp]):
    """Each gradient goes to the first largest element of its window in row-major order."""

    op = AdaptiveMaxPoolGradOp

    def evaluate(self, op: AdaptiveMaxPoolGradOp, *arrays: Array) -> tuple[Array, ...]:
        dy, x = arrays
        dx = np.zeros(x.shape, dtype=dy.dtype, like=dy)
        images, channels = np.indices(x.shape[:2])
        for i, j, rows, columns in _windows(x.shape, dy.shape):
            window = x[:, :, rows, columns]
            first = window.reshape(*x.shape[:2], -1).argmax(axis=2)
            down, right = np.divmod(first, window.shape[3])
            dx[images, channels, rows.start + down, columns.start + right] += dy[:, :, i, j]
        return (dx,)


def _adaptive(b: GraphBuilder, op: type[AdaptiveAvgPoolOp | AdaptiveMaxPoolOp], x: Value, size: IntOrInts) -> SSAValue:
    image, (batch, channels, _, _) = as_image(b, x)
    length = image is not x
    if length and not isinstance(size, int):
        raise ArgumentError("size", f"found {list(size)}, expected an integer for [batch, channels, length]")
    height, width = image_size("size", size)
    if length:
        pooled = b.emit(op(image, size=(1, width))).out
        return view(pooled, [batch, channels, width], b.emit)
    return b.emit(op(image, size=(height, width))).out


def adaptive_avg_pool(b: GraphBuilder, x: Value, size: IntOrInts) -> SSAValue:
    """
    Means of nearly equal windows of x, an image or [batch, channels, length], as many as `size` says.

    `size` is [height, width] or one integer for both; window i of n over l elements reaches from floor(i l / n) to
    ceil((i + 1) l / n).
    """
    return _adaptive(b, AdaptiveAvgPoolOp, x, size)


def adaptive_max_pool(b: GraphBuilder, x: Value, size: IntOrInts) -> SSAValue:
    """The largest values of the windows of `adaptive_avg_pool`."""
    return _adaptive(b, AdaptiveMaxPoolOp, x, size)


LAYERS = (AdaptiveAvgPoolLayer(), AdaptiveAvgPoolGradLayer(), AdaptiveMaxPoolLayer(), AdaptiveMaxPoolGradLayer())
FUNCTIONS = (adaptive_avg_pool, adaptive_max_pool)
