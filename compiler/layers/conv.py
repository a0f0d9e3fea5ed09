"""Convolution over one, two or three axes: meaning, derivatives, and the loop nests of `conv_nest.py`."""

from collections.abc import Sequence
from math import prod
from typing import Any, TypeVar

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
)
from npuc.compiler.layers.conv_arrays import correlate, spread, weigh
from npuc.compiler.layers.conv_nest import conv_nest
from npuc.compiler.layers.window import window_padding
from npuc.dialects.npu.contract import ContractOp
from npuc.dialects.tensors import shape_of, tensor_of, tensor_type
from npuc.dialects.train.arithmetic import AddOp
from npuc.dialects.train.conv import (
    Conv1dDwOp,
    Conv1dDxOp,
    Conv1dOp,
    Conv2dDwOp,
    Conv2dDxOp,
    Conv2dOp,
    Conv3dDwOp,
    Conv3dDxOp,
    Conv3dOp,
    ConvOp,
    DwOp,
    DxOp,
    ForwardOp,
)
from npuc.dialects.train.shape import ReshapeOp

Shape = tuple[int, ...]
ConvT = TypeVar("ConvT", bound=ConvOp)

FORMS = {
    1: "[batch, channels, length]",
    2: "[batch, channels, height, width]",
    3: "[batch, channels, depth, height, width]",
}
"""The axes of an input by the number of axes of the window."""
_NUMBERS = {1: "one", 2: "two", 3: "three"}


def window_params(op: ConvOp) -> dict[str, Any]:
    """The window arguments of a convolution, to build one like it."""
    window = op.window
    return {
        "stride": window.stride,
        "padding": window.padding,
        "dilation": window.dilation,
        "groups": window.groups,
    }


class ProductLayer(Layer[ConvT]):
    """What all products of convolutions have in common: matrix work, counted and lowered as a loop nest."""

    kind = Kind.MATRIX

    def __init__(self, op: type[ConvT]):
        self.op = op

    def work(self, op: ConvT) -> Work:
        return Work(macs=conv_nest(op).data.points)

    def lower(self, op: ConvT, emit: Emit[Any]) -> list[SSAValue]:
        element = tensor_type(op.results[0]).element_type
        return list(emit(ContractOp(op.operands, conv_nest(op), element)).results)


