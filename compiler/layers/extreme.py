"""
Maxima and minima over axes, and their indices: one vector operation per element of x, backward two (find
the extreme, share dy) in two passes over x, as the shares depend on the number of equal extremes.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import OptInt, OptInts, Value, normal_axis
from npuc.compiler.layers.base import Array, Cut, Emit, Gradients, PerElementLayer, Reread, elements, slabs
from npuc.compiler.layers.cuts import same_axes
from npuc.compiler.layers.reduction import finished, over_axes
from npuc.compiler.layers.shape import view
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.base import ints
from npuc.dialects.train.extreme import AmaxOp, AminOp, ArgmaxOp, ArgminOp, ExtremeGradOp


class ExtremeLayer(PerElementLayer[AmaxOp | AminOp]):
    """The largest or smallest element over axes, which `compute` finds."""

    def __init__(self, op: type[AmaxOp | AminOp], compute: Callable[..., Array]):
        self.op = op
        self.compute = compute

    def evaluate(self, op: AmaxOp | AminOp, *arrays: Array) -> tuple[Array, ...]:
        return (self.compute(*arrays, axis=ints(op.axes), keepdims=True),)

    def vjp(
        self, op: AmaxOp | AminOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]
    ) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(ExtremeGradOp(g, op.x, op.out)).dx]

    def cuts(self, op: AmaxOp | AminOp) -> Sequence[Cut]:
        return same_axes(op)


class ExtremeGradLayer(PerElementLayer[ExtremeGradOp]):
    """dy in equal shares to the elements that are the extreme."""

    op = ExtremeGradOp
    steps = 2

    def evaluate(self, op: ExtremeGradOp, *arrays: Array) -> tuple[Array, ...]:
        dy, x, y = arrays
        chosen = x == y
        axes = tuple(i for i, (size, kept) in enumerate(zip(x.shape, y.shape, strict=True)) if size != kept)
        shares = np.maximum(chosen.sum(axis=axes, keepdims=True), 1).astype(dy.dtype)
        return (np.where(chosen, dy / shares, 0),)

    def reread_of(self, op: ExtremeGradOp) -> Reread | None:
        sizes = zip(shape_of(op.x), shape_of(op.y), strict=True)
        axes = [axis for axis, (size, kept) in enumerate(sizes) if size != kept]
        return Reread((1,), slabs(op.x, axes)) if axes else None


class PlaceLayer(PerElementLayer[ArgmaxOp | ArgminOp]):
    """The place of the first largest or smallest element along an axis, which `compute` finds."""

    def __init__(self, op: type[ArgmaxOp | ArgminOp], compute: Callable[..., Array]):
        self.op = op
        self.compute = compute

    def evaluate(self, op: ArgmaxOp | ArgminOp, *arrays: Array) -> tuple[Array, ...]:
        return (self.compute(*arrays, axis=int(op.axis.value.data), keepdims=True),)

    def cuts(self, op: ArgmaxOp | ArgminOp) -> Sequence[Cut]:
        return same_axes(op)


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


LAYERS = (
    ExtremeLayer(AmaxOp, np.max),
    ExtremeLayer(AminOp, np.min),
    ExtremeGradLayer(),
    PlaceLayer(ArgmaxOp, np.argmax),
    PlaceLayer(ArgminOp, np.argmin),
)
FUNCTIONS = (amax, amin, argmax, argmin)
