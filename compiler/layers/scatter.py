"""
Elements put into a tensor at indices, or combined there one by one: a vector operation for each of them.

The tensor is read and written whole, as each value of a program has memory of its own.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import (
    ArgumentError,
    Operand,
    OptInts,
    Value,
    Values,
    check_value,
    check_word,
    normal_axis,
)
from npuc.compiler.layers.base import (
    Array,
    Cut,
    Emit,
    Gradients,
    Kind,
    Layer,
    Work,
    derivative,
    elements,
    params_of,
    result_elements,
)
from npuc.compiler.layers.indexing import Picked, index_axes, indexed_size, picked_by, picked_by_rows, places
from npuc.compiler.layers.shape import expand, shaped
from npuc.dialects.tensors import shape_of, tensor_of, tensor_type
from npuc.dialects.train.arithmetic import constant
from npuc.dialects.train.base import ints
from npuc.dialects.train.box import SliceOp
from npuc.dialects.train.indexing import INDEXED, IndexOp
from npuc.dialects.train.rules import broadcast
from npuc.dialects.train.scatter import (
    REDUCTIONS,
    IndexPutDsrcOp,
    IndexPutOp,
    IndexReduceDsrcOp,
    IndexReduceDxOp,
    IndexReduceOp,
)

_COMBINE: Mapping[str, np.ufunc] = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}
_WAYS = ("set", *REDUCTIONS)


def _cuts(op: IndexPutOp | IndexReduceOp) -> list[Cut]:
    """Along an axis that src has whole; along the others each part would need all of src."""
    put, found = shape_of(op.src), list[Cut]()
    for axis, (place, size) in enumerate(zip(ints(op.axes), shape_of(op.x), strict=True)):
        if place != INDEXED and size > 1 and put[place] == size:
            found.append(Cut((axis, place, *index_axes(op.index, place)), (axis,)))
    return found


class IndexPutLayer(Layer[IndexPutOp]):
    """Elements in place of others."""

    op = IndexPutOp
    kind = Kind.DATA

    def evaluate(self, op: IndexPutOp, *arrays: Array) -> tuple[Array, ...]:
        x, src, *index = arrays
        out = x.copy()
        out[places(op, index, x.shape, src.shape)] = src
        return (out,)

    def vjp(
        self, op: IndexPutOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]
    ) -> Gradients:
        (g,) = grads
        assert g is not None
        dx = dsrc = None
        if needs[0]:
            zeros = emit(constant(tensor_type(op.src), 0.0)).out
            dx = emit(derivative(IndexPutOp, op, g, zeros, *op.index)).out
        if needs[1]:
            dsrc = emit(derivative(IndexPutDsrcOp, op, g, *op.index, results=[op.src.type])).dsrc
        return [dx, dsrc, *(None for _ in op.index)]

    def index_limit(self, op: IndexPutOp, operand: int) -> int | None:
        return indexed_size(op, operand - 2) if operand > 1 else None

    def cuts(self, op: IndexPutOp) -> Sequence[Cut]:
        return _cuts(op)


class IndexPutDsrcLayer(Layer[IndexPutDsrcOp]):
    """The elements of dy that stay; only what is picked is read."""

    op = IndexPutDsrcOp
    kind = Kind.DATA

    def evaluate(self, op: IndexPutDsrcOp, *arrays: Array) -> tuple[Array, ...]:
        dy, *index = arrays
        put = shape_of(op.dsrc)
        at = places(op, index, dy.shape, put)
        numbers = np.arange(result_elements(op)).reshape(put)
        last = np.zeros(dy.shape, dtype=np.int64, like=dy)
        last[at] = numbers
        return (np.where(last[at] == numbers, dy[at], 0),)

    def work(self, op: IndexPutDsrcOp) -> Work:
        return Work(reads=(result_elements(op), *map(elements, op.index)))


class IndexReduceLayer(Layer[IndexReduceOp]):
    """Elements combined with others; one vector operation for each element of src."""

    op = IndexReduceOp

    def evaluate(self, op: IndexReduceOp, *arrays: Array) -> tuple[Array, ...]:
        x, src, *index = arrays
        out = x.copy()
        _COMBINE[op.reduce.data].at(out, places(op, index, x.shape, src.shape), src)
        return (out,)

    def vjp(
        self, op: IndexReduceOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]
    ) -> Gradients:
        (g,) = grads
        assert g is not None
        dx = dsrc = None
        if op.reduce.data == "add":
            picking = {name: value for name, value in params_of(op).items() if name != "reduce"}
            dx = g
            dsrc = emit(IndexOp(g, *op.index, results=[op.src.type], **picking)).out if needs[1] else None
        else:
            read = (g, op.x, op.src, *op.index)
            dx = emit(derivative(IndexReduceDxOp, op, *read)).dx if needs[0] else None
            dsrc = emit(derivative(IndexReduceDsrcOp, op, *read)).dsrc if needs[1] else None
        return [dx, dsrc, *(None for _ in op.index)]

    def work(self, op: IndexReduceOp) -> Work:
        return Work(vector_ops=elements(op.src))

    def index_limit(self, op: IndexReduceOp, operand: int) -> int | None:
        return indexed_size(op, operand - 2) if operand > 1 else None

    def cuts(self, op: IndexReduceOp) -> Sequence[Cut]:
        return _cuts(op)


def _slopes(op: IndexReduceDxOp | IndexReduceDsrcOp, arrays: Sequence[Array]) -> tuple[Array, Array]:
    """The gradients of x and src; equal extremes share dy equally, as in PyTorch's scatter_reduce."""
    dy, x, src, *index = arrays
    at = places(op, index, x.shape, src.shape)
    count = np.zeros_like(x)
    if op.reduce.data == "mul":
        rest, factors = np.where(x == 0, 1, x), np.where(src == 0, 1, src)
        np.add.at(count, at, src == 0)
        count += x == 0
        divisors = rest.copy()
        np.multiply.at(rest, at, factors)
        # the product of all others: 0 if one of them is
        dx = np.where(count == (x == 0), dy * (rest / divisors), 0)
        return dx, np.where(count[at] == (src == 0), dy[at] * (rest[at] / factors), 0)
    y = x.copy()
    _COMBINE[op.reduce.data].at(y, at, src)
    np.add.at(count, at, src == y[at])
    share = dy / np.maximum(count + (x == y), 1)
    return np.where(x == y, share, 0), np.where(src == y[at], share[at], 0)


