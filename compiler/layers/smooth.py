"""Smooth activation functions: one vector operation per element, forward and backward."""

from math import erf, inf, pi, sqrt

import numpy as np
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import ArgumentError, Value, check_word
from npuc.compiler.layers.arithmetic import mul
from npuc.compiler.layers.base import Array
from npuc.compiler.layers.unary import UnaryGradLayer, UnaryLayer
from npuc.dialects.train.smooth import (
    EluGradOp,
    EluOp,
    GeluGradOp,
    GeluOp,
    MishGradOp,
    MishOp,
    SigmoidGradOp,
    SigmoidOp,
    SiluGradOp,
    SiluOp,
    SoftplusGradOp,
    SoftplusOp,
    TanhGradOp,
    TanhOp,
)

_vector_erf = np.frompyfunc(erf, 1, 1)
_TANH_SCALE = sqrt(2.0 / pi)
_TANH_CUBE = 0.044715


# The functions on arrays; none overflows for large |x|.


def erf_of(x: Array) -> Array:
    """The error function."""
    return np.asarray(_vector_erf(x), dtype=x.dtype, like=x)


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


def sigmoid_of(x: Array) -> Array:
    """1 / (1 + exp(-x)) without overflow."""
    power = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, power) / (1 + power)


def _sigmoid_grad(dy: Array, y: Array) -> Array:
    return dy * y * (1 - y)


def _tanh_grad(dy: Array, y: Array) -> Array:
    return dy * (1 - y * y)


def _silu(x: Array) -> Array:
    return x * sigmoid_of(x)


def _silu_grad(dy: Array, x: Array) -> Array:
    y = sigmoid_of(x)
    return dy * y * (1 + x * (1 - y))


def softplus_of(x: Array) -> Array:
    """log(1 + exp(x)) without overflow."""
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _softplus_grad(dy: Array, x: Array) -> Array:
    return dy * sigmoid_of(x)


def _mish(x: Array) -> Array:
    return x * np.tanh(softplus_of(x))


def _mish_grad(dy: Array, x: Array) -> Array:
    t = np.tanh(softplus_of(x))
    return dy * (t + x * sigmoid_of(x) * (1 - t * t))


def _elu(x: Array, alpha: float) -> Array:
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def _elu_grad(dy: Array, x: Array, alpha: float) -> Array:
    return np.where(x > 0, dy, dy * alpha * np.exp(np.minimum(x, 0)))


def gelu(b: GraphBuilder, x: Value, approximate: str = "none") -> SSAValue:
    """x times the normal distribution function of x; `approximate="tanh"` for the usual approximation."""
    check_word("approximate", approximate, ("none", "tanh"))
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


def softplus(b: GraphBuilder, x: Value, beta: float = 1.0) -> SSAValue:
    """log(1 + exp(beta x)) / beta."""
    if not 0 < beta < inf:
        raise ArgumentError("beta", f"found {beta}, expected a positive number")
    if beta == 1:
        return b.emit(SoftplusOp(x)).out
    return mul(b, b.emit(SoftplusOp(mul(b, x, beta))).out, 1 / beta)


def mish(b: GraphBuilder, x: Value) -> SSAValue:
    """x tanh(softplus(x))."""
    return b.emit(MishOp(x)).out


LAYERS = (
    UnaryLayer(GeluOp, _gelu, GeluGradOp),
    UnaryGradLayer(GeluGradOp, _gelu_grad),
    UnaryLayer(SigmoidOp, sigmoid_of, SigmoidGradOp, of_result=True),
    UnaryGradLayer(SigmoidGradOp, _sigmoid_grad),
    UnaryLayer(TanhOp, np.tanh, TanhGradOp, of_result=True),
    UnaryGradLayer(TanhGradOp, _tanh_grad),
    UnaryLayer(SiluOp, _silu, SiluGradOp),
    UnaryGradLayer(SiluGradOp, _silu_grad),
    UnaryLayer(SoftplusOp, softplus_of, SoftplusGradOp),
    UnaryGradLayer(SoftplusGradOp, _softplus_grad),
    UnaryLayer(MishOp, _mish, MishGradOp),
    UnaryGradLayer(MishGradOp, _mish_grad),
    UnaryLayer(EluOp, _elu, EluGradOp),
    UnaryGradLayer(EluGradOp, _elu_grad),
)
FUNCTIONS = (gelu, sigmoid, tanh, silu, elu, softplus, mish)
