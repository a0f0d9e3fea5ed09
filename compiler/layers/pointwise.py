"""
Mathematical functions of tensors: one vector operation per element, forward and for each gradient.

Equal operands of max and min share the gradient, as in PyTorch.
"""

from collections.abc import Sequence
from math import pi
from math import sqrt as root
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import Operand, Value, check_value
from npuc.compiler.layers.arithmetic import binary, negated, reduce_to
from npuc.compiler.layers.base import Array, Emit, Gradients, PerElementLayer
from npuc.compiler.layers.domains import Domain
from npuc.compiler.layers.smooth import erf_of
from npuc.compiler.layers.unary import UnaryGradLayer, UnaryLayer
from npuc.dialects.tensors import tensor_type
from npuc.dialects.train.arithmetic import BinaryOp, DivOp, MulOp
from npuc.dialects.train.pointwise import (
    AbsGradOp,
    AbsOp,
    BinaryGradOp,
    CosGradOp,
    CosOp,
    ErfGradOp,
    ErfOp,
    ExpOp,
    LogOp,
    MaxGradOp,
    MaxOp,
    MinGradOp,
    MinOp,
    PowDbaseOp,
    PowDexponentOp,
    PowerGradOp,
    PowerOp,
    PowOp,
    RsqrtGradOp,
    RsqrtOp,
    SinGradOp,
    SinOp,
    SqrtGradOp,
    SqrtOp,
)
from npuc.dialects.train.rules import check_numbers


class ExpLayer(PerElementLayer[ExpOp]):
    """exp(x), whose derivative is itself."""

    op = ExpOp
    elementwise = True

    def evaluate(self, op: ExpOp, *arrays: Array) -> tuple[Array, ...]:
        return (np.exp(*arrays),)

    def vjp(self, op: ExpOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(MulOp(g, op.out)).out]


class LogLayer(PerElementLayer[LogOp]):
    """log(x), whose derivative is 1 / x."""

    op = LogOp
    elementwise = True

    def evaluate(self, op: LogOp, *arrays: Array) -> tuple[Array, ...]:
        return (np.log(*arrays),)

    def vjp(self, op: LogOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(DivOp(g, op.x)).out]

    def domain(self, op: LogOp, operand: int) -> Domain | None:
        return Domain.INSIDE


