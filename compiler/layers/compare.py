"""Comparisons, boolean operations and selection: one vector operation per element. Only selections have gradients."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import ArgumentError, Operand, Value
from npuc.compiler.layers.arithmetic import as_tensors, binary, reduce_to
from npuc.compiler.layers.base import Array, Cut, Emit, Gradients, PerElementLayer, broadcast_cuts
from npuc.dialects.tensors import element_text, tensor_of, tensor_type
from npuc.dialects.train.arithmetic import constant
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.compare import (
    EqualOp,
    GreaterEqualOp,
    GreaterOp,
    IsFiniteOp,
    IsInfOp,
    IsNanOp,
    LessEqualOp,
    LessOp,
    LogicalAndOp,
    LogicalNotOp,
    LogicalOrOp,
    NotEqualOp,
    WhereOp,
)


class _PredicateLayer(PerElementLayer[TrainOp]):
    """An operation whose result is a bool, which has no gradient."""

    def __init__(self, op: type[TrainOp], compute: Callable[..., Array]):
        self.op = op
        self.compute = compute

    def evaluate(self, op: TrainOp, *arrays: Array) -> tuple[Array, ...]:
        return (self.compute(*arrays),)

    def cuts(self, op: TrainOp) -> Sequence[Cut]:
        return broadcast_cuts(op)


class WhereLayer(PerElementLayer[WhereOp]):
    """x or y, by the condition."""

    op = WhereOp

    def evaluate(self, op: WhereOp, *arrays: Array) -> tuple[Array, ...]:
        return (np.where(*arrays),)

    def vjp(self, op: WhereOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        zero = emit(constant(tensor_of(tensor_type(g).element_type, ()), 0.0)).out
        dx = reduce_to(emit(WhereOp(op.condition, g, zero)).out, op.x, emit) if needs[1] else None
        dy = reduce_to(emit(WhereOp(op.condition, zero, g)).out, op.y, emit) if needs[2] else None
        return [None, dx, dy]

    def cuts(self, op: WhereOp) -> Sequence[Cut]:
        return broadcast_cuts(op)


def equal(b: GraphBuilder, x: Operand, y: Operand) -> SSAValue:
    """Whether x = y, elementwise; shapes broadcast, one may be a number. A bool tensor. Also written `x == y`."""
    return binary(b, EqualOp, x, y)


def not_equal(b: GraphBuilder, x: Operand, y: Operand) -> SSAValue:
    """Whether x and y differ, elementwise; shapes broadcast, one may be a number. Also written `x != y`."""
    return binary(b, NotEqualOp, x, y)


def less(b: GraphBuilder, x: Operand, y: Operand) -> SSAValue:
    """Whether x < y, elementwise; shapes broadcast, one may be a number. Also written `x < y`."""
    return binary(b, LessOp, x, y)


def less_equal(b: GraphBuilder, x: Operand, y: Operand) -> SSAValue:
    """Whether x <= y, elementwise; shapes broadcast, one may be a number. Also written `x <= y`."""
    return binary(b, LessEqualOp, x, y)


def greater(b: GraphBuilder, x: Operand, y: Operand) -> SSAValue:
    """Whether x > y, elementwise; shapes broadcast, one may be a number. Also written `x > y`."""
    return binary(b, GreaterOp, x, y)


def greater_equal(b: GraphBuilder, x: Operand, y: Operand) -> SSAValue:
    """Whether x >= y, elementwise; shapes broadcast, one may be a number. Also written `x >= y`."""
    return binary(b, GreaterEqualOp, x, y)


def logical_and(b: GraphBuilder, x: Value, y: Value) -> SSAValue:
    """Whether both of two bool tensors are true, elementwise; shapes broadcast."""
    return b.emit(LogicalAndOp(x, y)).out


def logical_or(b: GraphBuilder, x: Value, y: Value) -> SSAValue:
    """Whether one of two bool tensors is true, elementwise; shapes broadcast."""
    return b.emit(LogicalOrOp(x, y)).out


def logical_not(b: GraphBuilder, x: Value) -> SSAValue:
    """True where a bool tensor is false, and the other way round."""
    return b.emit(LogicalNotOp(x)).out


def logical_xor(b: GraphBuilder, x: Value, y: Value) -> SSAValue:
    """Whether exactly one of two bool tensors is true, elementwise; shapes broadcast."""
    for name, value in (("x", x), ("y", y)):
        if tensor_type(value).element_type != i1:
            found = element_text(tensor_type(value).element_type)
            raise ArgumentError(name, f"found elements of {found}, expected bool", "compare, as in x > 0")
    return b.emit(NotEqualOp(x, y)).out


def isnan(b: GraphBuilder, x: Value) -> SSAValue:
    """Whether x is not a number, elementwise. A bool tensor."""
    return b.emit(IsNanOp(x)).out


def isinf(b: GraphBuilder, x: Value) -> SSAValue:
    """Whether x is infinite, of either sign, elementwise. A bool tensor."""
    return b.emit(IsInfOp(x)).out


def isfinite(b: GraphBuilder, x: Value) -> SSAValue:
    """Whether x is a number and not infinite, elementwise. A bool tensor."""
    return b.emit(IsFiniteOp(x)).out


def where(b: GraphBuilder, condition: Value, x: Operand, y: Operand) -> SSAValue:
    """x where a bool tensor is true, else y; x or y may be a number; all shapes broadcast."""
    if not isinstance(x, SSAValue) and not isinstance(y, SSAValue):
        hint = 'cast(condition, to="f32") makes 1 and 0 of true and false'
        raise ArgumentError("y", "found two numbers, expected x or y to be a tensor", hint)
    return b.emit(WhereOp(condition, *as_tensors(b, x, y))).out


LAYERS = (
    _PredicateLayer(EqualOp, np.equal),
    _PredicateLayer(NotEqualOp, np.not_equal),
    _PredicateLayer(LessOp, np.less),
    _PredicateLayer(LessEqualOp, np.less_equal),
    _PredicateLayer(GreaterOp, np.greater),
    _PredicateLayer(GreaterEqualOp, np.greater_equal),
    _PredicateLayer(LogicalAndOp, np.logical_and),
    _PredicateLayer(LogicalOrOp, np.logical_or),
    _PredicateLayer(LogicalNotOp, np.logical_not),
    _PredicateLayer(IsNanOp, np.isnan),
    _PredicateLayer(IsInfOp, np.isinf),
    _PredicateLayer(IsFiniteOp, np.isfinite),
    WhereLayer(),
)
FUNCTIONS = (
    equal,
    not_equal,
    less,
    less_equal,
    greater,
    greater_equal,
    logical_and,
    logical_or,
    logical_not,
    logical_xor,
    isnan,
    isinf,
    isfinite,
    where,
)
OPERATORS = {"==": equal, "!=": not_equal, "<": less, "<=": less_equal, ">": greater, ">=": greater_equal}
