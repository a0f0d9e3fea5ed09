"""Convolution over one, two or three axes: meaning, derivatives, and the loop nests of `conv_nest.py`."""

from collections.abc import Sequence
from dataclasses import asdict
from math import prod
from typing import Any, NamedTuple, TypeVar

from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import (
    IMAGE,
    ArgumentError,
    Bias,
    IntOrInts,
    OptDensity,
    OptInt,
    OptInts,
    OptValue,
    Padding,
    Value,
    check_density,
    check_positive,
    check_shared,
    per_axis,
    rank_exactly,
    weight_element,
)
from npuc.compiler.layers.base import Array, Cut, Emit, Gradients, Kind, Layer, Work, derivative
from npuc.compiler.layers.conv_arrays import correlate, spread, weigh
from npuc.compiler.layers.conv_nest import conv_nest
from npuc.compiler.layers.cuts import nest_cuts
from npuc.compiler.layers.shape import view
from npuc.compiler.layers.window import window_padding
from npuc.dialects.npu.contract import ContractOp
from npuc.dialects.tensors import shape_of, tensor_type
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
    Window,
)

Shape = tuple[int, ...]
ConvT = TypeVar("ConvT", bound=ConvOp)

FORMS = {
    1: "[batch, channels, length]",
    2: IMAGE,
    3: "[batch, channels, depth, height, width]",
}
"""The axes of an input by the number of axes of the window."""


class ProductLayer(Layer[ConvT]):
    """The base of the products of convolutions: matrix work, counted and lowered as a loop nest."""

    kind = Kind.MATRIX

    def __init__(self, op: type[ConvT]):
        self.op = op

    def work(self, op: ConvT) -> Work:
        return Work(macs=conv_nest(op).data.points)

    def cuts(self, op: ConvT) -> Sequence[Cut]:
        nest = conv_nest(op).data
        if op.window.groups == 1:
            return nest_cuts(op, nest)
        return nest_cuts(op, nest, {"g" if "g" in nest.sizes else "i": "groups"})

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
        dx = emit(derivative(self.dx, op, g, w, results=[x.type])).dx if needs[0] else None
        dw = emit(derivative(self.dw, op, x, g, results=[w.type])).dw if needs[1] else None
        return [dx, dw]


class ConvLayer(ForwardLayer[ForwardOp]):
    """One matrix product per offset in the window: y[b, o] += w[o, i, offset] x[b, i] shifted by the offset."""

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


class WeightArguments(NamedTuple):
    """The arguments of a layer that describe its weight; `shared` is a given one."""

    channels: OptInt
    kernel: OptInts
    shared: OptValue
    density: OptDensity = None


class WindowArguments(NamedTuple):
    """The arguments of a layer that describe its window."""

    stride: IntOrInts
    padding: Padding
    dilation: IntOrInts
    groups: int


def positive_per_axis(argument: str, value: IntOrInts, axes: int) -> Shape:
    """An argument that is one positive integer for every axis or a list of one each."""
    values = per_axis(argument, value, axes)
    if min(values) < 1:
        raise ArgumentError(argument, f"found {value}, expected at least 1")
    return values


