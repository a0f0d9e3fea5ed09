"""Pooling: one vector operation for each element of each window, forward and backward."""

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import (
    IMAGE,
    ArgumentError,
    IntOrInts,
    OptInts,
    Padding,
    Value,
    check_positive,
    per_axis,
    rank_at_least,
)
from npuc.compiler.layers.base import Array, Cut, Emit, Gradients, Layer, Work, derivative, elements
from npuc.compiler.layers.cuts import image_cuts
from npuc.compiler.layers.domains import possible_any
from npuc.compiler.layers.shape import view
from npuc.compiler.layers.window import window_padding, window_places
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.base import ints
from npuc.dialects.train.pool import (
    AvgPoolBase,
    AvgPoolGradOp,
    AvgPoolOp,
    MaxPoolBase,
    MaxPoolGradOp,
    MaxPoolOp,
    PoolBase,
)


def _dilation(op: PoolBase) -> tuple[int, ...]:
    return ints(op.dilation) if isinstance(op, MaxPoolBase) else (1, 1)


def _views(op: PoolBase, out: Sequence[int]) -> Iterator[tuple[slice, slice]]:
    """The rows and columns of the padded input for each position in the window, in row-major order."""
    for _, (rows, columns) in window_places(ints(op.kernel), out, ints(op.stride), _dilation(op)):
        yield rows, columns


def _pad(op: PoolBase, x: Array, out: Sequence[int], value: float) -> Array:
    """x with its padding, and with the positions of the last windows beyond it."""
    sides = ints(op.padding)
    widths = [(0, 0), (0, 0)]
    for axis, (kernel, stride, dilation) in enumerate(
        zip(ints(op.kernel), ints(op.stride), _dilation(op), strict=True)
    ):
        before, after = sides[2 * axis : 2 * axis + 2]
        reach = (out[axis] - 1) * stride + dilation * (kernel - 1) + 1
        widths.append((before, max(after, reach - before - x.shape[2 + axis])))
    return np.pad(x, widths, constant_values=value)


def _crop(op: PoolBase, padded: Array, shape: tuple[int, ...]) -> Array:
    top, _, left, _ = ints(op.padding)
    return padded[:, :, top : top + shape[2], left : left + shape[3]]


def _lowest(x: Array) -> float:
    """A lower bound of the elements of any x of the type: the padding of a maximum."""
    return -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min


def _divisor(op: AvgPoolBase, shape: Sequence[int], out: Sequence[int]) -> int | Array:
    """The number of elements by which each window divides: one number, or [height, width] of the output."""
    if op.ceil is None and op.exclude is None:
        return prod(ints(op.kernel))
    counts: list[Array] = []
    for axis, (kernel, stride) in enumerate(zip(ints(op.kernel), ints(op.stride), strict=True)):
        before, after = ints(op.padding)[2 * axis : 2 * axis + 2]
        starts, size = np.arange(out[axis]) * stride - before, shape[2 + axis]
        ends = np.minimum(starts + kernel, size + after)
        if op.exclude is not None:
            starts, ends = np.maximum(starts, 0), np.minimum(ends, size)
        counts.append(ends - starts)
    return np.outer(*counts)


def _touched(size: int, before: int, out: int, kernel: int, stride: int, dilation: int) -> int:
    """The number of positions along one axis of the input that lie in some window."""
    if dilation == 1 and stride <= kernel:
        return min(size, (out - 1) * stride + kernel - before)
    read = np.zeros(size, dtype=bool)
    for first in range(-before, dilation * kernel - before, dilation):
        start = first if first >= 0 else first % stride
        read[start : max(0, first + (out - 1) * stride + 1) : stride] = True
    return int(read.sum())


def _work(op: PoolBase, x: SSAValue, outputs: SSAValue) -> Work:
    """One operation for each element of each window; only elements in some window are read."""
    shape, out = shape_of(x), shape_of(outputs)
    read = shape[0] * shape[1]
    for axis, window in enumerate(zip(ints(op.kernel), ints(op.stride), _dilation(op), strict=True)):
        read *= _touched(shape[2 + axis], ints(op.padding)[2 * axis], out[2 + axis], *window)
    return Work(vector_ops=prod(ints(op.kernel)) * prod(out), reads=(read,) if read < prod(shape) else None)


