"""
Rounding, signs and remainders: one vector operation per element.

Between its steps a function such as floor is constant, so that its derivative is 0, in PyTorch at the steps too; a
remainder has the slope 1 in the dividend and minus the rounded quotient in the divisor.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import Operand, Value
from npuc.compiler.layers.arithmetic import binary, negated, reduce_to
from npuc.compiler.layers.base import Array, DataError, Emit, Gradients, PerElementLayer
from npuc.compiler.layers.domains import known_any
from npuc.dialects.tensors import tensor_type
from npuc.dialects.train.arithmetic import BinaryOp, DivOp, MulOp, SubOp, constant
from npuc.dialects.train.stepwise import CeilOp, FloorOp, FmodOp, RemainderOp, RoundOp, SignOp, TruncOp
from npuc.dialects.train.unary import UnaryOp


class _StepLayer(PerElementLayer[UnaryOp]):
    """A function of steps, which `compute` evaluates. Its derivative is 0, and not none: parameters get a gradient."""

    elementwise = True

    def __init__(self, op: type[UnaryOp], compute: Callable[[Array], Array]):
        self.op = op
        self.compute = compute

    def evaluate(self, op: UnaryOp, *arrays: Array) -> tuple[Array, ...]:
        return (self.compute(*arrays),)

    def vjp(self, op: UnaryOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        return [emit(constant(tensor_type(op.x), 0.0)).out]


class _RemainderLayer(PerElementLayer[BinaryOp]):
    """What a division leaves that rounds its quotient: x - quotient y."""

    elementwise = True

    def __init__(self, op: type[BinaryOp], compute: Callable[[Array, Array], Array]):
        self.op = op
        self.compute = compute

    def evaluate(self, op: BinaryOp, *arrays: Array) -> tuple[Array, ...]:
        a, b = arrays
        if a.dtype.kind == "i" and known_any(b == 0):
            raise DataError("remainder of a division of an integer by zero")
        return (self.compute(a, b),)

    def vjp(self, op: BinaryOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        da = reduce_to(g, op.lhs, emit) if needs[0] else None
        db = None
        if needs[1]:
            whole = emit(SubOp(op.lhs, op.out)).out  # x / y may round to a whole number that it does not reach
            quotient = emit(RoundOp(emit(DivOp(whole, op.rhs)).out)).out
            db = negated(reduce_to(emit(MulOp(g, quotient)).out, op.rhs, emit), emit)
        return [da, db]


def floor(b: GraphBuilder, x: Value) -> SSAValue:
    """The largest integer that is at most x, as a float; its derivative is 0."""
    return b.emit(FloorOp(x)).out


def ceil(b: GraphBuilder, x: Value) -> SSAValue:
    """The smallest integer that is at least x, as a float; its derivative is 0."""
    return b.emit(CeilOp(x)).out


def round(b: GraphBuilder, x: Value) -> SSAValue:
    """The integer nearest to x, the even one of two, as a float; its derivative is 0."""
    return b.emit(RoundOp(x)).out


def trunc(b: GraphBuilder, x: Value) -> SSAValue:
    """x rounded towards 0, as a float; its derivative is 0."""
    return b.emit(TruncOp(x)).out


def sign(b: GraphBuilder, x: Value) -> SSAValue:
    """1 where x > 0, -1 where x < 0, else 0; its derivative is 0."""
    return b.emit(SignOp(x)).out


def remainder(b: GraphBuilder, x: Operand, y: Operand) -> SSAValue:
    """x - floor(x / y) y, elementwise, with the sign of y; shapes broadcast, one may be a number."""
    return binary(b, RemainderOp, x, y)


def fmod(b: GraphBuilder, x: Operand, y: Operand) -> SSAValue:
    """x - trunc(x / y) y, elementwise, with the sign of x, as C's fmod; shapes broadcast, one may be a number."""
    return binary(b, FmodOp, x, y)


LAYERS = (
    _StepLayer(FloorOp, np.floor),
    _StepLayer(CeilOp, np.ceil),
    _StepLayer(RoundOp, np.rint),
    _StepLayer(TruncOp, np.trunc),
    _StepLayer(SignOp, np.sign),
    _RemainderLayer(RemainderOp, np.remainder),
    _RemainderLayer(FmodOp, np.fmod),
)
FUNCTIONS = (floor, ceil, round, trunc, sign, remainder, fmod)