class ForwardLayer(ProductLayer[ConvT]):
    """A convolution, given the operations of its derivatives."""

    def __init__(self, op: type[ConvT], dx: type[DxOp], dw: type[DwOp]):
        super().__init__(op)
        self.dx, self.dw = dx, dw

    def vjp(self, op: ConvT, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        x, w = op.operands
        params = window_params(op)
        dx = emit(self.dx(g, w, results=[x.type], **params)).dx if needs[0] else None
        dw = emit(self.dw(x, g, results=[w.type], **params)).dw if needs[1] else None
        return [dx, dw]


class ConvLayer(ForwardLayer[ForwardOp]):
    """One matrix product an offset in the window: y[b, o] += w[o, i, offset] x[b, i] shifted by the offset."""

    def evaluate(self, op: ForwardOp, *arrays: Array) -> tuple[Array, ...]:
        x, w = arrays
        return (correlate(op.window, x, w, shape_of(op.out)),)


class ConvDxLayer(ProductLayer[DxOp]):
    """dx shifted by the offset += w[o, i, offset]ᵀ dy[b, o]."""

    def evaluate(self, op: DxOp, *arrays: Array) -> tuple[Array, ...]:
        dy, w = arrays
        return (spread(op.window, dy, w, shape_of(op.dx)),)


class ConvDwLayer(ProductLayer[DwOp]):
    """dw[o, i, offset] = sum over batch and positions of dy[b, o] times x[b, i] shifted by the offset."""

    def evaluate(self, op: DwOp, *arrays: Array) -> tuple[Array, ...]:
        x, dy = arrays
        return (weigh(op.window, x, dy, shape_of(op.dw)),)


def input_shape(x: Value, axes: int) -> Shape:
    """The shape of an input with a batch, channels and the axes of the window, or an error."""
    shape = shape_of(x)
    if len(shape) != axes + 2:
        raise ArgumentError("x", f"found a tensor of rank {len(shape)}, expected {FORMS[axes]}")
    return shape


def per_axis(argument: str, value: IntOrInts, axes: int, least: int = 1) -> Shape:
    """An argument that is one integer for every axis or a list of one each, all at least `least`."""
    values = (value,) * axes if isinstance(value, int) else tuple(value)
    if len(values) != axes:
        raise ArgumentError(
            argument, f"found a list of {len(values)}, expected an integer or a list of {_NUMBERS[axes]}"
        )
    if min(values) < least:
        raise ArgumentError(argument, f"found {value}, expected at least {least}")
    return values


def check_groups(groups: int, channels: int, out: int) -> None:
    """Raise unless the groups divide the input and the output channels."""
    if groups < 1 or channels % groups or out % groups:
        raise ArgumentError(
            "groups", f"found {groups}, expected a divisor of {channels} input and {out} output channels"
        )


def check_channels(channels: int | None) -> int:
    """The number of output channels of a layer that makes its weight."""
    if channels is None:
        raise ArgumentError("channels", "missing, expected the number of output channels, or weight=")
    if channels < 1:
        raise ArgumentError("channels", f"found {channels}, expected at least 1")
    return channels


def check_weight(weight: Value, axes: int, form: str, channels: OptInt, out: int, kernel: OptInts) -> None:
    """Raise unless a shared weight has the rank, and the channels and kernel that are asked for, if any."""
    shape = shape_of(weight)
    if len(shape) != axes + 2:
        raise ArgumentError("weight", f"found a tensor of rank {len(shape)}, expected {form}")
    if channels is not None and channels != out:
        raise ArgumentError("channels", f"found {channels}, the weight has {out}")
    if kernel is not None and per_axis("kernel", kernel, axes) != shape[2:]:
        raise ArgumentError("kernel", f"found {kernel}, the weight has {list(shape[2:])}")


def check_padding(padding: Padding) -> None:
    """Raise for a negative padding."""
    if not isinstance(padding, str) and min(padding if not isinstance(padding, int) else (padding,), default=0) < 0:
        raise ArgumentError("padding", f"found {padding}, expected at least 0")


def add_bias(b: GraphBuilder, y: SSAValue, weight: Shape) -> SSAValue:
    """y and a bias of one number a channel, whose bound is that of a weight of this shape."""
    type = tensor_type(y)
    _, channels, *size = type.get_shape()
    shift = b.param("bias", [channels], type.element_type, bound=prod(weight[1:]) ** -0.5)
    column = tensor_of(type.element_type, [channels, *(1 for _ in size)])
    return b.emit(AddOp(y, b.emit(ReshapeOp(shift, results=[column])).out)).out


def _conv(
    b: GraphBuilder,
    op: type[ForwardOp],
    x: Value,
    channels: OptInt,
    kernel: OptInts,
    weight: OptValue,
    bias: bool,
    **window: Any,
) -> SSAValue:
    """A convolution layer; `window` are the arguments stride, padding, dilation and groups as given."""
    axes, groups = op.AXES, window["groups"]
    shape = input_shape(x, axes)
    if weight is None:
        out = check_channels(channels)
        check_groups(groups, shape[1], out)
        size = per_axis("kernel", 1 if kernel is None else kernel, axes)
        weight = b.param("weight", [out, shape[1] // groups, *size], tensor_type(x).element_type)
    else:
        out = (*shape_of(weight), 0)[0]
        check_weight(weight, axes, f"[out, in / groups{', kernel' * axes}]", channels, out, kernel)
        check_groups(groups, shape[1], out)
    strides = per_axis("stride", window["stride"], axes)
    dilations = per_axis("dilation", window["dilation"], axes)
    check_padding(window["padding"])
    kernels = shape_of(weight)
    pads = window_padding(window["padding"], shape[2:], kernels[2:], strides, dilations)
    y = b.emit(op(x, weight, stride=strides, padding=pads, dilation=dilations, groups=groups)).out
    return add_bias(b, y, kernels) if bias else y


def conv1d(
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
    Convolution of x [batch, channels, length] with a weight [out, in / groups, kernel].

    `padding` is one integer, [left, right], "same" or "valid".
    """
    window: dict[str, Any] = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return _conv(b, Conv1dOp, x, channels, kernel, weight, bias, **window)


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

    `padding` is one integer, [top, bottom, left, right], "same" or "valid"; `groups` equal to the input channels is
    depthwise.
    """
    window: dict[str, Any] = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return _conv(b, Conv2dOp, x, channels, kernel, weight, bias, **window)


def conv3d(
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
    Convolution of x [batch, channels, depth, height, width] with a weight [out, in / groups, kernel, kernel, kernel].

    `padding` is one integer, [front, back, top, bottom, left, right], "same" or "valid".
    """
    window: dict[str, Any] = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return _conv(b, Conv3dOp, x, channels, kernel, weight, bias, **window)


def _layers(forward: type[ForwardOp], dx: type[DxOp], dw: type[DwOp]) -> tuple[ConvLayer, ConvDxLayer, ConvDwLayer]:
    return ConvLayer(forward, dx, dw), ConvDxLayer(dx), ConvDwLayer(dw)


LAYERS = (
    *_layers(Conv1dOp, Conv1dDxOp, Conv1dDwOp),
    *_layers(Conv2dOp, Conv2dDxOp, Conv2dDwOp),
    *_layers(Conv3dOp, Conv3dDxOp, Conv3dDwOp),
)
FUNCTIONS = (conv1d, conv2d, conv3d)
