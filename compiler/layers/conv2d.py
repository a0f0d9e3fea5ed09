"""Two-dimensional convolution: meaning, derivatives, and the loop nests of `conv_nest.py`."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from npuc.compiler.builder import GraphBuilder
from npuc.compiler.layers.base import (
    ArgumentError,
    Array,
    Emit,
    Gradients,
    IntOrInts,
    Kind,
    Layer,
    OptInt,
    OptInts,
    OptValue,
    Padding,
    Value,
    Work,
    pair,
    rank_at_least,
)
from npuc.compiler.layers.conv_nest import conv_nest
from npuc.compiler.layers.window import window_padding, windows
from npuc.dialects.npu.contract import ContractOp
from npuc.dialects.tensors import shape_of, tensor_of, tensor_type
from npuc.dialects.train.arithmetic import AddOp
from npuc.dialects.train.base import ints
from npuc.dialects.train.conv2d import Conv2dBase, Conv2dDwOp, Conv2dDxOp, Conv2dOp
from npuc.dialects.train.shape import ReshapeOp


def window_params(op: Conv2dBase) -> dict[str, Any]:
    """The window arguments of a convolution, to build one like it."""
    return {
        "stride": ints(op.stride),
        "padding": ints(op.padding),
        "dilation": ints(op.dilation),
        "groups": int(op.groups.value.data),
    }


def _grouped(array: Array, axis: int, groups: int) -> Array:
    """Split the channel axis in [groups, channels of a group]."""
    shape = list(array.shape)
    shape[axis : axis + 1] = [groups, shape[axis] // groups]
    return array.reshape(shape)


def _positions(op: Conv2dBase, kernel: tuple[int, int], out: tuple[int, int]) -> Iterator[tuple[int, int, Any]]:
    """Each window position r, s and the index into the padded input [b, g, i, h, w] that it reads."""
    for r, s, rows, columns in windows(kernel, out, ints(op.stride), ints(op.dilation)):
        yield r, s, (slice(None), slice(None), slice(None), rows, columns)


def _padded(op: Conv2dBase, x: Array) -> Array:
    top, bottom, left, right = ints(op.padding)
    return _grouped(np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right))), 1, int(op.groups.value.data))


class Conv2dLayer(Layer[Conv2dOp]):
    """One matrix product a window position: y[b, o] += w[o, i, r, s] x[b, i] shifted by (r, s)."""

    op = Conv2dOp
    kind = Kind.MATRIX

    def evaluate(self, op: Conv2dOp, *arrays: Array) -> tuple[Array, ...]:
        x, w = arrays
        groups = int(op.groups.value.data)
        b, o, h, width = shape_of(op.out)
        padded, kernels = _padded(op, x), _grouped(w, 0, groups)
        y = np.zeros((b, groups, o // groups, h * width), dtype=x.dtype)
        for r, s, index in _positions(op, (w.shape[2], w.shape[3]), (h, width)):
            y += kernels[..., r, s] @ padded[index].reshape(b, groups, -1, h * width)
        return (y.reshape(b, o, h, width),)

    def vjp(self, op: Conv2dOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        params = window_params(op)
        dx = emit(Conv2dDxOp(g, op.w, results=[op.x.type], **params)).dx if needs[0] else None
        dw = emit(Conv2dDwOp(op.x, g, results=[op.w.type], **params)).dw if needs[1] else None
        return [dx, dw]

    def work(self, op: Conv2dOp) -> Work:
        return Work(macs=conv_nest(op).data.points)

    def lower(self, op: Conv2dOp, emit: Emit[Any]) -> list[SSAValue]:
        return _contract(op, emit)


class Conv2dDxLayer(Layer[Conv2dDxOp]):
    """dx shifted by (r, s) += w[o, i, r, s]ᵀ dy[b, o]."""

    op = Conv2dDxOp
    kind = Kind.MATRIX

    def evaluate(self, op: Conv2dDxOp, *arrays: Array) -> tuple[Array, ...]:
        dy, w = arrays
        groups = int(op.groups.value.data)
        b, c, height, width = shape_of(op.dx)
        top, bottom, left, right = ints(op.padding)
        out = (dy.shape[2], dy.shape[3])
        kernels = np.swapaxes(np.moveaxis(_grouped(w, 0, groups), (-2, -1), (0, 1)), -1, -2)
        rows = _grouped(dy, 1, groups).reshape(b, groups, -1, out[0] * out[1])
        dx = np.zeros((b, groups, c // groups, height + top + bottom, width + left + right), dtype=dy.dtype)
        for r, s, index in _positions(op, (w.shape[2], w.shape[3]), out):
            dx[index] += (kernels[r, s] @ rows).reshape(b, groups, c // groups, *out)
        return (dx[..., top : top + height, left : left + width].reshape(b, c, height, width),)

    def work(self, op: Conv2dDxOp) -> Work:
        return Work(macs=conv_nest(op).data.points)

    def lower(self, op: Conv2dDxOp, emit: Emit[Any]) -> list[SSAValue]:
        return _contract(op, emit)


class Conv2dDwLayer(Layer[Conv2dDwOp]):
    """dw[o, i, r, s] = sum over batch and positions of dy[b, o] times x[b, i] shifted by (r, s)."""

    op = Conv2dDwOp
    kind = Kind.MATRIX

    def evaluate(self, op: Conv2dDwOp, *arrays: Array) -> tuple[Array, ...]:
        x, dy = arrays
        groups = int(op.groups.value.data)
        o, i, kernel_h, kernel_w = shape_of(op.dw)
        b, out = dy.shape[0], (dy.shape[2], dy.shape[3])
        padded = _padded(op, x)
        rows = _grouped(dy, 1, groups).reshape(b, groups, o // groups, -1)
        dw = np.zeros((groups, o // groups, i, kernel_h, kernel_w), dtype=x.dtype)
        for r, s, index in _positions(op, (kernel_h, kernel_w), out):
            columns = padded[index].reshape(b, groups, i, -1)
            dw[..., r, s] = (rows @ np.swapaxes(columns, -1, -2)).sum(axis=0)
        return (dw.reshape(o, i, kernel_h, kernel_w),)

    def work(self, op: Conv2dDwOp) -> Work:
        return Work(macs=conv_nest(op).data.points)

    def lower(self, op: Conv2dDwOp, emit: Emit[Any]) -> list[SSAValue]:
        return _contract(op, emit)


def _contract(op: Conv2dBase, emit: Emit[Any]) -> list[SSAValue]:
    element = tensor_type(op.results[0]).element_type
    return list(emit(ContractOp(op.operands, conv_nest(op), element)).results)


def conv2d(
    b: GraphBuilder,
    x: Value,
    channels: OptInt = None,
    kernel: OptInts = None,
    stride: IntOrInts = 1,
    padding: Padding = 0,
    dilation: IntOrInts = 1,
    groups: int = 1,
    bias: bool = True,
    weight: OptValue = None,
) -> SSAValue:
    """
    Convolution of x [batch, channels, height, width] with a weight [out, in / groups, kernel, kernel].

    `padding` is one integer, [top, bottom, left, right] or "same"; `groups` equal to the input channels is depthwise.
    """
    rank = rank_at_least("x", x, 4, "[batch, channels, height, width]")
    element = tensor_type(x).element_type
    if weight is None:
        if channels is None:
            raise ArgumentError("channels", "missing, expected the number of output channels, or weight=")
        if groups < 1 or rank[1] % groups or channels % groups:
            raise ArgumentError(
                "groups", f"found {groups}, expected a divisor of {rank[1]} input and {channels} output channels"
            )
        if channels < 1:
            raise ArgumentError("channels", f"found {channels}, expected at least 1")
        size = (1, 1) if kernel is None else pair("kernel", kernel)
        if min(size) < 1:
            raise ArgumentError("kernel", f"found {kernel}, expected at least 1")
        weight = b.param("weight", [channels, rank[1] // groups, *size], element)
    shape = rank_at_least("weight", weight, 4, "[out, in / groups, kernel, kernel]")
    if channels is not None and channels != shape[0]:
        raise ArgumentError("channels", f"found {channels}, the weight has {shape[0]}")
    if kernel is not None and pair("kernel", kernel) != shape[2:4]:
        raise ArgumentError("kernel", f"found {kernel}, the weight has {list(shape[2:4])}")
    strides, dilations = pair("stride", stride), pair("dilation", dilation)
    pads = window_padding(padding, (rank[2], rank[3]), (shape[2], shape[3]), strides, dilations)
    conv = Conv2dOp(x, weight, stride=strides, padding=pads, dilation=dilations, groups=groups)
    y = b.emit(conv).out
    if bias:
        shift = b.param("bias", [shape[0]], element, bound=(shape[1] * shape[2] * shape[3]) ** -0.5)
        column = b.emit(ReshapeOp(shift, results=[tensor_of(element, [shape[0], 1, 1])])).out
        y = b.emit(AddOp(y, column)).out
    return y


LAYERS = (Conv2dLayer(), Conv2dDxLayer(), Conv2dDwLayer())
FUNCTIONS = (conv2d,)
