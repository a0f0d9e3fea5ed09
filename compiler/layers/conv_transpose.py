"""Transposed convolution over one or two axes: the products of a convolution in other roles."""

from typing import Any

from xdsl.ir import SSAValue

from npuc.compiler.builder import GraphBuilder
from npuc.compiler.layers.base import ArgumentError, Array, IntOrInts, OptInt, OptInts, OptValue, Value
from npuc.compiler.layers.conv import (
    ForwardLayer,
    ProductLayer,
    add_bias,
    check_channels,
    check_groups,
    check_padding,
    check_weight,
    input_shape,
    per_axis,
)
from npuc.compiler.layers.conv_arrays import correlate, spread, weigh
from npuc.compiler.layers.window import window_padding
from npuc.dialects.tensors import shape_of, tensor_of, tensor_type
from npuc.dialects.train.conv import DwOp, DxOp, Window
from npuc.dialects.train.conv_transpose import (
    ConvTranspose1dDwOp,
    ConvTranspose1dDxOp,
    ConvTranspose1dOp,
    ConvTranspose2dDwOp,
    ConvTranspose2dDxOp,
    ConvTranspose2dOp,
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
    channels: OptInt,
    kernel: OptInts,
    weight: OptValue,
    bias: bool,
    output_padding: IntOrInts,
    **given: Any,
) -> SSAValue:
    """A transposed layer; `given` are the arguments stride, padding, dilation and groups as given."""
    axes, groups, element = op.AXES, given["groups"], tensor_type(x).element_type
    shape = input_shape(x, axes)
    if weight is None:
        out = check_channels(channels)
        check_groups(groups, shape[1], out)
        size = per_axis("kernel", 1 if kernel is None else kernel, axes)
        weight = b.param("weight", [shape[1], out // groups, *size], element)
    else:
        out = (*shape_of(weight), 0, 0)[1] * groups
        check_weight(weight, axes, f"[in, out / groups{', kernel' * axes}]", channels, out, kernel)
        check_groups(groups, shape[1], out)
    kernels = shape_of(weight)
    strides, dilations = per_axis("stride", given["stride"], axes), per_axis("dilation", given["dilation"], axes)
    check_padding(given["padding"])
    pads = window_padding(given["padding"], shape[2:], kernels[2:], strides, dilations)
    window = Window(strides, pads, dilations, groups)
    spare = per_axis("output_padding", output_padding, axes, least=0)
    for extra, s, d in zip(spare, strides, dilations, strict=True):
        if extra >= max(s, d):
            raise ArgumentError(
                "output_padding", f"found {output_padding}, expected less than the stride or the dilation"
            )
    size = [n + extra for n, extra in zip(smallest_output(shape[2:], kernels[2:], window), spare, strict=True)]
    if min(size) < 1:
        raise ArgumentError(
            "padding", f"found {given['padding']}, which leaves nothing of the output: {'x'.join(map(str, size))}"
        )
    result = tensor_of(element, (shape[0], out, *size))
    params: dict[str, Any] = {"stride": strides, "padding": pads, "dilation": dilations, "groups": groups}
    y = b.emit(op(x, weight, results=[result], **params)).out
    return add_bias(b, y, kernels) if bias else y


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
    window: dict[str, Any] = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return _conv_transpose(b, ConvTranspose1dOp, x, channels, kernel, weight, bias, output_padding, **window)


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
    window: dict[str, Any] = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return _conv_transpose(b, ConvTranspose2dOp, x, channels, kernel, weight, bias, output_padding, **window)


LAYERS = (
    TransposedLayer(ConvTranspose1dOp, ConvTranspose1dDxOp, ConvTranspose1dDwOp),
    TransposedDxLayer(ConvTranspose1dDxOp),
    TransposedDwLayer(ConvTranspose1dDwOp),
    TransposedLayer(ConvTranspose2dOp, ConvTranspose2dDxOp, ConvTranspose2dDwOp),
    TransposedDxLayer(ConvTranspose2dDxOp),
    TransposedDwLayer(ConvTranspose2dDwOp),
)
FUNCTIONS = (conv_transpose1d, conv_transpose2d)
