"""Trigonometric, hyperbolic, logarithmic and exponential functions: one vector operation per element each way."""

from math import log

import numpy as np
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import Value
from npuc.compiler.layers.base import Array
from npuc.compiler.layers.domains import Domain
from npuc.compiler.layers.unary import UnaryGradLayer, UnaryLayer
from npuc.dialects.train.transcendental import (
    AcosGradOp,
    AcoshGradOp,
    AcoshOp,
    AcosOp,
    AsinGradOp,
    AsinhGradOp,
    AsinhOp,
    AsinOp,
    AtanGradOp,
    AtanhGradOp,
    AtanhOp,
    AtanOp,
    CoshGradOp,
    CoshOp,
    Expm1GradOp,
    Expm1Op,
    Log1pGradOp,
    Log1pOp,
    Log2GradOp,
    Log2Op,
    Log10GradOp,
    Log10Op,
    SinhGradOp,
    SinhOp,
    TanGradOp,
    TanOp,
)

# The derivatives on arrays: of the output y or of the operand x.


def _tan_grad(dy: Array, y: Array) -> Array:
    return dy * (1 + y * y)


def _asin_grad(dy: Array, x: Array) -> Array:
    return dy / np.sqrt(1 - x * x)


def _acos_grad(dy: Array, x: Array) -> Array:
    return -dy / np.sqrt(1 - x * x)


def _atan_grad(dy: Array, x: Array) -> Array:
    return dy / (1 + x * x)


def _sinh_grad(dy: Array, x: Array) -> Array:
    return dy * np.cosh(x)


def _cosh_grad(dy: Array, x: Array) -> Array:
    return dy * np.sinh(x)


def _asinh_grad(dy: Array, x: Array) -> Array:
    return dy / np.sqrt(1 + x * x)


def _acosh_grad(dy: Array, x: Array) -> Array:
    return dy / np.sqrt(x * x - 1)


def _atanh_grad(dy: Array, x: Array) -> Array:
    return dy / (1 - x * x)


def _log1p_grad(dy: Array, x: Array) -> Array:
    return dy / (1 + x)


def _expm1_grad(dy: Array, y: Array) -> Array:
    return dy * (y + 1)


def _log2_grad(dy: Array, x: Array) -> Array:
    return dy / (x * log(2))


def _log10_grad(dy: Array, x: Array) -> Array:
    return dy / (x * log(10))


def tan(b: GraphBuilder, x: Value) -> SSAValue:
    """The tangent of an angle in radians."""
    return b.emit(TanOp(x)).out


def asin(b: GraphBuilder, x: Value) -> SSAValue:
    """The angle from -pi / 2 to pi / 2 whose sine is x."""
    return b.emit(AsinOp(x)).out


def acos(b: GraphBuilder, x: Value) -> SSAValue:
    """The angle from 0 to pi whose cosine is x."""
    return b.emit(AcosOp(x)).out


def atan(b: GraphBuilder, x: Value) -> SSAValue:
    """The angle from -pi / 2 to pi / 2 whose tangent is x."""
    return b.emit(AtanOp(x)).out


def sinh(b: GraphBuilder, x: Value) -> SSAValue:
    """The hyperbolic sine."""
    return b.emit(SinhOp(x)).out


def cosh(b: GraphBuilder, x: Value) -> SSAValue:
    """The hyperbolic cosine."""
    return b.emit(CoshOp(x)).out


def asinh(b: GraphBuilder, x: Value) -> SSAValue:
    """The inverse of sinh."""
    return b.emit(AsinhOp(x)).out


def acosh(b: GraphBuilder, x: Value) -> SSAValue:
    """The inverse of cosh that is at least 0."""
    return b.emit(AcoshOp(x)).out


def atanh(b: GraphBuilder, x: Value) -> SSAValue:
    """The inverse of tanh."""
    return b.emit(AtanhOp(x)).out


def log1p(b: GraphBuilder, x: Value) -> SSAValue:
    """log(1 + x), exact for small x."""
    return b.emit(Log1pOp(x)).out


def expm1(b: GraphBuilder, x: Value) -> SSAValue:
    """exp(x) - 1, exact for small x."""
    return b.emit(Expm1Op(x)).out


def log2(b: GraphBuilder, x: Value) -> SSAValue:
    """The logarithm to the base 2."""
    return b.emit(Log2Op(x)).out


def log10(b: GraphBuilder, x: Value) -> SSAValue:
    """The logarithm to the base 10."""
    return b.emit(Log10Op(x)).out


LAYERS = (
    UnaryLayer(TanOp, np.tan, TanGradOp, of_result=True),
    UnaryGradLayer(TanGradOp, _tan_grad),
    UnaryLayer(AsinOp, np.arcsin, AsinGradOp, within=Domain.INSIDE),
    UnaryGradLayer(AsinGradOp, _asin_grad),
    UnaryLayer(AcosOp, np.arccos, AcosGradOp, within=Domain.INSIDE),
    UnaryGradLayer(AcosGradOp, _acos_grad),
    UnaryLayer(AtanOp, np.arctan, AtanGradOp),
    UnaryGradLayer(AtanGradOp, _atan_grad),
    UnaryLayer(SinhOp, np.sinh, SinhGradOp),
    UnaryGradLayer(SinhGradOp, _sinh_grad),
    UnaryLayer(CoshOp, np.cosh, CoshGradOp),
    UnaryGradLayer(CoshGradOp, _cosh_grad),
    UnaryLayer(AsinhOp, np.arcsinh, AsinhGradOp),
    UnaryGradLayer(AsinhGradOp, _asinh_grad),
    UnaryLayer(AcoshOp, np.arccosh, AcoshGradOp),
    UnaryGradLayer(AcoshGradOp, _acosh_grad),
    UnaryLayer(AtanhOp, np.arctanh, AtanhGradOp, within=Domain.INSIDE),
    UnaryGradLayer(AtanhGradOp, _atanh_grad),
    UnaryLayer(Log1pOp, np.log1p, Log1pGradOp),
    UnaryGradLayer(Log1pGradOp, _log1p_grad),
    UnaryLayer(Expm1Op, np.expm1, Expm1GradOp, of_result=True),
    UnaryGradLayer(Expm1GradOp, _expm1_grad),
    UnaryLayer(Log2Op, np.log2, Log2GradOp, within=Domain.INSIDE),
    UnaryGradLayer(Log2GradOp, _log2_grad),
    UnaryLayer(Log10Op, np.log10, Log10GradOp, within=Domain.INSIDE),
    UnaryGradLayer(Log10GradOp, _log10_grad),
)
FUNCTIONS = (tan, asin, acos, atan, sinh, cosh, asinh, acosh, atanh, log1p, expm1, log2, log10)