class IndexReduceDxLayer(Layer[IndexReduceDxOp]):
    """Elements of src are combined, compared and counted, those of x compared and given their share."""

    op = IndexReduceDxOp

    def evaluate(self, op: IndexReduceDxOp, *arrays: Array) -> tuple[Array, ...]:
        return (_slopes(op, arrays)[0],)

    def work(self, op: IndexReduceDxOp) -> Work:
        return Work(vector_ops=3 * elements(op.src) + 2 * elements(op.x))


class IndexReduceDsrcLayer(Layer[IndexReduceDsrcOp]):
    """As for x; then each element of src is compared and given its share."""

    op = IndexReduceDsrcOp

    def evaluate(self, op: IndexReduceDsrcOp, *arrays: Array) -> tuple[Array, ...]:
        return (_slopes(op, arrays)[1],)

    def work(self, op: IndexReduceDsrcOp) -> Work:
        return Work(vector_ops=5 * elements(op.src) + 2 * elements(op.x))


def _put(b: GraphBuilder, x: SSAValue, src: Operand, by: Picked, reduce: str, *, negative: bool = True) -> SSAValue:
    """x with src, a number or a tensor that broadcasts, at what is picked."""
    check_word("reduce", reduce, _WAYS)
    if not isinstance(src, SSAValue):
        element = tensor_type(x).element_type
        check_value("src", src, element)
        src = b.constant(tensor_of(element, by.shape), src)
    elif broadcast(shape_of(src), by.shape) != by.shape:
        raise ArgumentError("src", f"found {list(shape_of(src))}, expected a shape that broadcasts to {list(by.shape)}")
    operands = (x, expand(b, src, by.shape), *by.tensors)
    if reduce == "set":
        return b.emit(IndexPutOp(*operands, axes=by.axes, negative=negative)).out
    return b.emit(IndexReduceOp(*operands, axes=by.axes, reduce=reduce, negative=negative)).out


def index_put(
    b: GraphBuilder, x: Value, indices: Values, src: Operand, axes: OptInts = None, reduce: str = "set"
) -> SSAValue:
    """
    x with src, which broadcasts, at indices along several axes, by default the first ones, as `index` reads them; or
    src combined with what is there by `reduce`: "add" (PyTorch's index_add, or index_put with accumulate), "mul",
    "max" or "min". Where indices are equal, the last element is set.
    """
    return _put(b, x, src, picked_by(b, x, indices, axes), reduce)


def scatter(
    b: GraphBuilder, x: Value, index: Value, src: Operand, axis: int, reduce: str = "set", negative: bool = False
) -> SSAValue:
    """
    x with each element of src at the place along an axis that `index` says, where the last of several stays; or
    combined with what is there by `reduce`: "add", "mul", "max" or "min". src may be larger than the index, whose
    shape is taken of it; with `negative` an index below 0 counts from the end.
    """
    axis, shape = normal_axis("axis", axis, len(shape_of(x))), shape_of(index)
    if isinstance(src, SSAValue) and shape_of(src) != shape:
        own = shape_of(src)
        if len(own) != len(shape) or any(size > most for size, most in zip(shape, own, strict=True)):
            raise ArgumentError("src", f"found {list(own)}, expected at least the sizes of the index, {list(shape)}")
        src = b.emit(SliceOp(src, results=[shaped(src, shape)], starts=(0,) * len(shape))).out
    axes = tuple(INDEXED if one == axis else one for one in range(len(shape_of(x))))
    return _put(b, x, src, Picked(shape, [index], axes), reduce, negative=negative)


def scatter_nd(b: GraphBuilder, x: Value, index: Value, src: Operand, reduce: str = "set") -> SSAValue:
    """
    x with the parts of src at the places that the rows of an integer tensor [..., k] hold along the first k axes, or
    combined with what is there by `reduce`; negative indices count from the end.
    """
    return _put(b, x, src, picked_by_rows(b, x, index, 0), reduce)


LAYERS = (
    IndexPutLayer(),
    IndexPutDsrcLayer(),
    IndexReduceLayer(),
    IndexReduceDxLayer(),
    IndexReduceDsrcLayer(),
)
FUNCTIONS = (index_put, scatter, scatter_nd)