class PowLayer(PerElementLayer[PowOp]):
    """a^b of two tensors."""

    op = PowOp
    elementwise = True

    def evaluate(self, op: PowOp, *arrays: Array) -> tuple[Array, ...]:
        whole = all(array.dtype.kind in "iu" for array in arrays)
        return (_integer_power(*arrays) if whole else np.power(*arrays),)

    def vjp(self, op: PowOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        da = reduce_to(emit(PowDbaseOp(g, op.lhs, op.rhs)).out, op.lhs, emit) if needs[0] else None
        db = reduce_to(emit(PowDexponentOp(g, op.lhs, op.rhs)).out, op.rhs, emit) if needs[1] else None
        return [da, db]


class PowDbaseLayer(PerElementLayer[PowDbaseOp]):
    """dy b a^(b - 1)."""

    op = PowDbaseOp

    def evaluate(self, op: PowDbaseOp, *arrays: Array) -> tuple[Array, ...]:
        dy, a, b = arrays
        return (np.where(b == 0, 0, dy * (b * np.power(a, b - 1))),)


class PowDexponentLayer(PerElementLayer[PowDexponentOp]):
    """dy a^b log(a)."""

    op = PowDexponentOp

    def evaluate(self, op: PowDexponentOp, *arrays: Array) -> tuple[Array, ...]:
        dy, a, b = arrays
        return (dy * np.where((a == 0) & (b >= 0), 0, np.power(a, b) * np.log(a)),)


class _ExtremeLayer(PerElementLayer[BinaryOp]):
    """Elementwise max or min; `gradient` is the derivative with respect to its second operand."""

    elementwise = True

    def __init__(self, op: type[BinaryOp], compute: np.ufunc, gradient: type[BinaryGradOp]):
        self.op = op
        self.compute = compute
        self.gradient = gradient

    def evaluate(self, op: BinaryOp, *arrays: Array) -> tuple[Array, ...]:
        return (self.compute(*arrays),)

    def vjp(self, op: BinaryOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        da = reduce_to(emit(self.gradient(g, op.lhs, op.rhs)).out, op.lhs, emit) if needs[0] else None
        db = reduce_to(emit(self.gradient(g, op.rhs, op.lhs)).out, op.rhs, emit) if needs[1] else None
        return [da, db]


class _ExtremeGradLayer(PerElementLayer[BinaryGradOp]):
    """The gradient of the first of two tensors: all of it unless the comparison `loses`, half where they are equal."""

    elementwise = True

    def __init__(self, op: type[BinaryGradOp], loses: np.ufunc):
        self.op = op
        self.loses = loses

    def evaluate(self, op: BinaryGradOp, *arrays: Array) -> tuple[Array, ...]:
        dy, own, other = arrays
        return (np.where(own == other, dy / 2, np.where(self.loses(own, other), 0, dy)),)


_ERF_SLOPE = 2 / root(pi)


def _sqrt_grad(dy: Array, y: Array) -> Array:
    return dy / (2 * y)


def _rsqrt(x: Array) -> Array:
    return 1 / np.sqrt(x)


def _rsqrt_grad(dy: Array, y: Array) -> Array:
    return -0.5 * dy * y**3


def _abs_grad(dy: Array, x: Array) -> Array:
    return dy * np.sign(x)


def _sin_grad(dy: Array, x: Array) -> Array:
    return dy * np.cos(x)


def _cos_grad(dy: Array, x: Array) -> Array:
    return -dy * np.sin(x)


def _erf_grad(dy: Array, x: Array) -> Array:
    return dy * _ERF_SLOPE * np.exp(-(x * x))


def _integer_power(a: Array, b: Array) -> Array:
    """Integers to the power of integers: to a negative one it is that of 1 and -1, and else 0, as PyTorch has it."""
    inverse = np.where(np.abs(a) == 1, np.where(b % 2 == 0, 1, a), 0)
    return np.where(b < 0, inverse, np.power(a, np.maximum(b, 0)))


def _power(x: Array, exponent: float) -> Array:
    return x ** (int(exponent) if x.dtype.kind == "i" else exponent)


def _power_grad(dy: Array, x: Array, exponent: float) -> Array:
    if exponent == 0:
        return np.zeros_like(dy)
    return dy * (exponent * x ** (exponent - 1))


def exp(b: GraphBuilder, x: Value) -> SSAValue:
    """e to the power of x."""
    return b.emit(ExpOp(x)).out


def log(b: GraphBuilder, x: Value) -> SSAValue:
    """The natural logarithm."""
    return b.emit(LogOp(x)).out


def sqrt(b: GraphBuilder, x: Value) -> SSAValue:
    """The square root."""
    return b.emit(SqrtOp(x)).out


def rsqrt(b: GraphBuilder, x: Value) -> SSAValue:
    """1 / sqrt(x)."""
    return b.emit(RsqrtOp(x)).out


def abs(b: GraphBuilder, x: Value) -> SSAValue:
    """The absolute value."""
    return b.emit(AbsOp(x)).out


def neg(b: GraphBuilder, x: Value) -> SSAValue:
    """-x. Also written so."""
    return negated(x, b.emit)


def sin(b: GraphBuilder, x: Value) -> SSAValue:
    """The sine of an angle in radians."""
    return b.emit(SinOp(x)).out


def cos(b: GraphBuilder, x: Value) -> SSAValue:
    """The cosine of an angle in radians."""
    return b.emit(CosOp(x)).out


def erf(b: GraphBuilder, x: Value) -> SSAValue:
    """The error function."""
    return b.emit(ErfOp(x)).out


def pow(b: GraphBuilder, x: Operand, exponent: Operand) -> SSAValue:
    """x to the power of a number or tensor, elementwise; shapes broadcast, x may be a number. Also `x ** exponent`."""
    if isinstance(x, SSAValue) and not isinstance(exponent, SSAValue):
        check_numbers(tensor_type(x))
        if exponent >= 0 and float(exponent).is_integer():  # integers have no others
            check_value("exponent", exponent, tensor_type(x).element_type)
        return b.emit(PowerOp(x, exponent=float(exponent))).out
    return binary(b, PowOp, x, exponent, ("x", "exponent"))


def max(b: GraphBuilder, x: Operand, y: Operand) -> SSAValue:
    """The larger of two tensors, or of a tensor and a number, elementwise; shapes broadcast."""
    return binary(b, MaxOp, x, y)


def min(b: GraphBuilder, x: Operand, y: Operand) -> SSAValue:
    """The smaller of two tensors, or of a tensor and a number, elementwise; shapes broadcast."""
    return binary(b, MinOp, x, y)


LAYERS = (
    ExpLayer(),
    LogLayer(),
    UnaryLayer(SqrtOp, np.sqrt, SqrtGradOp, of_result=True, within=Domain.INSIDE),
    UnaryGradLayer(SqrtGradOp, _sqrt_grad),
    UnaryLayer(RsqrtOp, _rsqrt, RsqrtGradOp, of_result=True, within=Domain.INSIDE),
    UnaryGradLayer(RsqrtGradOp, _rsqrt_grad),
    UnaryLayer(AbsOp, np.abs, AbsGradOp),
    UnaryGradLayer(AbsGradOp, _abs_grad),
    UnaryLayer(SinOp, np.sin, SinGradOp),
    UnaryGradLayer(SinGradOp, _sin_grad),
    UnaryLayer(CosOp, np.cos, CosGradOp),
    UnaryGradLayer(CosGradOp, _cos_grad),
    UnaryLayer(ErfOp, erf_of, ErfGradOp),
    UnaryGradLayer(ErfGradOp, _erf_grad),
    UnaryLayer(PowerOp, _power, PowerGradOp),
    UnaryGradLayer(PowerGradOp, _power_grad),
    PowLayer(),
    PowDbaseLayer(),
    PowDexponentLayer(),
    _ExtremeLayer(MaxOp, np.maximum, MaxGradOp),
    _ExtremeGradLayer(MaxGradOp, np.less),
    _ExtremeLayer(MinOp, np.minimum, MinGradOp),
    _ExtremeGradLayer(MinGradOp, np.greater),
)
FUNCTIONS = (exp, log, sqrt, rsqrt, abs, neg, sin, cos, erf, pow, max, min)
OPERATORS = {"**": pow}