class MaxPoolLayer(Layer[MaxPoolOp]):
    """The largest element of each window."""

    op = MaxPoolOp

    def evaluate(self, op: MaxPoolOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        lowest, out = _lowest(x), shape_of(op.out)
        padded, y = _pad(op, x, out[2:], lowest), np.full(out, lowest, dtype=x.dtype, like=x)
        for rows, columns in _views(op, out[2:]):
            np.maximum(y, padded[:, :, rows, columns], out=y)
        return (y,)

    def vjp(self, op: MaxPoolOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(derivative(MaxPoolGradOp, op, g, op.x)).dx]

    def work(self, op: MaxPoolOp) -> Work:
        return _work(op, op.x, op.out)

    def cuts(self, op: MaxPoolOp) -> Sequence[Cut]:
        return image_cuts(op)


class MaxPoolGradLayer(Layer[MaxPoolGradOp]):
    """Each gradient goes to the first largest element of its window, of several NaN to the last one."""

    op = MaxPoolGradOp

    def evaluate(self, op: MaxPoolGradOp, *arrays: Array) -> tuple[Array, ...]:
        dy, x = arrays
        padded, views = _pad(op, x, dy.shape[2:], _lowest(x)), list(_views(op, dy.shape[2:]))
        inside = _pad(op, np.ones((1, 1, *x.shape[2:]), dtype=np.bool_), dy.shape[2:], 0)
        largest = np.full(dy.shape, _lowest(x), dtype=x.dtype, like=x)
        for rows, columns in views:
            np.maximum(largest, padded[:, :, rows, columns], out=largest)
        dx, open_windows = np.zeros_like(padded), np.ones(dy.shape, dtype=bool, like=dy)
        for rows, columns in views:
            first = (padded[:, :, rows, columns] == largest) & inside[:, :, rows, columns] & open_windows
            dx[:, :, rows, columns] += np.where(first, dy, 0)
            open_windows &= ~first
        for rows, columns in reversed(views) if possible_any(open_windows) else ():
            last = np.isnan(padded[:, :, rows, columns]) & open_windows
            dx[:, :, rows, columns] += np.where(last, dy, 0)
            open_windows &= ~last
        return (_crop(op, dx, x.shape),)

    def work(self, op: MaxPoolGradOp) -> Work:
        work = _work(op, op.x, op.dy)
        return work if work.reads is None else Work(vector_ops=work.vector_ops, reads=(elements(op.dy), *work.reads))


class AvgPoolLayer(Layer[AvgPoolOp]):
    """The mean of each window."""

    op = AvgPoolOp

    def evaluate(self, op: AvgPoolOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        out = shape_of(op.out)
        padded, y = _pad(op, x, out[2:], 0), np.zeros(out, dtype=x.dtype, like=x)
        for rows, columns in _views(op, out[2:]):
            y += padded[:, :, rows, columns]
        return (y / _divisor(op, x.shape, out[2:]),)

    def vjp(self, op: AvgPoolOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(derivative(AvgPoolGradOp, op, g, results=[op.x.type])).dx]

    def work(self, op: AvgPoolOp) -> Work:
        return _work(op, op.x, op.out)

    def cuts(self, op: AvgPoolOp) -> Sequence[Cut]:
        return image_cuts(op)


class AvgPoolGradLayer(Layer[AvgPoolGradOp]):
    """Each gradient spread evenly over its window."""

    op = AvgPoolGradOp

    def evaluate(self, op: AvgPoolGradOp, *arrays: Array) -> tuple[Array, ...]:
        (dy,) = arrays
        shape = shape_of(op.dx)
        dx = _pad(op, np.zeros(shape, dtype=dy.dtype, like=dy), dy.shape[2:], 0)
        share = dy / _divisor(op, shape, dy.shape[2:])
        for rows, columns in _views(op, dy.shape[2:]):
            dx[:, :, rows, columns] += share
        return (_crop(op, dx, shape),)

    def work(self, op: AvgPoolGradOp) -> Work:
        return Work(vector_ops=prod(ints(op.kernel)) * elements(op.dy))


def _pool(
    b: GraphBuilder,
    op: type[MaxPoolOp | AvgPoolOp],
    x: Value,
    kernel: IntOrInts,
    stride: OptInts,
    padding: Padding,
    dilation: IntOrInts = 1,
    **marks: Any,
) -> SSAValue:
    shape = rank_at_least("x", x, 4, IMAGE)
    size, spread = per_axis("kernel", kernel, 2), per_axis("dilation", dilation, 2)
    strides = size if stride is None else per_axis("stride", stride, 2)
    for name, values in (("kernel", size), ("stride", strides), ("dilation", spread)):
        check_positive(name, min(values))
    pads = window_padding(padding, (shape[2], shape[3]), size, strides, spread)
    for number, side in enumerate(pads):
        most = (spread[number // 2] * (size[number // 2] - 1) + 1) // 2
        if not 0 <= side <= most:
            raise ArgumentError("padding", f"found {side}, expected 0 to {most}, half of the window")
    params: dict[str, Any] = {"dilation": spread} if op is MaxPoolOp else {}
    return b.emit(op(x, kernel=size, stride=strides, padding=pads, **params, **marks)).out


def max_pool(
    b: GraphBuilder,
    x: Value,
    kernel: IntOrInts,
    stride: OptInts = None,
    padding: Padding = 0,
    dilation: IntOrInts = 1,
    ceil_mode: bool = False,
) -> SSAValue:
    """
    The largest value of each window of x [batch, channels, height, width]; the stride is the kernel by default.

    Padding never wins; `ceil_mode` keeps a last window that is not full.
    """
    return _pool(b, MaxPoolOp, x, kernel, stride, padding, dilation, ceil=ceil_mode)


def avg_pool(
    b: GraphBuilder,
    x: Value,
    kernel: IntOrInts,
    stride: OptInts = None,
    padding: Padding = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> SSAValue:
    """
    The mean of each window of x, padding counted as zeros; the stride is the kernel by default.

    `count_include_pad=false` leaves the padding out of the mean; `ceil_mode` keeps a last window that is not full.
    """
    return _pool(b, AvgPoolOp, x, kernel, stride, padding, ceil=ceil_mode, exclude=not count_include_pad)


def as_image(b: GraphBuilder, x: SSAValue) -> tuple[SSAValue, tuple[int, int, int, int]]:
    """x [batch, channels, length] as [batch, channels, 1, length], or an image as it is; and the shape."""
    shape = rank_at_least("x", x, 3, "[batch, channels, length] or [batch, channels, height, width]")
    if len(shape) == 4:
        return x, shape
    if len(shape) != 3:
        raise ArgumentError("x", f"found a tensor of rank {len(shape)}, expected rank 3 or 4")
    batch, channels, length = shape
    sizes = (batch, channels, 1, length)
    return view(x, sizes, b.emit), sizes


def _global(b: GraphBuilder, op: type[MaxPoolOp | AvgPoolOp], x: Value) -> SSAValue:
    image, (batch, channels, height, width) = as_image(b, x)
    return view(_pool(b, op, image, [height, width], None, 0), [batch, channels], b.emit)


def global_avg_pool(b: GraphBuilder, x: Value) -> SSAValue:
    """The mean of each channel of x, an image or [batch, channels, length]: [batch, channels]."""
    return _global(b, AvgPoolOp, x)


def global_max_pool(b: GraphBuilder, x: Value) -> SSAValue:
    """The largest value of each channel of x, an image or [batch, channels, length]: [batch, channels]."""
    return _global(b, MaxPoolOp, x)


LAYERS = (MaxPoolLayer(), MaxPoolGradLayer(), AvgPoolLayer(), AvgPoolGradLayer())
FUNCTIONS = (max_pool, avg_pool, global_avg_pool, global_max_pool)
