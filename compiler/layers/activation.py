"""Activation functions: one vector operation an element, forward and backward."""

from collections.abc import Sequence
from math import erf, pi, sqrt
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from npuc.compiler.builder import GraphBuilder
from npuc.compiler.layers.base import ArgumentError, Array, Emit, Gradients, Layer, OpT, Value, Work, result_elements
from npuc.dialects.train.activation import ClipGradOp, ClipOp, GeluGradOp, GeluOp, ReluGradOp, ReluOp

_erf = np.frompyfunc(erf, 1, 1)
_TANH_SCALE = sqrt(2.0 / pi)
_TANH_CUBE = 0.044715


class _Activation(Layer[OpT]):
    def work(self, op: OpT) -> Work:
        return Work(vector_ops=result_elements(op))


class ReluLayer(_Activation[ReluOp]):
    """max(x, 0)."""

    op = ReluOp

    def evaluate(self, op: ReluOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        return (np.maximum(x, 0),)

    def vjp(self, op: ReluOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(ReluGradOp(g, op.out)).dx]


class ReluGradLayer(_Activation[ReluGradOp]):
    """dy where y > 0."""

    op = ReluGradOp

    def evaluate(self, op: ReluGradOp, *arrays: Array) -> tuple[Array, ...]:
        dy, y = arrays
        return (np.where(y > 0, dy, 0),)


class ClipLayer(_Activation[ClipOp]):
    """x limited to [low, high]."""

    op = ClipOp

    def evaluate(self, op: ClipOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        return (np.clip(x, op.low.value.data, op.high.value.data),)

    def vjp(self, op: ClipOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(ClipGradOp(g, op.x, low=op.low.value.data, high=op.high.value.data)).dx]


class ClipGradLayer(_Activation[ClipGradOp]):
    """dy where low < x < high."""

    op = ClipGradOp

    def evaluate(self, op: ClipGradOp, *arrays: Array) -> tuple[Array, ...]:
        dy, x = arrays
        return (np.where((x > op.low.value.data) & (x < op.high.value.data), dy, 0),)


class GeluLayer(_Activation[GeluOp]):
    """x Phi(x) (Hendrycks, Gimpel 2016), or its tanh approximation."""

    op = GeluOp

    def evaluate(self, op: GeluOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        if op.tanh is not None:
            return (0.5 * x * (1 + np.tanh(_TANH_SCALE * (x + _TANH_CUBE * x**3))),)
        return (x * _phi(x),)

    def vjp(self, op: GeluOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(GeluGradOp(g, op.x, tanh=op.tanh is not None)).dx]


class GeluGradLayer(_Activation[GeluGradOp]):
    """dy times Phi(x) + x phi(x), or the derivative of the tanh form."""

    op = GeluGradOp

    def evaluate(self, op: GeluGradOp, *arrays: Array) -> tuple[Array, ...]:
        dy, x = arrays
        if op.tanh is not None:
            t = np.tanh(_TANH_SCALE * (x + _TANH_CUBE * x**3))
            slope = _TANH_SCALE * (1 + 3 * _TANH_CUBE * x**2)
            return (dy * (0.5 * (1 + t) + 0.5 * x * (1 - t**2) * slope),)
        density = np.exp(-0.5 * x**2) / sqrt(2 * pi)
        return (dy * (_phi(x) + x * density),)


def _phi(x: Array) -> Array:
    """The normal distribution function."""
    return 0.5 * (1 + np.asarray(_erf(x / sqrt(2.0)), dtype=x.dtype))


def relu(b: GraphBuilder, x: Value) -> SSAValue:
    """max(x, 0)."""
    return b.emit(ReluOp(x)).out


def relu6(b: GraphBuilder, x: Value) -> SSAValue:
    """x limited to 0 to 6."""
    return b.emit(ClipOp(x)).out


def clip(b: GraphBuilder, x: Value, low: float = 0.0, high: float = 6.0) -> SSAValue:
    """x limited to [low, high]."""
    return b.emit(ClipOp(x, low=float(low), high=float(high))).out


def gelu(b: GraphBuilder, x: Value, approximate: str = "none") -> SSAValue:
    """x times the normal distribution function of x; `approximate="tanh"` for the usual approximation."""
    if approximate not in ("none", "tanh"):
        raise ArgumentError("approximate", f"found '{approximate}', expected 'none' or 'tanh'")
    return b.emit(GeluOp(x, tanh=approximate == "tanh")).out


LAYERS = (ReluLayer(), ReluGradLayer(), ClipLayer(), ClipGradLayer(), GeluLayer(), GeluGradLayer())
FUNCTIONS = (relu, relu6, clip, gelu)
