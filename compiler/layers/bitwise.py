"""Operations on the bits of integers: one vector operation per element, and no derivative."""

from collections.abc import Callable

import numpy as np
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import Operand, Value
from npuc.compiler.layers.arithmetic import binary
from npuc.compiler.layers.base import Array, PerElementLayer
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.bitwise import (
    BitwiseAndOp,
    BitwiseNotOp,
    BitwiseOrOp,
    BitwiseXorOp,
    ShiftLeftOp,
    ShiftRightOp,
)


class _BitsLayer(PerElementLayer[TrainOp]):
    """An operation on bits, which `compute` evaluates."""

    elementwise = True

    def __init__(self, op: type[TrainOp], compute: Callable[..., Array]):
        self.op = op
        self.compute = compute

    def evaluate(self, op: TrainOp, *arrays: Array) -> tuple[Array, ...]:
        return (self.compute(*arrays),)


def _shifted_left(x: Array, y: Array) -> Array:
    """As in PyTorch nothing is left after a shift by the width of the type or more, or by less than 0."""
    bits = 8 * x.dtype.itemsize
    inside = (y >= 0) & (y < bits)
    return np.where(inside, np.left_shift(x, np.where(inside, y, 0)), 0)


def _shifted_right(x: Array, y: Array) -> Array:
    """As in PyTorch the sign alone is left after a shift by the width of the type or more, or by less than 0."""
    most = 8 * x.dtype.itemsize - 1
    return np.right_shift(x, np.where((y >= 0) & (y < most), y, most))


def bitwise_and(b: GraphBuilder, x: Operand, y: Operand) -> SSAValue:
    """The bits that two integer tensors both have; shapes broadcast, one may be a number."""
    return binary(b, BitwiseAndOp, x, y)


def bitwise_or(b: GraphBuilder, x: Operand, y: Operand) -> SSAValue:
    """The bits that one of two integer tensors has; shapes broadcast, one may be a number."""
    return binary(b, BitwiseOrOp, x, y)


def bitwise_xor(b: GraphBuilder, x: Operand, y: Operand) -> SSAValue:
    """The bits that exactly one of two integer tensors has; shapes broadcast, one may be a number."""
    return binary(b, BitwiseXorOp, x, y)


def bitwise_not(b: GraphBuilder, x: Value) -> SSAValue:
    """Every bit of an integer tensor inverted: -x - 1."""
    return b.emit(BitwiseNotOp(x)).out


def shift_left(b: GraphBuilder, x: Operand, y: Operand) -> SSAValue:
    """x 2^y of integer tensors; bits that leave the type are lost. Shapes broadcast, one may be a number."""
    return binary(b, ShiftLeftOp, x, y)


def shift_right(b: GraphBuilder, x: Operand, y: Operand) -> SSAValue:
    """x / 2^y of integer tensors, rounded down; shapes broadcast, one may be a number."""
    return binary(b, ShiftRightOp, x, y)


LAYERS = (
    _BitsLayer(BitwiseAndOp, np.bitwise_and),
    _BitsLayer(BitwiseOrOp, np.bitwise_or),
    _BitsLayer(BitwiseXorOp, np.bitwise_xor),
    _BitsLayer(BitwiseNotOp, np.bitwise_not),
    _BitsLayer(ShiftLeftOp, _shifted_left),
    _BitsLayer(ShiftRightOp, _shifted_right),
)
FUNCTIONS = (bitwise_and, bitwise_or, bitwise_xor, bitwise_not, shift_left, shift_right)
