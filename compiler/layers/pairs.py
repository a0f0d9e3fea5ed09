"""Functions of two tensors: one vector operation per element, forward and for each gradient."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import Operand
from npuc.compiler.layers.arithmetic import binary, negated, reduce_to
from npuc.compiler.layers.base import Array, Emit, Gradients, PerElementLayer
from npuc.compiler.layers.smooth import sigmoid_of
from npuc.dialects.tensors import tensor_type
from npuc.dialects.train.arithmetic import constant
from npuc.dialects.train.pairs import (
    Atan2GradOp,
    Atan2Op,
    CopysignGradOp,
    CopysignOp,
    FloatPairOp,
    HypotGradOp,
    HypotOp,
    LogaddexpGradOp,
    LogaddexpOp,
)
from npuc.dialects.train.pointwise import BinaryGradOp


class _PairLayer(PerElementLayer[FloatPairOp]):
    """
    A function of two tensors, which `compute` evaluates.

    `gradient` is the derivative with respect to its own one of two operands; that of the second is `sign` times it,
    where it is 0 a constant.
    """

    elementwise = True

    def __init__(
        self, op: type[FloatPairOp], compute: Callable[..., Array], gradient: type[BinaryGradOp], sign: int = 1
    ):
        self.op = op
        self.compute = compute
        self.gradient = gradient
        self.sign = sign

    def evaluate(self, op: FloatPairOp, *arrays: Array) -> tuple[Array, ...]:
        return (self.compute(*arrays),)

    def vjp(
        self, op: FloatPairOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]
    ) -> Gradients:
        (g,) = grads
        assert g is not None
        da = reduce_to(emit(self.gradient(g, op.lhs, op.rhs)).out, op.lhs, emit) if needs[0] else None
        if not needs[1]:
            return [da, None]
        if not self.sign:
            return [da, emit(constant(tensor_type(op.rhs), 0.0)).out]
        dy = negated(g, emit) if self.sign < 0 else g
        return [da, reduce_to(emit(self.gradient(dy, op.rhs, op.lhs)).out, op.rhs, emit)]


class _PairGradLayer(PerElementLayer[BinaryGradOp]):
    """The gradient of the first of two tensors, which `compute` evaluates."""

    elementwise = True

    def __init__(self, op: type[BinaryGradOp], compute: Callable[..., Array]):
        self.op = op
        self.compute = compute

    def evaluate(self, op: BinaryGradOp, *arrays: Array) -> tuple[Array, ...]:
        return (self.compute(*arrays),)


def _atan2_grad(dy: Array, own: Array, other: Array) -> Array:
    return dy * other / (own * own + other * other)


def _hypot_grad(dy: Array, own: Array, other: Array) -> Array:
    return dy * (own / np.hypot(own, other))


def _logaddexp_grad(dy: Array, own: Array, other: Array) -> Array:
    return dy * sigmoid_of(own - other)


def _copysign_grad(dy: Array, own: Array, other: Array) -> Array:
    return dy * np.sign(own) * np.copysign(np.ones((), dtype=own.dtype, like=own), other)


def atan2(b: GraphBuilder, x: Operand, y: Operand) -> SSAValue:
    """The angle from -pi to pi whose tangent is x / y, that of the point (y, x); shapes broadcast."""
    return binary(b, Atan2Op, x, y)


def hypot(b: GraphBuilder, x: Operand, y: Operand) -> SSAValue:
    """sqrt(x^2 + y^2), elementwise, without overflow; shapes broadcast, one may be a number."""
    return binary(b, HypotOp, x, y)


def logaddexp(b: GraphBuilder, x: Operand, y: Operand) -> SSAValue:
    """log(exp(x) + exp(y)), elementwise, without overflow; shapes broadcast, one may be a number."""
    return binary(b, LogaddexpOp, x, y)


def copysign(b: GraphBuilder, x: Operand, y: Operand) -> SSAValue:
    """|x| with the sign of y, elementwise; shapes broadcast, one may be a number. y's gradient is 0."""
    return binary(b, CopysignOp, x, y)


LAYERS = (
    _PairLayer(Atan2Op, np.arctan2, Atan2GradOp, -1),
    _PairGradLayer(Atan2GradOp, _atan2_grad),
    _PairLayer(HypotOp, np.hypot, HypotGradOp),
    _PairGradLayer(HypotGradOp, _hypot_grad),
    _PairLayer(LogaddexpOp, np.logaddexp, LogaddexpGradOp),
    _PairGradLayer(LogaddexpGradOp, _logaddexp_grad),
    _PairLayer(CopysignOp, np.copysign, CopysignGradOp, 0),
    _PairGradLayer(CopysignGradOp, _copysign_grad),
)
FUNCTIONS = (atan2, hypot, logaddexp, copysign)
