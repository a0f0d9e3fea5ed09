"""
Activation functions: one vector operation an element, forward and backward.

At kinks the gradient is PyTorch's: that of the left side for relu, elu and the leaky ones.
"""

from collections.abc import Callable, Sequence
from math import erf, pi, sqrt
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from npuc.compiler.builder import GraphBuilder
from npuc.compiler.layers.arithmetic import ElementwiseLayer
from npuc.compiler.layers.base import (
    ArgumentError,
    Array,
    Emit,
    Gradients,
    Layer,
    OptValue,
    Value,
    Work,
    channels_of,
    elements,
)
from npuc.dialects.tensors import tensor_type
from npuc.dialects.train.activation import (
    ClipGradOp,
    ClipOp,
    EluGradOp,
    EluOp,
    GeluGradOp,
    GeluOp,
    HardSigmoidGradOp,
    HardSigmoidOp,
    HardSwishGradOp,
    HardSwishOp,
    LeakyReluGradOp,
    LeakyReluOp,
    MishGradOp,
    MishOp,
    PreluDwOp,
    PreluDxOp,
    PreluOp,
    ReluGradOp,
    ReluOp,
    SigmoidGradOp,
    SigmoidOp,
    SiluGradOp,
    SiluOp,
    SoftplusGradOp,
    SoftplusOp,
    TanhGradOp,
    TanhOp,
    UnaryGradOp,
    UnaryOp,
)
from npuc.dialects.train.base import decode

Compute = Callable[..., Array]
"""Arrays and the operation's properties by name -> the result."""

_vector_erf = np.frompyfunc(erf, 1, 1)
_TANH_SCALE = sqrt(2.0 / pi)
_TANH_CUBE = 0.044715


def _params(op: UnaryOp | UnaryGradOp) -> dict[str, Any]:
    """The properties of an operation by name."""
    return {name: decode(attr) for name, attr in op.properties.items()}


class UnaryLayer(ElementwiseLayer[UnaryOp]):
    """
    A function of one tensor, which `compute` evaluates.

    The operation `gradient` takes the output's gradient and the input, or the output if it is `of_result`, and has
    the same properties.
    """

    def __init__(self, op: type[UnaryOp], compute: Compute, gradient: type[UnaryGradOp], *, of_result: bool = False):
        self.op = op
        self.compute = compute
        self.gradient = gradient
        self.of_result = of_result

    def evaluate(self, op: UnaryOp, *arrays: Array) -> tuple[Array, ...]:
        return (self.compute(*arrays, **_params(op)),)

    def vjp(self, op: UnaryOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(self.gradient(g, op.out if self.of_result else op.x, **_params(op))).dx]


class UnaryGradLayer(ElementwiseLayer[UnaryGradOp]):
    """The derivative of a function of one tensor, which `compute` evaluates."""

    def __init__(self, op: type[UnaryGradOp], compute: Compute):
        self.op = op
        self.compute = compute

    def evaluate(self, op: UnaryGradOp, *arrays: Array) -> tuple[Array, ...]:
        return (self.compute(*arrays, **_params(op)),)


