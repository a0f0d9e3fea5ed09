"""
Concatenation and splitting of tensors: concat and split, stack and unbind. Every element is moved once.

However many tensors there are, the derivative of each is one operation too.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import (
    ArgumentError,
    IntOrInts,
    Value,
    Values,
    new_axis,
    normal_axis,
    rank_at_least,
    short,
)
from npuc.compiler.layers.base import Array, Cut, Emit, Gradients, Joined, Kind, Layer, Pieces, elements
from npuc.compiler.layers.cuts import same_axes
from npuc.compiler.layers.shape import shaped, view
from npuc.dialects.tensors import Tensor, shape_of, tensor_type
from npuc.dialects.train.arithmetic import constant
from npuc.dialects.train.base import ints
from npuc.dialects.train.box import PadOp, SliceOp
from npuc.dialects.train.join import ConcatOp, SplitOp, StackOp, UnbindOp


def _axis(op: ConcatOp | SplitOp | StackOp | UnbindOp, rank: int) -> int:
    return int(op.axis.value.data) % rank


def _at(axis: int, position: int, rank: int) -> tuple[int, ...]:
    return tuple(position if i == axis else 0 for i in range(rank))


def _only(given: Sequence[object]) -> int | None:
    """The index of the one entry that is not None; None if there are several."""
    places = [i for i, one in enumerate(given) if one]
    return places[0] if len(places) == 1 else None


def _whole(grads: Sequence[SSAValue | None], op: Operation, emit: Emit[Any]) -> list[SSAValue]:
    """The gradients of all results, zeros where there is none; results of one type share a constant of zeros."""
    zeros: dict[Tensor, SSAValue] = {}
    whole: list[SSAValue] = []
    for grad, result in zip(grads, op.results, strict=True):
        type = tensor_type(result)
        if grad is None and type not in zeros:
            zeros[type] = emit(constant(type, 0.0)).out
        whole.append(zeros[type] if grad is None else grad)
    return whole


def _around(axis: int, part: Sequence[int]) -> list[tuple[int, int]]:
    """The axes of a part of a shape, each with its number among the axes of a stack of parts along `axis`."""
    return [(own, own + (own >= axis)) for own, size in enumerate(part) if size > 1]


class ConcatLayer(Layer[ConcatOp]):
    """Tensors one behind the other."""

    op = ConcatOp
    kind = Kind.DATA

    def shown(self, op: ConcatOp) -> Joined | Pieces | None:
        return Joined(tuple(range(len(op.operands))))

    def evaluate(self, op: ConcatOp, *arrays: Array) -> tuple[Array, ...]:
        return (np.concatenate(arrays, axis=int(op.axis.value.data)),)

    def vjp(self, op: ConcatOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        rank = len(shape_of(op.out))
        axis, only = _axis(op, rank), _only(needs)
        sizes = tuple(shape_of(part)[axis] for part in op.operands)
        if only is None:
            return list(emit(SplitOp(g, sizes=sizes, axis=axis)).results)
        starts = _at(axis, sum(sizes[:only]), rank)
        part = emit(SliceOp(g, results=[op.operands[only].type], starts=starts)).out
        return [part if i == only else None for i in range(len(sizes))]

    def cuts(self, op: ConcatOp) -> Sequence[Cut]:
        return same_axes(op)


class SplitLayer(Layer[SplitOp]):
    """Parts of a tensor along an axis."""

    op = SplitOp
    kind = Kind.DATA

    def shown(self, op: SplitOp) -> Joined | Pieces | None:
        return Pieces(tuple(map(elements, op.results)), tuple(range(len(op.results))))

    def evaluate(self, op: SplitOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        parts = np.split(x, np.cumsum(ints(op.sizes))[:-1], axis=int(op.axis.value.data))
        return tuple(part.copy() for part in parts)

    def vjp(self, op: SplitOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        rank = len(shape_of(op.x))
        axis, only = _axis(op, rank), _only(grads)
        if only is None:
            return [emit(ConcatOp(*_whole(grads, op, emit), axis=axis)).out]
        g = grads[only]
        assert g is not None
        starts = _at(axis, sum(ints(op.sizes)[:only]), rank)
        return [emit(PadOp(g, results=[op.x.type], starts=starts)).out]

    def cuts(self, op: SplitOp) -> Sequence[Cut]:
        return same_axes(op, but=(_axis(op, len(shape_of(op.x))),))


class StackLayer(Layer[StackOp]):
    """Tensors along a new axis."""

    op = StackOp
    kind = Kind.DATA

    def shown(self, op: StackOp) -> Joined | Pieces | None:
        return Joined(tuple(range(len(op.operands))))

    def evaluate(self, op: StackOp, *arrays: Array) -> tuple[Array, ...]:
        return (np.stack(arrays, axis=int(op.axis.value.data)),)

    def vjp(self, op: StackOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        rank = len(shape_of(op.out))
        axis, only = _axis(op, rank), _only(needs)
        if only is None:
            return list(emit(UnbindOp(g, axis=axis)).results)
        own = shape_of(op.operands[only])
        box = shaped(g, (*own[:axis], 1, *own[axis:]))
        part = view(emit(SliceOp(g, results=[box], starts=_at(axis, only, rank))).out, own, emit)
        return [part if i == only else None for i in range(len(needs))]

    def cuts(self, op: StackOp) -> Sequence[Cut]:
        axes = _around(_axis(op, len(shape_of(op.out))), shape_of(op.operands[0]))
        return [Cut((axis,) * len(op.operands), (beside,)) for axis, beside in axes]


class UnbindLayer(Layer[UnbindOp]):
    """The parts of a tensor at each index of an axis."""

    op = UnbindOp
    kind = Kind.DATA

    def shown(self, op: UnbindOp) -> Joined | Pieces | None:
        return Pieces(tuple(map(elements, op.results)), tuple(range(len(op.results))))

    def evaluate(self, op: UnbindOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        return tuple(part.copy() for part in np.moveaxis(x, int(op.axis.value.data), 0))

    def vjp(self, op: UnbindOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        rank = len(shape_of(op.x))
        axis, only = _axis(op, rank), _only(grads)
        if only is None:
            return [emit(StackOp(*_whole(grads, op, emit), axis=axis)).out]
        g = grads[only]
        assert g is not None
        own = shape_of(g)
        part = view(g, (*own[:axis], 1, *own[axis:]), emit)
        return [emit(PadOp(part, results=[op.x.type], starts=_at(axis, only, rank))).out]

    def cuts(self, op: UnbindOp) -> Sequence[Cut]:
        axes = _around(_axis(op, len(shape_of(op.x))), shape_of(op.results[0]))
        return [Cut((beside,), (axis,) * len(op.results)) for axis, beside in axes]


def concat(b: GraphBuilder, tensors: Values, axis: int) -> SSAValue:
    """The tensors one behind the other along an axis."""
    if not tensors:
        raise ArgumentError("tensors", "found an empty list, expected at least one tensor")
    return b.emit(ConcatOp(*tensors, axis=normal_axis("axis", axis, len(shape_of(tensors[0]))))).out


def split(b: GraphBuilder, x: Value, sizes: IntOrInts, axis: int) -> list[SSAValue]:
    """Parts of x along an axis, as a list: of the given sizes, or all of one size but for a smaller last one."""
    axis = normal_axis("axis", axis, len(shape_of(x)))
    total = shape_of(x)[axis]
    if isinstance(sizes, int):
        if sizes < 1:
            raise ArgumentError("sizes", f"found {sizes}, expected a positive size or a list of sizes")
        whole, rest = divmod(total, sizes)
        b.claim(whole)
        listed = [sizes] * whole + [rest] * (rest > 0)
    else:
        listed = list(sizes)
        if min(listed, default=0) < 1:
            raise ArgumentError("sizes", f"found {short(listed)}, expected positive sizes")
        if sum(listed) != total:
            message = f"found {short(listed)}, {sum(listed)} in all, expected {total}, the size of axis {axis}"
            raise ArgumentError("sizes", message)
    return list(b.emit(SplitOp(x, sizes=tuple(listed), axis=axis)).results)


def stack(b: GraphBuilder, tensors: Values, axis: int = 0) -> SSAValue:
    """Tensors of one shape along a new axis; `axis` is its place in the result."""
    if not tensors:
        raise ArgumentError("tensors", "found an empty list, expected at least one tensor")
    return b.emit(StackOp(*tensors, axis=new_axis("axis", axis, len(shape_of(tensors[0]))))).out


def unbind(b: GraphBuilder, x: Value, axis: int = 0) -> list[SSAValue]:
    """The parts of x at each index of an axis, without that axis, as a list."""
    shape = rank_at_least("x", x, 1, "at least one axis")
    axis = normal_axis("axis", axis, len(shape))
    b.claim(shape[axis])
    return list(b.emit(UnbindOp(x, axis=axis)).results)


LAYERS = (ConcatLayer(), SplitLayer(), StackLayer(), UnbindLayer())
FUNCTIONS = (concat, split, stack, unbind)
