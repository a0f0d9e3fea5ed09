"""Gather along an axis by indices moves the elements that it picks; its derivative accumulates into a dense tensor."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import ArgumentError, IndexOrInts, Value, check_positive, element_type, normal_axis
from npuc.compiler.layers.base import (
    Array,
    Cut,
    DataError,
    Emit,
    Gradients,
    Kind,
    Layer,
    Work,
    derivative,
    elements,
    result_elements,
    told_of,
)
from npuc.compiler.layers.constant import integers
from npuc.compiler.layers.cuts import row_cuts
from npuc.compiler.layers.domains import known_any
from npuc.compiler.layers.shape import view
from npuc.dialects.tensors import shape_of, tensor_of
from npuc.dialects.train.index import GatherDxOp, GatherOp, IndexSelectDxOp, IndexSelectOp, OneHotOp


def checked_indices(op: Operation, argument: str, index: Array, count: int, negative: bool = False) -> Array:
    """
    The indices, or an error that names the layer, the argument and the first of them that is out of range.

    With `negative` they may count from the end; the answer counts from the start.
    """
    least = -count if negative else 0
    wrong = (index < least) | (index >= count)
    if known_any(wrong):
        at = [int(place[0]) for place in np.nonzero(wrong)]
        where = f" at {at}" if at else ""
        raise DataError(
            f"{told_of(op)}argument '{argument}' holds {index[wrong][0]}{where}, expected {least} to {count - 1}"
        )
    return np.where(index < 0, index + count, index) if negative else index


class IndexSelectLayer(Layer[IndexSelectOp]):
    """Parts of a tensor; only they are read."""

    op = IndexSelectOp
    kind = Kind.DATA

    def evaluate(self, op: IndexSelectOp, *arrays: Array) -> tuple[Array, ...]:
        x, index = arrays
        axis = int(op.axis.value.data)
        return (x.take(checked_indices(op, "index", index, x.shape[axis], op.negative is not None), axis=axis),)

    def vjp(
        self, op: IndexSelectOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]
    ) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(derivative(IndexSelectDxOp, op, g, op.index, results=[op.x.type])).dx, None]

    def work(self, op: IndexSelectOp) -> Work:
        return Work(reads=(result_elements(op), elements(op.index)))

    def index_limit(self, op: IndexSelectOp, operand: int) -> int | None:
        return shape_of(op.x)[int(op.axis.value.data)] if operand == 1 else None

    def cuts(self, op: IndexSelectOp) -> Sequence[Cut]:
        along, sizes = int(op.axis.value.data) % len(shape_of(op.x)), shape_of(op.out)
        long = [axis for axis, size in enumerate(sizes) if size > 1]
        return [Cut((None, 0) if axis == along else (axis, None), (axis,)) for axis in long]


class IndexSelectDxLayer(Layer[IndexSelectDxOp]):
    """Parts of dy added at their indices; one vector operation per element of dy."""

    op = IndexSelectDxOp

    def evaluate(self, op: IndexSelectDxOp, *arrays: Array) -> tuple[Array, ...]:
        dy, index = arrays
        axis = int(op.axis.value.data)
        added = np.moveaxis(dy, axis, 0)
        size = shape_of(op.dx)[axis]
        moved = np.zeros((size, *added.shape[1:]), dtype=dy.dtype, like=dy)
        np.add.at(moved, checked_indices(op, "index", index, size, op.negative is not None), added)
        return (np.moveaxis(moved, 0, axis),)

    def work(self, op: IndexSelectDxOp) -> Work:
        return Work(vector_ops=elements(op.dy))


def _places(index: Array, axis: int) -> tuple[Array, ...]:
    """Where gather reads: the index along the axis, its own place along the others."""
    places: list[Array] = list(np.ogrid[tuple(slice(size) for size in index.shape)])
    places[axis] = index
    return tuple(places)


class GatherLayer(Layer[GatherOp]):
    """Elements by index along an axis; only they are read."""

    op = GatherOp
    kind = Kind.DATA

    def evaluate(self, op: GatherOp, *arrays: Array) -> tuple[Array, ...]:
        x, index = arrays
        axis = int(op.axis.value.data)
        return (x[_places(checked_indices(op, "index", index, x.shape[axis], op.negative is not None), axis)],)

    def vjp(self, op: GatherOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(derivative(GatherDxOp, op, g, op.index, results=[op.x.type])).dx, None]

    def work(self, op: GatherOp) -> Work:
        return Work(reads=(result_elements(op), elements(op.index)))

    def index_limit(self, op: GatherOp, operand: int) -> int | None:
        return shape_of(op.x)[int(op.axis.value.data)] if operand == 1 else None

    def cuts(self, op: GatherOp) -> Sequence[Cut]:
        along, picked = int(op.axis.value.data) % len(shape_of(op.x)), shape_of(op.index)
        found: list[Cut] = []
        for axis, (size, count) in enumerate(zip(shape_of(op.x), picked, strict=True)):
            if count > 1 and (axis == along or count == size):
                found.append(Cut((None if axis == along else axis, axis), (axis,)))
        return found


class GatherDxLayer(Layer[GatherDxOp]):
    """Elements of dy added at their indices; one vector operation per element of dy."""

    op = GatherDxOp

    def evaluate(self, op: GatherDxOp, *arrays: Array) -> tuple[Array, ...]:
        dy, index = arrays
        axis = int(op.axis.value.data)
        dx = np.zeros(shape_of(op.dx), dtype=dy.dtype, like=dy)
        np.add.at(dx, _places(checked_indices(op, "index", index, dx.shape[axis], op.negative is not None), axis), dy)
        return (dx,)

    def work(self, op: GatherDxOp) -> Work:
        return Work(vector_ops=elements(op.dy))


class OneHotLayer(Layer[OneHotOp]):
    """1 at each index; the indices are read, the result is written."""

    op = OneHotOp
    kind = Kind.DATA

    def evaluate(self, op: OneHotOp, *arrays: Array) -> tuple[Array, ...]:
        (ids,) = arrays
        classes = shape_of(op.out)[-1]
        return (checked_indices(op, "ids", ids, classes)[..., None] == np.arange(classes),)

    def index_limit(self, op: OneHotOp, operand: int) -> int | None:
        return shape_of(op.out)[-1] if operand == 0 else None

    def cuts(self, op: OneHotOp) -> Sequence[Cut]:
        return row_cuts(op, len(shape_of(op.ids)))


def index_select(b: GraphBuilder, x: Value, index: IndexOrInts, axis: int, negative: bool = False) -> SSAValue:
    """
    The parts of x along an axis at the places that `index` holds: a list, or a tensor of integers, whose axes take the
    place of that axis; with `negative` those below 0 count from the end.
    """
    axis = normal_axis("axis", axis, len(shape_of(x)))
    if not isinstance(index, SSAValue):
        if not index:
            raise ArgumentError("index", "found an empty list, expected at least one index")
        size = shape_of(x)[axis]
        for place in index:
            if not -size <= place < size:
                raise ArgumentError("index", f"found {place}, expected {-size} to {size - 1} for axis {axis}")
        index = integers(b, [place % size for place in index])
    shape = shape_of(index)
    parts = b.emit(IndexSelectOp(x, view(index, [elements(index)], b.emit), axis=axis, negative=negative)).out
    return view(parts, [*shape_of(x)[:axis], *shape, *shape_of(x)[axis + 1 :]], b.emit)


def gather(b: GraphBuilder, x: Value, index: Value, axis: int, negative: bool = False) -> SSAValue:
    """
    The elements of x whose place along an axis `index` says; on the other axes they stay where they are. With
    `negative` an index below 0 counts from the end.
    """
    return b.emit(GatherOp(x, index, axis=normal_axis("axis", axis, len(shape_of(x))), negative=negative)).out


def one_hot(b: GraphBuilder, ids: Value, classes: int, dtype: str = "f32") -> SSAValue:
    """A new last axis of `classes` elements, 1 at each index and 0 elsewhere."""
    check_positive("classes", classes)
    result = tensor_of(element_type("dtype", dtype), [*shape_of(ids), classes])
    return b.emit(OneHotOp(ids, results=[result])).out


LAYERS = (IndexSelectLayer(), IndexSelectDxLayer(), GatherLayer(), GatherDxLayer(), OneHotLayer())
FUNCTIONS = (index_select, gather, one_hot)