class PreluLayer(ElementwiseLayer[PreluOp]):
    """x where x > 0, else the channel's slope times x."""

    op = PreluOp

    def evaluate(self, op: PreluOp, *arrays: Array) -> tuple[Array, ...]:
        x, weight = arrays
        return (np.where(x > 0, x, _columns(weight, x) * x),)

    def vjp(self, op: PreluOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        dx = emit(PreluDxOp(g, op.x, op.weight)).dx if needs[0] else None
        return [dx, emit(PreluDwOp(g, op.x)).dw if needs[1] else None]


class PreluDxLayer(ElementwiseLayer[PreluDxOp]):
    """dy where x > 0, else the channel's slope times dy."""

    op = PreluDxOp

    def evaluate(self, op: PreluDxOp, *arrays: Array) -> tuple[Array, ...]:
        dy, x, weight = arrays
        return (np.where(x > 0, dy, _columns(weight, x) * dy),)


class PreluDwLayer(Layer[PreluDwOp]):
    """The sum of dy x where x <= 0, a channel each; one vector operation an element of x."""

    op = PreluDwOp

    def evaluate(self, op: PreluDwOp, *arrays: Array) -> tuple[Array, ...]:
        dy, x = arrays
        return (np.where(x > 0, 0, dy * x).sum(axis=(0, *range(2, x.ndim))),)

    def work(self, op: PreluDwOp) -> Work:
        return Work(vector_ops=elements(op.x))


def _columns(values: Array, x: Array) -> Array:
    """One value a channel, shaped to broadcast against x."""
    return values.reshape(1, -1, *(1,) * (x.ndim - 2))


# What the functions compute, on arrays; none overflows for large |x|.


def _relu(x: Array) -> Array:
    return np.maximum(x, 0)


def _relu_grad(dy: Array, y: Array) -> Array:
    return np.where(y > 0, dy, 0)


def _clip(x: Array, low: float, high: float, closed: bool = False) -> Array:
    return np.clip(x, low, high)


def _clip_grad(dy: Array, x: Array, low: float, high: float, closed: bool = False) -> Array:
    inside = (x >= low) & (x <= high) if closed else (x > low) & (x < high)
    return np.where(inside, dy, 0)


def erf_of(x: Array) -> Array:
    """The error function."""
    return np.asarray(_vector_erf(x), dtype=x.dtype)


def _phi(x: Array) -> Array:
    """The normal distribution function."""
    return 0.5 * (1 + erf_of(x / sqrt(2.0)))


def _gelu(x: Array, tanh: bool = False) -> Array:
    """x Phi(x) (Hendrycks, Gimpel 2016), or its tanh approximation."""
    if tanh:
        return 0.5 * x * (1 + np.tanh(_TANH_SCALE * (x + _TANH_CUBE * x**3)))
    return x * _phi(x)


def _gelu_grad(dy: Array, x: Array, tanh: bool = False) -> Array:
    """dy times Phi(x) + x phi(x), or the derivative of the tanh form."""
    if tanh:
        t = np.tanh(_TANH_SCALE * (x + _TANH_CUBE * x**3))
        slope = _TANH_SCALE * (1 + 3 * _TANH_CUBE * x**2)
        return dy * (0.5 * (1 + t) + 0.5 * x * (1 - t**2) * slope)
    density = np.exp(-0.5 * x**2) / sqrt(2 * pi)
    return dy * (_phi(x) + x * density)


def _sigmoid(x: Array) -> Array:
    power = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, power) / (1 + power)


def _sigmoid_grad(dy: Array, y: Array) -> Array:
    return dy * y * (1 - y)


def _tanh_grad(dy: Array, y: Array) -> Array:
    return dy * (1 - y * y)


def _silu(x: Array) -> Array:
    return x * _sigmoid(x)


def _silu_grad(dy: Array, x: Array) -> Array:
    y = _sigmoid(x)
    return dy * y * (1 + x * (1 - y))


def _softplus(x: Array) -> Array:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _softplus_grad(dy: Array, x: Array) -> Array:
    return dy * _sigmoid(x)


def _mish(x: Array) -> Array:
    return x * np.tanh(_softplus(x))


def _mish_grad(dy: Array, x: Array) -> Array:
    t = np.tanh(_softplus(x))
    return dy * (t + x * _sigmoid(x) * (1 - t * t))


def _hard_sigmoid(x: Array) -> Array:
    return np.clip(x + 3, 0, 6) / 6


def _hard_sigmoid_grad(dy: Array, x: Array) -> Array:
    return np.where((x > -3) & (x < 3), dy / 6, 0)


def _hard_swish(x: Array) -> Array:
    return x * np.clip(x + 3, 0, 6) / 6


def _hard_swish_grad(dy: Array, x: Array) -> Array:
    return np.where(x <= -3, 0, np.where(x < 3, dy * (x / 3 + 0.5), dy))


def _elu(x: Array, alpha: float) -> Array:
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def _elu_grad(dy: Array, x: Array, alpha: float) -> Array:
    return np.where(x > 0, dy, dy * alpha * np.exp(np.minimum(x, 0)))


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


