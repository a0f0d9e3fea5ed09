"""Arithmetic on tensors. Gradients of broadcast operands are summed over the axes that were added."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import AnyFloat, i1, i8, i32
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import ArgumentError, Operand, Value, check_value, element_type
from npuc.compiler.layers.base import (
    Array,
    Cut,
    DataError,
    Emit,
    Gradients,
    Kind,
    Layer,
    PerElementLayer,
    broadcast_cuts,
)
from npuc.compiler.layers.cuts import reduce_cuts
from npuc.compiler.layers.domains import known_any
from npuc.dialects.tensors import shape_of, tensor_of, tensor_type
from npuc.dialects.train.arithmetic import (
    AddOp,
    AffineOp,
    BinaryOp,
    CastOp,
    ConstantOp,
    DivOp,
    MulOp,
    ReduceOp,
    SubOp,
)
from npuc.dialects.train.shape import ExpandOp


def reduce_to(value: SSAValue, target: SSAValue, emit: Emit[Any]) -> SSAValue:
    """Sum a gradient over the axes that broadcasting `target` added."""
    if shape_of(value) == shape_of(target):
        return value
    return emit(ReduceOp(value, results=[target.type])).out


def scaled(grad: SSAValue, value: SSAValue, emit: Emit[Any]) -> SSAValue:
    """`value` times a gradient of a scalar, or just `value` where that gradient is the constant 1."""
    if isinstance(grad.owner, ConstantOp) and grad.owner.value.value.data == 1.0:
        return value
    return emit(MulOp(value, grad)).out


def negated(value: SSAValue, emit: Emit[Any]) -> SSAValue:
    """Minus a tensor."""
    return emit(AffineOp(value, scale=-1.0)).out


class AddLayer(PerElementLayer[AddOp]):
    """a + b."""

    op = AddOp
    elementwise = True

    def evaluate(self, op: AddOp, *arrays: Array) -> tuple[Array, ...]:
        a, b = arrays
        return (a + b,)

    def vjp(self, op: AddOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        return [reduce_to(g, v, emit) if need else None for v, need in zip(op.operands, needs, strict=True)]


class SubLayer(PerElementLayer[SubOp]):
    """a - b."""

    op = SubOp
    elementwise = True

    def evaluate(self, op: SubOp, *arrays: Array) -> tuple[Array, ...]:
        a, b = arrays
        return (a - b,)

    def vjp(self, op: SubOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        da = reduce_to(g, op.lhs, emit) if needs[0] else None
        db = negated(reduce_to(g, op.rhs, emit), emit) if needs[1] else None
        return [da, db]


class MulLayer(PerElementLayer[MulOp]):
    """a * b."""

    op = MulOp
    elementwise = True

    def evaluate(self, op: MulOp, *arrays: Array) -> tuple[Array, ...]:
        a, b = arrays
        return (a * b,)

    def vjp(self, op: MulOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        da = reduce_to(emit(MulOp(g, op.rhs)).out, op.lhs, emit) if needs[0] else None
        db = reduce_to(emit(MulOp(g, op.lhs)).out, op.rhs, emit) if needs[1] else None
        return [da, db]


class DivLayer(PerElementLayer[DivOp]):
    """a / b, of integers rounded towards zero; d(a/b) = da / b - (a/b) db / b."""

    op = DivOp
    elementwise = True

    def evaluate(self, op: DivOp, *arrays: Array) -> tuple[Array, ...]:
        a, b = arrays
        if a.dtype.kind != "i":
            return (a / b,)
        if known_any(b == 0):
            raise DataError("division of an integer by zero")
        return (a // b + ((a % b != 0) & ((a < 0) != (b < 0))),)

    def vjp(self, op: DivOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        scaled_grad = emit(DivOp(g, op.rhs)).out
        da = reduce_to(scaled_grad, op.lhs, emit) if needs[0] else None
        db = None
        if needs[1]:
            db = negated(reduce_to(emit(MulOp(scaled_grad, op.out)).out, op.rhs, emit), emit)
        return [da, db]


class AffineLayer(PerElementLayer[AffineOp]):
    """x * scale + offset, one vector operation for each of the two that is not neutral."""

    op = AffineOp
    elementwise = True

    def evaluate(self, op: AffineOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        scale, offset = op.scale.value.data, op.offset.value.data
        y = x if scale == 1.0 else x * x.dtype.type(scale)
        return (y if offset == 0.0 else y + x.dtype.type(offset),)

    def vjp(self, op: AffineOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        if op.scale.value.data == 1.0:
            return [g]
        return [emit(AffineOp(g, scale=op.scale.value.data)).out]

    def steps_of(self, op: AffineOp) -> int:
        return (op.scale.value.data != 1.0) + (op.offset.value.data != 0.0)


class ReduceLayer(PerElementLayer[ReduceOp]):
    """The sum over broadcast axes; one addition per element of the operand."""

    op = ReduceOp

    def evaluate(self, op: ReduceOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        shape = shape_of(op.out)
        lead = x.ndim - len(shape)
        kept = tuple(lead + i for i, size in enumerate(shape) if size == 1 and x.shape[lead + i] != 1)
        return (x.sum(axis=(*range(lead), *kept)).reshape(shape),)

    def vjp(self, op: ReduceOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(ExpandOp(g, results=[op.x.type])).out]

    def cuts(self, op: ReduceOp) -> Sequence[Cut]:
        return reduce_cuts(op)


class CastLayer(PerElementLayer[CastOp]):
    """The same values in another element type; the interpreter rounds to the result's type."""

    op = CastOp
    elementwise = True

    def evaluate(self, op: CastOp, *arrays: Array) -> tuple[Array, ...]:
        return arrays

    def vjp(self, op: CastOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        # gradients of parameters move between devices in the parameters' own type
        return [g if g.type == op.x.type else emit(CastOp(g, results=[op.x.type])).out]


class ConstantLayer(Layer[ConstantOp]):
    """A tensor filled with one value; costs nothing."""

    op = ConstantOp
    kind = Kind.CONSTANT

    def evaluate(self, op: ConstantOp, *arrays: Array) -> tuple[Array, ...]:
        return (np.full(shape_of(op.out), op.value.value.data),)

    def cuts(self, op: ConstantOp) -> Sequence[Cut]:
        return broadcast_cuts(op)


def _check_number(argument: str, number: float, tensor: SSAValue) -> None:
    """Refuse a number that the tensor's element type cannot represent."""
    element = tensor_type(tensor).element_type
    if element == i1:
        hint = 'cast(x, to="f32") makes 0 and 1 of false and true'
        raise ArgumentError(argument, f"found {number} beside a tensor of bool, expected a tensor of bool", hint)
    if not isinstance(element, AnyFloat) and not float(number).is_integer():
        hint = 'cast(x, to="f32") gives the tensor fractions'
        raise ArgumentError(argument, f"found {number} beside a tensor of {element}, expected an integer", hint)
    check_value(argument, number, element)


def _tensor_and_number(x: Operand, y: Operand, names: tuple[str, str] = ("x", "y")) -> tuple[SSAValue, float]:
    """The tensor and the number of two operands that are one of each; `names` are the arguments'."""
    for tensor, number, name in ((x, y, names[1]), (y, x, names[0])):
        if isinstance(tensor, SSAValue) and not isinstance(number, SSAValue):
            _check_number(name, number, tensor)
            return tensor, float(number)
    raise ArgumentError(names[1], "found two numbers, expected at least one tensor")


def as_tensors(
    b: GraphBuilder, x: Operand, y: Operand, names: tuple[str, str] = ("x", "y")
) -> tuple[SSAValue, SSAValue]:
    """Two operands as tensors: a number becomes a scalar of the other's element type. `names` are the arguments'."""
    if isinstance(x, SSAValue) and isinstance(y, SSAValue):
        return x, y
    tensor, number = _tensor_and_number(x, y, names)
    scalar = b.constant(tensor_of(tensor_type(tensor).element_type, ()), number)
    return (tensor, scalar) if tensor is x else (scalar, tensor)


def binary(
    b: GraphBuilder, op: type[BinaryOp], x: Operand, y: Operand, names: tuple[str, str] = ("x", "y")
) -> SSAValue:
    """The result of an operation of two tensors, or of a tensor and a number."""
    return b.emit(op(*as_tensors(b, x, y, names))).out


def add(b: GraphBuilder, x: Operand, y: Operand) -> SSAValue:
    """The sum of two tensors, or of a tensor and a number; shapes broadcast. Also written `x + y`."""
    if isinstance(x, SSAValue) and isinstance(y, SSAValue):
        return binary(b, AddOp, x, y)
    tensor, number = _tensor_and_number(x, y)
    return b.emit(AffineOp(tensor, offset=number)).out


def sub(b: GraphBuilder, x: Operand, y: Operand) -> SSAValue:
    """The difference of two tensors, or of a tensor and a number; shapes broadcast. Also written `x - y`."""
    if isinstance(x, SSAValue) and isinstance(y, SSAValue):
        return binary(b, SubOp, x, y)
    tensor, number = _tensor_and_number(x, y)
    if tensor is y:
        return b.emit(AffineOp(tensor, scale=-1.0, offset=number)).out
    if (number, tensor_type(tensor).element_type) in ((-(1 << 31), i32), (-128, i8)):  # 2^31 is no i32, 128 no i8
        return binary(b, SubOp, x, y)
    return b.emit(AffineOp(tensor, offset=0.0 - number)).out


def mul(b: GraphBuilder, x: Operand, y: Operand) -> SSAValue:
    """The product of two tensors, or of a tensor and a number, elementwise; shapes broadcast. Also written `x * y`."""
    if isinstance(x, SSAValue) and isinstance(y, SSAValue):
        return binary(b, MulOp, x, y)
    tensor, number = _tensor_and_number(x, y)
    return b.emit(AffineOp(tensor, scale=number)).out


def div(b: GraphBuilder, x: Operand, y: Operand) -> SSAValue:
    """The quotient of two tensors, or of a tensor and a number; integers round towards zero. Also written `x / y`."""
    return binary(b, DivOp, x, y)


def cast(b: GraphBuilder, x: Value, to: str) -> SSAValue:
    """The same values in another element type: f32, bf16, f16, f64, i8, i32, i64 or bool."""
    return b.emit(CastOp(x, results=[tensor_of(element_type("to", to), shape_of(x))])).out


LAYERS = (
    AddLayer(),
    SubLayer(),
    MulLayer(),
    DivLayer(),
    AffineLayer(),
    ReduceLayer(),
    CastLayer(),
    ConstantLayer(),
)
FUNCTIONS = (add, sub, mul, div, cast)
OPERATORS = {"+": add, "-": sub, "*": mul, "/": div}
