"""Permutations of elements along axes, and triangles of matrices: nothing is computed."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import (
    ArgumentError,
    IntOrInts,
    Value,
    normal_axes,
    normal_axis,
    rank_at_least,
    short,
)
from npuc.compiler.layers.base import Array, Cut, Emit, Gradients, Kind, Layer, Work, derivative, result_elements
from npuc.compiler.layers.cuts import same_axes
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.base import ints
from npuc.dialects.train.order import FlipOp, RollOp, TriangleOp


class FlipLayer(Layer[FlipOp]):
    """The reverse order, which is its own derivative."""

    op = FlipOp
    kind = Kind.DATA

    def evaluate(self, op: FlipOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        return (np.flip(x, ints(op.axes)).copy(),)

    def vjp(self, op: FlipOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(derivative(FlipOp, op, g)).out]

    def cuts(self, op: FlipOp) -> Sequence[Cut]:
        return same_axes(op, but=ints(op.axes))


class RollLayer(Layer[RollOp]):
    """Elements shifted in a ring; the derivative shifts back."""

    op = RollOp
    kind = Kind.DATA

    def evaluate(self, op: RollOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        return (np.roll(x, ints(op.shifts), ints(op.axes)),)

    def vjp(self, op: RollOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(RollOp(g, axes=ints(op.axes), shifts=tuple(-s for s in ints(op.shifts)))).out]

    def cuts(self, op: RollOp) -> Sequence[Cut]:
        return same_axes(op, but=ints(op.axes))


class TriangleLayer(Layer[TriangleOp]):
    """One side of a diagonal; only that side is read. The derivative is the same side of dy."""

    op = TriangleOp
    kind = Kind.DATA

    def evaluate(self, op: TriangleOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        side = np.tril if op.upper is None else np.triu
        return (side(x, int(op.diagonal.value.data)),)

    def vjp(
        self, op: TriangleOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]
    ) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(derivative(TriangleOp, op, g)).out]

    def work(self, op: TriangleOp) -> Work:
        rows, columns = shape_of(op.out)[-2:]
        # Row i of a lower triangle holds i + diagonal + 1 elements, as far as it has them; the rest is the upper one.
        diagonal = int(op.diagonal.value.data) - (op.upper is not None)
        lower = sum(min(columns, max(0, i + diagonal + 1)) for i in range(rows))
        kept = lower if op.upper is None else rows * columns - lower
        return Work(reads=(result_elements(op) // (rows * columns) * kept,))

    def cuts(self, op: TriangleOp) -> Sequence[Cut]:
        rank = len(shape_of(op.x))
        return same_axes(op, but=(rank - 2, rank - 1))


def flip(b: GraphBuilder, x: Value, axis: IntOrInts) -> SSAValue:
    """The elements in reverse order along an axis or a list of axes."""
    return b.emit(FlipOp(x, axes=normal_axes("axis", axis, len(shape_of(x))))).out


def roll(b: GraphBuilder, x: Value, shift: IntOrInts, axis: IntOrInts) -> SSAValue:
    """The elements shifted along an axis, from its end back to its start; or lists of shifts and axes."""
    shifts = [shift] if isinstance(shift, int) else list(shift)
    axes = [axis] if isinstance(axis, int) else list(axis)
    if len(shifts) != len(axes):
        raise ArgumentError("shift", f"found {short(shifts)} for axis {short(axes)}, expected one shift an axis")
    normal_axes("axis", axes, len(shape_of(x)))
    normal = tuple(normal_axis("axis", a, len(shape_of(x))) for a in axes)
    return b.emit(RollOp(x, axes=normal, shifts=tuple(shifts))).out


def tril(b: GraphBuilder, x: Value, diagonal: int = 0) -> SSAValue:
    """The lower triangle of each matrix of the last two axes, zeros where column > row + diagonal."""
    rank_at_least("x", x, 2, "[…, rows, columns]")
    return b.emit(TriangleOp(x, diagonal=diagonal)).out


def triu(b: GraphBuilder, x: Value, diagonal: int = 0) -> SSAValue:
    """The upper triangle of each matrix of the last two axes, zeros where column < row + diagonal."""
    rank_at_least("x", x, 2, "[…, rows, columns]")
    return b.emit(TriangleOp(x, diagonal=diagonal, upper=True)).out


LAYERS = (FlipLayer(), RollLayer(), TriangleLayer())
FUNCTIONS = (flip, roll, tril, triu)
