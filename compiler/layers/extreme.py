"""
The largest and smallest elements over axes, and their places: one vector operation an element of x, backward two (find
the extreme, share dy).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from npuc.compiler.builder import GraphBuilder
from npuc.compiler.layers.base import Array, Emit, Gradients, OptInt, OptInts, Value, elements, normal_axis
from npuc.compiler.layers.reduction import PerElement, finished, over_axes
from npuc.compiler.layers.shape import view
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.base import ints
from npuc.dialects.train.extreme import AmaxOp, AminOp, ArgmaxOp, ArgminOp, ExtremeGradOp


class AmaxLayer(PerElement[AmaxOp]):
    """The largest element."""

    op = AmaxOp

    def evaluate(self, op: AmaxOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        return (np.max(x, axis=ints(op.axes), keepdims=True),)

    def vjp(self, op: AmaxOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(ExtremeGradOp(g, op.x, op.out)).dx]


class AminLayer(PerElement[AminOp]):
    """The smallest element."""

    op = AminOp

    def evaluate(self, op: AminOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        return (np.min(x, axis=ints(op.axes), keepdims=True),)

    def vjp(self, op: AminOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(ExtremeGradOp(g, op.x, op.out)).dx]


class ExtremeGradLayer(PerElement[ExtremeGradOp]):
    """dy in equal shares to the elements that are the extreme."""

    op = ExtremeGradOp
    OPS = 2

    def evaluate(self, op: ExtremeGradOp, *arrays: Array) -> tuple[Array, ...]:
        dy, x, y = arrays
        chosen = x == y
        axes = tuple(i for i, (size, kept) in enumerate(zip(x.shape, y.shape, strict=True)) if size != kept)
        shares = np.maximum(chosen.sum(axis=axes, keepdims=True), 1).astype(dy.dtype)
        return (np.where(chosen, dy / shares, 0),)


class ArgmaxLayer(PerElement[ArgmaxOp]):
    """The place of the first largest element."""

    op = ArgmaxOp

    def evaluate(self, op: ArgmaxOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        return (np.argmax(x, axis=int(op.axis.value.data), keepdims=True),)


class ArgminLayer(PerElement[ArgminOp]):
    """The place of the first smallest element."""

    op = ArgminOp

    def evaluate(self, op: ArgminOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        return (np.argmin(x, axis=int(op.axis.value.data), keepdims=True),)


def amax(b: GraphBuilder, x: Value, axis: OptInts = None, keepdim: bool = False) -> SSAValue:
    """The largest element over axes; equal ones share the gradient equally."""
    return over_axes(b, AmaxOp, x, axis, keepdim)


def amin(b: GraphBuilder, x: Value, axis: OptInts = None, keepdim: bool = False) -> SSAValue:
    """The smallest element over axes; equal ones share the gradient equally."""
    return over_axes(b, AminOp, x, axis, keepdim)


def _place(b: GraphBuilder, op: type[ArgmaxOp | ArgminOp], x: Value, axis: OptInt, keepdim: bool) -> SSAValue:
    shape = shape_of(x)
    if axis is None or not shape:
        flat = b.emit(op(view(x, [elements(x)], b.emit), axis=0)).out
        return view(flat, [1] * len(shape) if keepdim else [], b.emit)
    one = normal_axis("axis", axis, len(shape))
    return finished(b, b.emit(op(x, axis=one)).out, [one], keepdim)


def argmax(b: GraphBuilder, x: Value, axis: OptInt = None, keepdim: bool = False) -> SSAValue:
    """The i32 index of the first largest element along an axis, or among all in row-major order."""
    return _place(b, ArgmaxOp, x, axis, keepdim)


def argmin(b: GraphBuilder, x: Value, axis: OptInt = None, keepdim: bool = False) -> SSAValue:
    """The i32 index of the first smallest element along an axis, or among all in row-major order."""
    return _place(b, ArgminOp, x, axis, keepdim)


LAYERS = (AmaxLayer(), AminLayer(), ExtremeGradLayer(), ArgmaxLayer(), ArgminLayer())
FUNCTIONS = (amax, amin, argmax, argmin)
