"""
Softmax and its logarithm: 5 vector operations per element forward (max, subtract, exp, sum, divide) and 5 backward.

Two passes over a row: the first for its maximum and its sum together (M. Milakov, N. Gimelshein, "Online normalizer
calculation for softmax", 2018), or backward for the sum along it, the second for the results. Rows along another axis
than the last are interleaved in memory; together they are read twice, or are resident in between.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import Value, normal_axis
from npuc.compiler.layers.base import (
    Array,
    Cut,
    Emit,
    Gradients,
    OpT,
    PerElementLayer,
    Reread,
    derivative,
    slabs,
)
from npuc.compiler.layers.cuts import same_axes
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.softmax import LogSoftmaxGradOp, LogSoftmaxOp, SoftmaxGradOp, SoftmaxOp


class _SoftmaxLayer(PerElementLayer[OpT]):
    """Five vector operations per element; `twice` are the operands that both passes read."""

    steps = 5
    twice: ClassVar[tuple[int, ...]] = (0,)

    def reread_of(self, op: OpT) -> Reread | None:
        assert isinstance(op, SoftmaxOp | LogSoftmaxOp | SoftmaxGradOp | LogSoftmaxGradOp)
        return Reread(self.twice, slabs(op.operands[0], (int(op.axis.value.data),)))


class SoftmaxLayer(_SoftmaxLayer[SoftmaxOp]):
    """exp(x - max) over its sum along the axis."""

    op = SoftmaxOp

    def evaluate(self, op: SoftmaxOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        return (softmax_of(x, int(op.axis.value.data)),)

    def vjp(self, op: SoftmaxOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(derivative(SoftmaxGradOp, op, g, op.out)).dx]

    def cuts(self, op: SoftmaxOp) -> Sequence[Cut]:
        return same_axes(op, but=(int(op.axis.value.data) % len(shape_of(op.x)),))


class SoftmaxGradLayer(_SoftmaxLayer[SoftmaxGradOp]):
    """y (dy - sum(dy y)) along the axis; the Jacobian is never built."""

    op = SoftmaxGradOp
    twice = (0, 1)

    def evaluate(self, op: SoftmaxGradOp, *arrays: Array) -> tuple[Array, ...]:
        dy, y = arrays
        return (y * (dy - (dy * y).sum(axis=int(op.axis.value.data), keepdims=True)),)


class LogSoftmaxLayer(_SoftmaxLayer[LogSoftmaxOp]):
    """x - max - log(sum(exp(x - max))) along the axis, which keeps small probabilities."""

    op = LogSoftmaxOp

    def evaluate(self, op: LogSoftmaxOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        axis = int(op.axis.value.data)
        centred = x - x.max(axis=axis, keepdims=True)
        return (centred - np.log(np.exp(centred).sum(axis=axis, keepdims=True)),)

    def vjp(
        self, op: LogSoftmaxOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]
    ) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(derivative(LogSoftmaxGradOp, op, g, op.out)).dx]

    def cuts(self, op: LogSoftmaxOp) -> Sequence[Cut]:
        return same_axes(op, but=(int(op.axis.value.data) % len(shape_of(op.x)),))


class LogSoftmaxGradLayer(_SoftmaxLayer[LogSoftmaxGradOp]):
    """dy - exp(y) sum(dy) along the axis."""

    op = LogSoftmaxGradOp

    def evaluate(self, op: LogSoftmaxGradOp, *arrays: Array) -> tuple[Array, ...]:
        dy, y = arrays
        return (dy - np.exp(y) * dy.sum(axis=int(op.axis.value.data), keepdims=True),)


def softmax_of(x: Array, axis: int) -> Array:
    """Softmax of an array along an axis."""
    powers = np.exp(x - x.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def softmax(b: GraphBuilder, x: Value, axis: int = -1) -> SSAValue:
    """exp(x) over its sum along an axis."""
    normal_axis("axis", axis, len(shape_of(x)))
    return b.emit(SoftmaxOp(x, axis=axis)).out


def log_softmax(b: GraphBuilder, x: Value, axis: int = -1) -> SSAValue:
    """The logarithm of softmax along an axis, computed without losing small probabilities."""
    normal_axis("axis", axis, len(shape_of(x)))
    return b.emit(LogSoftmaxOp(x, axis=axis)).out


LAYERS = (SoftmaxLayer(), SoftmaxGradLayer(), LogSoftmaxLayer(), LogSoftmaxGradLayer())
FUNCTIONS = (softmax, log_softmax)
