"""Operations that rearrange elements. A reshape is a view and moves nothing; the others move what they read."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from npuc.compiler.builder import GraphBuilder
from npuc.compiler.layers.base import (
    ArgumentError,
    Array,
    Emit,
    Gradients,
    Ints,
    Kind,
    Layer,
    Value,
    Values,
    Work,
    elements,
    normal_axis,
    result_elements,
)
from npuc.dialects.tensors import Tensor, shape_of, tensor_of, tensor_type
from npuc.dialects.train.base import ints
from npuc.dialects.train.shape import ConcatOp, PadOp, ReshapeOp, SliceOp, TransposeOp


def _shaped(value: SSAValue, shape: Sequence[int]) -> Tensor:
    return tensor_of(tensor_type(value).element_type, shape)


class ReshapeLayer(Layer[ReshapeOp]):
    """The same elements in row-major order."""

    op = ReshapeOp
    kind = Kind.VIEW

    def evaluate(self, op: ReshapeOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        return (x.reshape(shape_of(op.out)),)

    def vjp(self, op: ReshapeOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(ReshapeOp(g, results=[op.x.type])).out]


class TransposeLayer(Layer[TransposeOp]):
    """Axes in another order."""

    op = TransposeOp
    kind = Kind.DATA

    def evaluate(self, op: TransposeOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        return (np.ascontiguousarray(x.transpose(ints(op.axes))),)

    def vjp(
        self, op: TransposeOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]
    ) -> Gradients:
        (g,) = grads
        assert g is not None
        axes = ints(op.axes)
        return [emit(TransposeOp(g, axes=tuple(axes.index(i) for i in range(len(axes))))).out]


class ConcatLayer(Layer[ConcatOp]):
    """Tensors one behind the other."""

    op = ConcatOp
    kind = Kind.DATA

    def evaluate(self, op: ConcatOp, *arrays: Array) -> tuple[Array, ...]:
        return (np.concatenate(arrays, axis=int(op.axis.value.data)),)

    def vjp(self, op: ConcatOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        rank = len(shape_of(op.out))
        axis, position = int(op.axis.value.data) % rank, 0
        parts: list[SSAValue | None] = []
        for part, need in zip(op.operands, needs, strict=True):
            starts = tuple(position if i == axis else 0 for i in range(rank))
            parts.append(emit(SliceOp(g, results=[part.type], starts=starts)).out if need else None)
            position += shape_of(part)[axis]
        return parts


class SliceLayer(Layer[SliceOp]):
    """A box of a tensor; only the box is read."""

    op = SliceOp
    kind = Kind.DATA

    def evaluate(self, op: SliceOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        return (x[_box(ints(op.starts), shape_of(op.out))].copy(),)

    def vjp(self, op: SliceOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(PadOp(g, results=[op.x.type], starts=ints(op.starts))).out]

    def work(self, op: SliceOp) -> Work:
        return Work(reads=(result_elements(op),))


class PadLayer(Layer[PadOp]):
    """A tensor placed in zeros."""

    op = PadOp
    kind = Kind.DATA

    def evaluate(self, op: PadOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        out = np.zeros(shape_of(op.out), dtype=x.dtype)
        out[_box(ints(op.starts), x.shape)] = x
        return (out,)

    def vjp(self, op: PadOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(SliceOp(g, results=[op.x.type], starts=ints(op.starts))).out]


def _box(starts: Sequence[int], shape: Sequence[int]) -> tuple[slice, ...]:
    return tuple(slice(start, start + size) for start, size in zip(starts, shape, strict=True))


def reshape(b: GraphBuilder, x: Value, shape: Ints) -> SSAValue:
    """The same elements in row-major order under another shape; one size may be -1, meaning what is left."""
    sizes, total = list(shape), elements(x)
    if any(s < -1 or s == 0 for s in sizes) or sizes.count(-1) > 1:
        raise ArgumentError("shape", f"found {sizes}, expected positive sizes with at most one -1")
    known = prod(s for s in sizes if s != -1)
    if -1 in sizes:
        if total % known:
            raise ArgumentError("shape", f"found {sizes}, {total} elements do not divide by {known}")
        sizes[sizes.index(-1)] = total // known
    return b.emit(ReshapeOp(x, results=[_shaped(x, sizes)])).out


def flatten(b: GraphBuilder, x: Value, start: int = 1) -> SSAValue:
    """Merge all axes from `start` on into one."""
    shape = shape_of(x)
    first = normal_axis("start", start, len(shape)) if shape else 0
    return b.emit(ReshapeOp(x, results=[_shaped(x, [*shape[:first], prod(shape[first:])])])).out


def transpose(b: GraphBuilder, x: Value, axes: Ints) -> SSAValue:
    """Axis i of the result is axis axes[i] of x."""
    return b.emit(TransposeOp(x, axes=tuple(normal_axis("axes", a, len(shape_of(x))) for a in axes))).out


def concat(b: GraphBuilder, tensors: Values, axis: int) -> SSAValue:
    """The tensors one behind the other along an axis."""
    if not tensors:
        raise ArgumentError("tensors", "found an empty list, expected at least one tensor")
    return b.emit(ConcatOp(*tensors, axis=normal_axis("axis", axis, len(shape_of(tensors[0]))))).out


LAYERS = (ReshapeLayer(), TransposeLayer(), ConcatLayer(), SliceLayer(), PadLayer())
FUNCTIONS = (reshape, flatten, transpose, concat)