def weight_and_channels(
    b: GraphBuilder, op: type[ConvOp], x: Value, weight: WeightArguments, groups: int
) -> tuple[SSAValue, int]:
    """
    The weight of a layer, made here or shared, and the number of output channels.

    It is [out, in / groups, …], that of a transposed convolution [in, out / groups, …].
    """
    shape, (channels, kernel, shared, density) = rank_exactly("x", x, op.AXES + 2, FORMS[op.AXES]), weight
    check_density(density, shared)
    if shared is None:
        out = _output_channels(channels)
        _check_groups(groups, shape[1], out)
        size = positive_per_axis("kernel", 1 if kernel is None else kernel, op.AXES)
        first, second = (shape[1], out) if op.TRANSPOSED else (out, shape[1])
        element = weight_element("x", tensor_type(x).element_type)
        return b.param("weight", [first, second // groups, *size], element, density=density), out
    lead = "in, out / groups" if op.TRANSPOSED else "out, in / groups"
    own = rank_exactly("weight", shared, op.AXES + 2, f"[{lead}{', kernel' * op.AXES}]")
    out = own[1] * groups if op.TRANSPOSED else own[0]
    if channels is not None and channels != out:
        raise ArgumentError("channels", f"found {channels}, the weight has {out}")
    if kernel is not None and positive_per_axis("kernel", kernel, op.AXES) != own[2:]:
        raise ArgumentError("kernel", f"found {kernel}, the weight has {list(own[2:])}")
    _check_groups(groups, shape[1], out)
    return shared, out


def _output_channels(channels: int | None) -> int:
    """The number of output channels of a layer that makes its weight."""
    if channels is None:
        raise ArgumentError("channels", "missing, expected the number of output channels, or weight=")
    check_positive("channels", channels)
    return channels


def _check_groups(groups: int, channels: int, out: int) -> None:
    """Raise unless the groups divide the input and the output channels."""
    if groups < 1 or channels % groups or out % groups:
        raise ArgumentError(
            "groups", f"found {groups}, expected a divisor of {channels} input and {out} output channels"
        )


def window_over(x: Value, weight: Value, arguments: WindowArguments) -> Window:
    """The window of a layer over x, from its arguments."""
    stride, padding, dilation, groups = arguments
    size, kernel = shape_of(x)[2:], shape_of(weight)[2:]
    strides = positive_per_axis("stride", stride, len(size))
    dilations = positive_per_axis("dilation", dilation, len(size))
    if not isinstance(padding, str) and min(padding if not isinstance(padding, int) else (padding,), default=0) < 0:
        raise ArgumentError("padding", f"found {padding}, expected at least 0")
    return Window(strides, window_padding(padding, size, kernel, strides, dilations), dilations, groups)


def add_bias(b: GraphBuilder, y: SSAValue, weight: Value, bias: Bias = True) -> SSAValue:
    """y plus a bias of one number per channel, which is shared or has the initial bound of the weight."""
    _, channels, *size = shape_of(y)
    if isinstance(bias, SSAValue):
        shift = check_shared("bias", bias, [channels])
    else:
        bound = prod(shape_of(weight)[1:]) ** -0.5
        shift = b.param("bias", [channels], tensor_type(y).element_type, bound=bound)
    return b.emit(AddOp(y, view(shift, [channels, *(1 for _ in size)], b.emit))).out


def _conv(
    b: GraphBuilder, op: type[ForwardOp], x: Value, weight: WeightArguments, window: WindowArguments, *, bias: Bias
) -> SSAValue:
    """A convolution of x, with a bias if there is one."""
    w, _ = weight_and_channels(b, op, x, weight, window.groups)
    y = b.emit(op(x, w, **asdict(window_over(x, w, window)))).out
    return y if bias is False else add_bias(b, y, w, bias)


def conv1d(
    b: GraphBuilder,
    x: Value,
    channels: OptInt = None,
    kernel: OptInts = None,
    stride: IntOrInts = 1,
    padding: Padding = 0,
    dilation: IntOrInts = 1,
    groups: int = 1,
    bias: Bias = True,
    weight: OptValue = None,
) -> SSAValue:
    """
    Convolution of x [batch, channels, length] with a weight [out, in / groups, kernel].

    `padding` is one integer, [left, right], "same" or "valid".
    """
    own, window = WeightArguments(channels, kernel, weight), WindowArguments(stride, padding, dilation, groups)
    return _conv(b, Conv1dOp, x, own, window, bias=bias)


def conv2d(
    b: GraphBuilder,
    x: Value,
    channels: OptInt = None,
    kernel: OptInts = None,
    stride: IntOrInts = 1,
    padding: Padding = 0,
    dilation: IntOrInts = 1,
    groups: int = 1,
    bias: Bias = True,
    weight: OptValue = None,
    density: OptDensity = None,
) -> SSAValue:
    """
    Convolution of x [batch, channels, height, width] with a weight [out, in / groups, kernel, kernel].

    `padding` is one integer, [top, bottom, left, right], "same" or "valid"; `groups` equal to the input channels is
    depthwise. `weight=` and `bias=` share those made by `param`. The weight's products are pruned to `density`: 0.1,
    "2:4".
    """
    own, window = WeightArguments(channels, kernel, weight, density), WindowArguments(stride, padding, dilation, groups)
    return _conv(b, Conv2dOp, x, own, window, bias=bias)


def conv3d(
    b: GraphBuilder,
    x: Value,
    channels: OptInt = None,
    kernel: OptInts = None,
    stride: IntOrInts = 1,
    padding: Padding = 0,
    dilation: IntOrInts = 1,
    groups: int = 1,
    bias: Bias = True,
    weight: OptValue = None,
) -> SSAValue:
    """
    Convolution of x [batch, channels, depth, height, width] with a weight [out, in / groups, kernel, kernel, kernel].

    `padding` is one integer, [front, back, top, bottom, left, right], "same" or "valid".
    """
    own, window = WeightArguments(channels, kernel, weight), WindowArguments(stride, padding, dilation, groups)
    return _conv(b, Conv3dOp, x, own, window, bias=bias)


def _layers(forward: type[ForwardOp], dx: type[DxOp], dw: type[DwOp]) -> tuple[ConvLayer, ConvDxLayer, ConvDwLayer]:
    return ConvLayer(forward, dx, dw), ConvDxLayer(dx), ConvDwLayer(dw)


LAYERS = (
    *_layers(Conv1dOp, Conv1dDxOp, Conv1dDwOp),
    *_layers(Conv2dOp, Conv2dDxOp, Conv2dDwOp),
    *_layers(Conv3dOp, Conv3dDxOp, Conv3dDwOp),
)
FUNCTIONS = (conv1d, conv2d, conv3d)
