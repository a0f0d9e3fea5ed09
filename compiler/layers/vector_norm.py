"""
Norms of vectors, whose derivative is 0 where all elements are: the square root of a sum alone has none there.

Vector operations per element: 2 for lengths (square, add) and 3 for other orders; backward 2 and 3 (the share of the
norm, times dy, to a power).
"""

from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import ArgumentError, OptInts, Value, normal_axes
from npuc.compiler.layers.base import Array, Cut, Emit, Gradients, PerElementLayer, derivative
from npuc.compiler.layers.cuts import same_axes
from npuc.compiler.layers.pointwise import abs as magnitude
from npuc.compiler.layers.reduction import finished, sum
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.base import ints
from npuc.dialects.train.vector_norm import VectorNormGradOp, VectorNormOp


class VectorNormLayer(PerElementLayer[VectorNormOp]):
    """The root of a sum of powers."""

    op = VectorNormOp

    def steps_of(self, op: VectorNormOp) -> int:
        return 2 if op.order.value.data == 2 else 3

    def evaluate(self, op: VectorNormOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        order, axes = op.order.value.data, ints(op.axes)
        if order == 2:
            return (np.sqrt((x * x).sum(axis=axes, keepdims=True)),)
        return ((np.abs(x) ** order).sum(axis=axes, keepdims=True) ** (1 / order),)

    def vjp(
        self, op: VectorNormOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]
    ) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(derivative(VectorNormGradOp, op, g, op.x, op.out)).dx]

    def cuts(self, op: VectorNormOp) -> Sequence[Cut]:
        return same_axes(op)


class VectorNormGradLayer(PerElementLayer[VectorNormGradOp]):
    """The share of an element in the norm."""

    op = VectorNormGradOp

    def steps_of(self, op: VectorNormGradOp) -> int:
        return 2 if op.order.value.data == 2 else 3

    def evaluate(self, op: VectorNormGradOp, *arrays: Array) -> tuple[Array, ...]:
        dy, x, y = arrays
        share = x / np.where(y == 0, 1, y)
        order = op.order.value.data
        if order != 2:
            size = np.abs(share)
            share = np.sign(share) * np.where(size == 0, 1, size) ** (order - 1)
        return (np.where(y == 0, 0, dy * share),)

    def cuts(self, op: VectorNormGradOp) -> Sequence[Cut]:
        return same_axes(op)


def vector_norm(b: GraphBuilder, x: Value, order: float = 2.0, axis: OptInts = None, keepdim: bool = False) -> SSAValue:
    """
    sum(|x|^order)^(1 / order) over an axis, a list of axes, or all: by default the Euclidean length.

    Orders above 0; the largest |x| is `amax(abs(x))`. The derivative of a length of 0 is 0.
    """
    if not 0 < order < inf:
        raise ArgumentError("order", f"found {order}, expected a number above 0", "amax(abs(x)) is the norm of order ∞")
    if order == 1:
        return sum(b, magnitude(b, x), axis, keepdim)
    axes = normal_axes("axis", axis, len(shape_of(x)))
    return finished(b, b.emit(VectorNormOp(x, axes=axes, order=float(order))).out, axes, keepdim)


LAYERS = (VectorNormLayer(), VectorNormGradLayer())
FUNCTIONS = (vector_norm,)
