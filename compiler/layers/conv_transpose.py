"""Transposed convolution over one, two or three axes: the products of a convolution in other roles."""

from dataclasses import asdict

from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import ArgumentError, IntOrInts, OptInt, OptInts, OptValue, Value, per_axis
from npuc.compiler.layers.base import Array
from npuc.compiler.layers.conv import (
    ForwardLayer,
    ProductLayer,
    WeightArguments,
    WindowArguments,
    add_bias,
    weight_and_channels,
    window_over,
)
from npuc.compiler.layers.conv_arrays import correlate, spread, weigh
from npuc.dialects.tensors import shape_of, tensor_of, tensor_type
from npuc.dialects.train.conv import DwOp, DxOp
from npuc.dialects.train.conv_transpose import (
    ConvTranspose1dDwOp,
    ConvTranspose1dDxOp,
    ConvTranspose1dOp,
    ConvTranspose2dDwOp,
    ConvTranspose2dDxOp,
    ConvTranspose2dOp,
    ConvTranspose3dDwOp,
    ConvTranspose3dDxOp,
    ConvTranspose3dOp,
    TransposedForwardOp,
    smallest_output,
)


class TransposedLayer(ForwardLayer[TransposedForwardOp]):
    """y[b, o] shifted by the offset += w[i, o, offset]ᵀ x[b, i]."""

    def evaluate(self, op: TransposedForwardOp, *arrays: Array) -> tuple[Array, ...]:
        x, w = arrays
        return (spread(op.window, x, w, shape_of(op.out)),)


class TransposedDxLayer(ProductLayer[DxOp]):
    """The convolution of dy with w: dx[b, i] += w[i, o, offset] dy[b, o] shifted by the offset."""

    def evaluate(self, op: DxOp, *arrays: Array) -> tuple[Array, ...]:
        dy, w = arrays
        return (correlate(op.window, dy, w, shape_of(op.dx)),)


class TransposedDwLayer(ProductLayer[DwOp]):
    """dw[i, o, offset] = sum over batch and positions of x[b, i] times dy[b, o] shifted by the offset."""

    def evaluate(self, op: DwOp, *arrays: Array) -> tuple[Array, ...]:
        x, dy = arrays
        return (weigh(op.window, dy, x, shape_of(op.dw)),)


def _conv_transpose(
    b: GraphBuilder,
    op: type[TransposedForwardOp],
    x: Value,
    weight: WeightArguments,
    window: WindowArguments,
    output_padding: IntOrInts,
    bias: bool,
) -> SSAValue:
    """A transposed convolution of x, with a bias if there is one."""
    w, out = weight_and_channels(b, op, x, weight, window.groups)
    moved = window_over(x, w, window)
    spare = per_axis("output_padding", output_padding, op.AXES)
    if min(spare) < 0:
        raise ArgumentError("output_padding", f"found {output_padding}, expected at least 0")
    if any(extra >= max(s, d) for extra, s, d in zip(spare, moved.stride, moved.dilation, strict=True)):
        raise ArgumentError("output_padding", f"found {output_padding}, expected less than the stride or the dilation")
    least = smallest_output(shape_of(x)[2:], shape_of(w)[2:], moved)
    size = [n + extra for n, extra in zip(least, spare, strict=True)]
    if min(size) < 1:
        shown = "x".join(map(str, size))
        raise ArgumentError("padding", f"found {window.padding}, which leaves nothing of the output: {shown}")
    result = tensor_of(tensor_type(x).element_type, (shape_of(x)[0], out, *size))
    y = b.emit(op(x, w, results=[result], **asdict(moved))).out
    return add_bias(b, y, w) if bias else y


def conv_transpose1d(
    b: GraphBuilder,
    x: Value,
    channels: OptInt = None,
    kernel: OptInts = None,
    stride: IntOrInts = 1,
    padding: IntOrInts = 0,
    output_padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    groups: int = 1,
    bias: bool = True,
    weight: OptValue = None,
) -> SSAValue:
    """
    Transposed convolution of x [batch, channels, length] with a weight [in, out / groups, kernel].

    `padding`, one integer or [left, right], is taken off the output; `output_padding` adds to its end.
    """
    own, window = WeightArguments(channels, kernel, weight), WindowArguments(stride, padding, dilation, groups)
    return _conv_transpose(b, ConvTranspose1dOp, x, own, window, output_padding, bias)


def conv_transpose2d(
    b: GraphBuilder,
    x: Value,
    channels: OptInt = None,
    kernel: OptInts = None,
    stride: IntOrInts = 1,
    padding: IntOrInts = 0,
    output_padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    groups: int = 1,
    bias: bool = True,
    weight: OptValue = None,
) -> SSAValue:
    """
    Transposed convolution of x [batch, channels, height, width] with a weight [in, out / groups, kernel, kernel].

    `padding`, one integer or [top, bottom, left, right], is taken off the output; `output_padding` adds to its bottom
    and right.
    """
    own, window = WeightArguments(channels, kernel, weight), WindowArguments(stride, padding, dilation, groups)
    return _conv_transpose(b, ConvTranspose2dOp, x, own, window, output_padding, bias)


def conv_transpose3d(
    b: GraphBuilder,
    x: Value,
    channels: OptInt = None,
    kernel: OptInts = None,
    stride: IntOrInts = 1,
    padding: IntOrInts = 0,
    output_padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    groups: int = 1,
    bias: bool = True,
    weight: OptValue = None,
) -> SSAValue:
    """
    Transposed convolution of x [batch, channels, depth, height, width] with a weight [in, out / groups, kernel, …].

    `padding`, one integer, three, or [front, back, top, bottom, left, right], is taken off the output;
    `output_padding` adds to its end along each axis.
    """
    own, window = WeightArguments(channels, kernel, weight), WindowArguments(stride, padding, dilation, groups)
    return _conv_transpose(b, ConvTranspose3dOp, x, own, window, output_padding, bias)


def _layers(
    forward: type[TransposedForwardOp], dx: type[DxOp], dw: type[DwOp]
) -> tuple[TransposedLayer, TransposedDxLayer, TransposedDwLayer]:
    return TransposedLayer(forward, dx, dw), TransposedDxLayer(dx), TransposedDwLayer(dw)


LAYERS = (
    *_layers(ConvTranspose1dOp, ConvTranspose1dDxOp, ConvTranspose1dDwOp),
    *_layers(ConvTranspose2dOp, ConvTranspose2dDxOp, ConvTranspose2dDwOp),
    *_layers(ConvTranspose3dOp, ConvTranspose3dDxOp, ConvTranspose3dDwOp),
)
FUNCTIONS = (conv_transpose1d, conv_transpose2d, conv_transpose3d)
