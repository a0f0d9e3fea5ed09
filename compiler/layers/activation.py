"""
Piecewise linear activation functions: one vector operation per element, forward and backward.

At kinks the gradient is PyTorch's: that of the left side for relu and the leaky ones.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import ArgumentError, OptOperand, OptValue, Value, channels_of, check_value
from npuc.compiler.layers.arithmetic import as_tensors
from npuc.compiler.layers.base import Array, Cut, Emit, Gradients, PerElementLayer
from npuc.compiler.layers.channels import columns, over_channels
from npuc.compiler.layers.cuts import channel_cuts
from npuc.compiler.layers.rounding import number_beside
from npuc.compiler.layers.unary import UnaryGradLayer, UnaryLayer
from npuc.dialects.tensors import tensor_type
from npuc.dialects.train.activation import (
    ClipGradOp,
    ClipOp,
    HardSigmoidGradOp,
    HardSigmoidOp,
    HardSwishGradOp,
    HardSwishOp,
    LeakyReluGradOp,
    LeakyReluOp,
    PreluDwOp,
    PreluDxOp,
    PreluOp,
    ReluGradOp,
    ReluOp,
)
from npuc.dialects.train.compare import GreaterOp, LessOp, WhereOp
from npuc.dialects.train.rules import check_numbers


class PreluLayer(PerElementLayer[PreluOp]):
    """x where x > 0, else the channel's slope times x."""

    op = PreluOp

    def evaluate(self, op: PreluOp, *arrays: Array) -> tuple[Array, ...]:
        x, weight = arrays
        return (np.where(x > 0, x, columns(weight, x) * x),)

    def vjp(self, op: PreluOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        dx = emit(PreluDxOp(g, op.x, op.weight)).dx if needs[0] else None
        return [dx, emit(PreluDwOp(g, op.x)).dw if needs[1] else None]

    def cuts(self, op: PreluOp) -> Sequence[Cut]:
        return channel_cuts(op)


class PreluDxLayer(PerElementLayer[PreluDxOp]):
    """dy where x > 0, else the channel's slope times dy."""

    op = PreluDxOp

    def evaluate(self, op: PreluDxOp, *arrays: Array) -> tuple[Array, ...]:
        dy, x, weight = arrays
        return (np.where(x > 0, dy, columns(weight, x) * dy),)


class PreluDwLayer(PerElementLayer[PreluDwOp]):
    """The sum of dy x over the elements of each channel with x <= 0; one vector operation per element of x."""

    op = PreluDwOp

    def evaluate(self, op: PreluDwOp, *arrays: Array) -> tuple[Array, ...]:
        dy, x = arrays
        return (np.where(x > 0, 0, dy * x).sum(axis=over_channels(x)),)


class ClipGradLayer(PerElementLayer[ClipGradOp]):
    """The derivative of `clip`, whose bounds are numbers of the tensor's type: x of bf16 may be at one."""

    op = ClipGradOp
    elementwise = True

    def evaluate(self, op: ClipGradOp, *arrays: Array) -> tuple[Array, ...]:
        dy, x = arrays
        element = tensor_type(op.dx).element_type
        low, high = (number_beside(x, element, bound.value.data) for bound in (op.low, op.high))
        return (_clip_grad(dy, x, low, high, closed=op.closed is not None),)


# The functions on arrays.


def _relu(x: Array) -> Array:
    return np.maximum(x, 0)


def _relu_grad(dy: Array, y: Array) -> Array:
    return np.where(y <= 0, 0, dy)  # at NaN the gradient passes


def _clip(x: Array, low: float, high: float, closed: bool = False) -> Array:
    return np.clip(x, low, high)


def _clip_grad(dy: Array, x: Array, low: Array, high: Array, *, closed: bool) -> Array:
    if closed:
        return np.where((x >= low) & (x <= high), dy, 0)
    return np.where((x <= low) | (x >= high), 0, dy)  # relu6: at NaN the gradient passes


def _hard_sigmoid(x: Array) -> Array:
    return np.clip(x + 3, 0, 6) / 6


def _hard_sigmoid_grad(dy: Array, x: Array) -> Array:
    return np.where((x > -3) & (x < 3), dy / 6, 0)


def _hard_swish(x: Array) -> Array:
    return x * np.clip(x + 3, 0, 6) / 6


def _hard_swish_grad(dy: Array, x: Array) -> Array:
    return np.where(x <= -3, 0, np.where(x < 3, dy * (x / 3 + 0.5), dy))


def _leaky_relu(x: Array, slope: float) -> Array:
    return np.where(x > 0, x, slope * x)


def _leaky_relu_grad(dy: Array, x: Array, slope: float) -> Array:
    return np.where(x > 0, dy, slope * dy)


def relu(b: GraphBuilder, x: Value) -> SSAValue:
    """max(x, 0)."""
    return b.emit(ReluOp(x)).out


def relu6(b: GraphBuilder, x: Value) -> SSAValue:
    """x limited to 0 to 6."""
    return b.emit(ClipOp(x)).out


def clip(b: GraphBuilder, x: Value, low: OptOperand = 0.0, high: OptOperand = 6.0) -> SSAValue:
    """
    x limited to [low, high], each a number, a tensor that broadcasts, or none; at the bounds the gradient passes.

    Where x is beyond a bound that is a tensor, the bound has the gradient.
    """
    if isinstance(low, int | float) and isinstance(high, int | float):
        if not low <= high:
            raise ArgumentError("low", f"found {low}, expected at most high, which is {high}")
        check_numbers(tensor_type(x))
        for name, bound in (("low", low), ("high", high)):
            check_value(name, bound, tensor_type(x).element_type)
        return b.emit(ClipOp(x, low=float(low), high=float(high), closed=True)).out
    if low is None and high is None:
        raise ArgumentError("low", "found none beside high=none, expected a bound")
    if low is not None:
        bound, x = as_tensors(b, low, x, ("low", "x"))
        x = b.emit(WhereOp(b.emit(LessOp(x, bound)).out, bound, x)).out
    if high is not None:
        bound, x = as_tensors(b, high, x, ("high", "x"))
        x = b.emit(WhereOp(b.emit(GreaterOp(x, bound)).out, bound, x)).out
    return x


def leaky_relu(b: GraphBuilder, x: Value, negative_slope: float = 0.01) -> SSAValue:
    """x where x > 0, else negative_slope x."""
    return b.emit(LeakyReluOp(x, slope=float(negative_slope))).out


def prelu(b: GraphBuilder, x: Value, weight: OptValue = None) -> SSAValue:
    """x where x > 0, else a trained slope, one a channel of x [batch, channels, …], times x; `weight=` shares it."""
    channels = channels_of("x", x)
    if weight is None:
        weight = b.param("weight", [channels], tensor_type(x).element_type, fill=0.25)
    return b.emit(PreluOp(x, weight)).out


def hard_sigmoid(b: GraphBuilder, x: Value) -> SSAValue:
    """(x + 3) / 6 limited to [0, 1]."""
    return b.emit(HardSigmoidOp(x)).out


def hard_swish(b: GraphBuilder, x: Value) -> SSAValue:
    """x hard_sigmoid(x)."""
    return b.emit(HardSwishOp(x)).out


LAYERS = (
    UnaryLayer(ReluOp, _relu, ReluGradOp, of_result=True),
    UnaryGradLayer(ReluGradOp, _relu_grad),
    UnaryLayer(ClipOp, _clip, ClipGradOp),
    ClipGradLayer(),
    UnaryLayer(HardSigmoidOp, _hard_sigmoid, HardSigmoidGradOp),
    UnaryGradLayer(HardSigmoidGradOp, _hard_sigmoid_grad),
    UnaryLayer(HardSwishOp, _hard_swish, HardSwishGradOp),
    UnaryGradLayer(HardSwishGradOp, _hard_swish_grad),
    UnaryLayer(LeakyReluOp, _leaky_relu, LeakyReluGradOp),
    UnaryGradLayer(LeakyReluGradOp, _leaky_relu_grad),
    PreluLayer(),
    PreluDxLayer(),
    PreluDwLayer(),
)
FUNCTIONS = (relu, relu6, clip, leaky_relu, prelu, hard_sigmoid, hard_swish)