def clip(b: GraphBuilder, x: Value, low: float = 0.0, high: float = 6.0) -> SSAValue:
    """x limited to [low, high]; at the bounds the gradient passes."""
    if not low <= high:
        raise ArgumentError("low", f"found {low}, expected at most high, which is {high}")
    return b.emit(ClipOp(x, low=float(low), high=float(high), closed=True)).out


def gelu(b: GraphBuilder, x: Value, approximate: str = "none") -> SSAValue:
    """x times the normal distribution function of x; `approximate="tanh"` for the usual approximation."""
    if approximate not in ("none", "tanh"):
        raise ArgumentError("approximate", f"found '{approximate}', expected 'none' or 'tanh'")
    return b.emit(GeluOp(x, tanh=approximate == "tanh")).out


def sigmoid(b: GraphBuilder, x: Value) -> SSAValue:
    """1 / (1 + exp(-x))."""
    return b.emit(SigmoidOp(x)).out


def tanh(b: GraphBuilder, x: Value) -> SSAValue:
    """The hyperbolic tangent."""
    return b.emit(TanhOp(x)).out


def silu(b: GraphBuilder, x: Value) -> SSAValue:
    """x sigmoid(x), also known as swish."""
    return b.emit(SiluOp(x)).out


def elu(b: GraphBuilder, x: Value, alpha: float = 1.0) -> SSAValue:
    """x where x > 0, else alpha (exp(x) - 1)."""
    return b.emit(EluOp(x, alpha=float(alpha))).out


def softplus(b: GraphBuilder, x: Value) -> SSAValue:
    """log(1 + exp(x))."""
    return b.emit(SoftplusOp(x)).out


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


def mish(b: GraphBuilder, x: Value) -> SSAValue:
    """x tanh(softplus(x))."""
    return b.emit(MishOp(x)).out


LAYERS = (
    UnaryLayer(ReluOp, _relu, ReluGradOp, of_result=True),
    UnaryGradLayer(ReluGradOp, _relu_grad),
    UnaryLayer(ClipOp, _clip, ClipGradOp),
    UnaryGradLayer(ClipGradOp, _clip_grad),
    UnaryLayer(GeluOp, _gelu, GeluGradOp),
    UnaryGradLayer(GeluGradOp, _gelu_grad),
    UnaryLayer(SigmoidOp, _sigmoid, SigmoidGradOp, of_result=True),
    UnaryGradLayer(SigmoidGradOp, _sigmoid_grad),
    UnaryLayer(TanhOp, np.tanh, TanhGradOp, of_result=True),
    UnaryGradLayer(TanhGradOp, _tanh_grad),
    UnaryLayer(SiluOp, _silu, SiluGradOp),
    UnaryGradLayer(SiluGradOp, _silu_grad),
    UnaryLayer(SoftplusOp, _softplus, SoftplusGradOp),
    UnaryGradLayer(SoftplusGradOp, _softplus_grad),
    UnaryLayer(MishOp, _mish, MishGradOp),
    UnaryGradLayer(MishGradOp, _mish_grad),
    UnaryLayer(HardSigmoidOp, _hard_sigmoid, HardSigmoidGradOp),
    UnaryGradLayer(HardSigmoidGradOp, _hard_sigmoid_grad),
    UnaryLayer(HardSwishOp, _hard_swish, HardSwishGradOp),
    UnaryGradLayer(HardSwishGradOp, _hard_swish_grad),
    UnaryLayer(EluOp, _elu, EluGradOp),
    UnaryGradLayer(EluGradOp, _elu_grad),
    UnaryLayer(LeakyReluOp, _leaky_relu, LeakyReluGradOp),
    UnaryGradLayer(LeakyReluGradOp, _leaky_relu_grad),
    PreluLayer(),
    PreluDxLayer(),
    PreluDwLayer(),
)
FUNCTIONS = (
    relu,
    relu6,
    clip,
    gelu,
    sigmoid,
    tanh,
    silu,
    elu,
    softplus,
    leaky_relu,
    prelu,
    hard_sigmoid,
    hard_swish,
    mish,
)
