"""Pooling: one vector operation for each element of each window, forward and backward."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from npuc.compiler.builder import GraphBuilder
from npuc.compiler.layers.base import (
    Array,
    Emit,
    Gradients,
    IntOrInts,
    Layer,
    Padding,
    Value,
    Work,
    elements,
    pair,
    rank_at_least,
    result_elements,
)
from npuc.compiler.layers.window import window_padding, windows
from npuc.dialects.tensors import shape_of, tensor_of, tensor_type
from npuc.dialects.train.base import ints
from npuc.dialects.train.pool import AvgPoolGradOp, AvgPoolOp, MaxPoolGradOp, MaxPoolOp, PoolBase
from npuc.dialects.train.shape import ReshapeOp


def _params(op: PoolBase) -> dict[str, Any]:
    return {"kernel": ints(op.kernel), "stride": ints(op.stride), "padding": ints(op.padding)}


def _pad(op: PoolBase, x: Array, value: float) -> Array:
    top, bottom, left, right = ints(op.padding)
    return np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=value)


def _crop(op: PoolBase, padded: Array, shape: tuple[int, ...]) -> Array:
    top, _, left, _ = ints(op.padding)
    return padded[:, :, top : top + shape[2], left : left + shape[3]]


def _work(op: PoolBase, x: SSAValue, outputs: int) -> Work:
    """One operation for each element of each window; windows that leave gaps read only what they cover."""
    kernel, stride = ints(op.kernel), ints(op.stride)
    covered = prod(kernel) * outputs
    gaps = kernel[0] < stride[0] or kernel[1] < stride[1]
    return Work(vector_ops=covered, reads=(min(covered, elements(x)),) if gaps else None)


class MaxPoolLayer(Layer[MaxPoolOp]):
    """The largest element of each window."""

    op = MaxPoolOp

    def evaluate(self, op: MaxPoolOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        padded, y = _pad(op, x, -np.inf), np.full(shape_of(op.out), -np.inf, dtype=x.dtype)
        for _, _, rows, columns in windows(ints(op.kernel), y.shape[2:], ints(op.stride)):
            np.maximum(y, padded[:, :, rows, columns], out=y)
        return (y,)

    def vjp(self, op: MaxPoolOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(MaxPoolGradOp(g, op.x, **_params(op))).dx]

    def work(self, op: MaxPoolOp) -> Work:
        return _work(op, op.x, result_elements(op))


class MaxPoolGradLayer(Layer[MaxPoolGradOp]):
    """Each gradient goes to the first largest element of its window in row-major order."""

    op = MaxPoolGradOp

    def evaluate(self, op: MaxPoolGradOp, *arrays: Array) -> tuple[Array, ...]:
        dy, x = arrays
        padded = _pad(op, x, -np.inf)
        views = list(windows(ints(op.kernel), dy.shape[2:], ints(op.stride)))
        largest = np.full(dy.shape, -np.inf, dtype=x.dtype)
        for _, _, rows, columns in views:
            np.maximum(largest, padded[:, :, rows, columns], out=largest)
        dx, open_windows = np.zeros_like(padded), np.ones(dy.shape, dtype=bool)
        for _, _, rows, columns in views:
            first = (padded[:, :, rows, columns] == largest) & open_windows
            dx[:, :, rows, columns] += np.where(first, dy, 0)
            open_windows &= ~first
        return (_crop(op, dx, x.shape),)

    def work(self, op: MaxPoolGradOp) -> Work:
        work = _work(op, op.x, elements(op.dy))
        return work if work.reads is None else Work(vector_ops=work.vector_ops, reads=(elements(op.dy), *work.reads))


class AvgPoolLayer(Layer[AvgPoolOp]):
    """The mean of each window, padding counted."""

    op = AvgPoolOp

    def evaluate(self, op: AvgPoolOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        padded, y = _pad(op, x, 0), np.zeros(shape_of(op.out), dtype=x.dtype)
        for _, _, rows, columns in windows(ints(op.kernel), y.shape[2:], ints(op.stride)):
            y += padded[:, :, rows, columns]
        return (y / prod(ints(op.kernel)),)

    def vjp(self, op: AvgPoolOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(AvgPoolGradOp(g, results=[op.x.type], **_params(op))).dx]

    def work(self, op: AvgPoolOp) -> Work:
        return _work(op, op.x, result_elements(op))


class AvgPoolGradLayer(Layer[AvgPoolGradOp]):
    """Each gradient spread evenly over its window."""

    op = AvgPoolGradOp

    def evaluate(self, op: AvgPoolGradOp, *arrays: Array) -> tuple[Array, ...]:
        (dy,) = arrays
        shape = shape_of(op.dx)
        dx = _pad(op, np.zeros(shape, dtype=dy.dtype), 0)
        share = dy / prod(ints(op.kernel))
        for _, _, rows, columns in windows(ints(op.kernel), dy.shape[2:], ints(op.stride)):
            dx[:, :, rows, columns] += share
        return (_crop(op, dx, shape),)

    def work(self, op: AvgPoolGradOp) -> Work:
        return Work(vector_ops=prod(ints(op.kernel)) * elements(op.dy))


def _pool(
    b: GraphBuilder,
    op: type[MaxPoolOp | AvgPoolOp],
    x: Value,
    kernel: IntOrInts,
    stride: IntOrInts | None,
    padding: Padding,
) -> SSAValue:
    shape = rank_at_least("x", x, 4, "[batch, channels, height, width]")
    size = pair("kernel", kernel)
    strides = size if stride is None else pair("stride", stride)
    pads = window_padding(padding, (shape[2], shape[3]), size, strides)
    return b.emit(op(x, kernel=size, stride=strides, padding=pads)).out


def max_pool(
    b: GraphBuilder, x: Value, kernel: IntOrInts, stride: IntOrInts | None = None, padding: Padding = 0
) -> SSAValue:
    """The largest value of each window of x [batch, channels, height, width]; the stride is the kernel by default."""
    return _pool(b, MaxPoolOp, x, kernel, stride, padding)


def avg_pool(
    b: GraphBuilder, x: Value, kernel: IntOrInts, stride: IntOrInts | None = None, padding: Padding = 0
) -> SSAValue:
    """The mean of each window of x, padding counted as zeros; the stride is the kernel by default."""
    return _pool(b, AvgPoolOp, x, kernel, stride, padding)


def _global(b: GraphBuilder, op: type[MaxPoolOp | AvgPoolOp], x: Value) -> SSAValue:
    shape = rank_at_least("x", x, 4, "[batch, channels, height, width]")
    pooled = _pool(b, op, x, shape[2:], None, 0)
    return b.emit(ReshapeOp(pooled, results=[tensor_of(tensor_type(x).element_type, shape[:2])])).out


def global_avg_pool(b: GraphBuilder, x: Value) -> SSAValue:
    """The mean of each channel of x [batch, channels, height, width]: [batch, channels]."""
    return _global(b, AvgPoolOp, x)


def global_max_pool(b: GraphBuilder, x: Value) -> SSAValue:
    """The largest value of each channel of x [batch, channels, height, width]: [batch, channels]."""
    return _global(b, MaxPoolOp, x)


LAYERS = (MaxPoolLayer(), MaxPoolGradLayer(), AvgPoolLayer(), AvgPoolGradLayer())
FUNCTIONS = (max_pool, avg_pool, global_avg_pool, global_max_pool)
