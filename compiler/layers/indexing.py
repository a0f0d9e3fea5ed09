"""Elements of a tensor by several indices at once: only they and the indices are read; the derivative adds them up."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import ArgumentError, OptInts, Value, Values, normal_axis, rank_at_least
from npuc.compiler.layers.base import (
    Array,
    Cut,
    Emit,
    Gradients,
    Kind,
    Layer,
    Work,
    elements,
    params_of,
    result_elements,
)
from npuc.compiler.layers.index import checked_indices
from npuc.compiler.layers.shape import shaped, view
from npuc.dialects.tensors import shape_of, tensor_type
from npuc.dialects.train.arithmetic import constant
from npuc.dialects.train.base import ints
from npuc.dialects.train.indexing import INDEXED, IndexOp
from npuc.dialects.train.join import UnbindOp
from npuc.dialects.train.rules import broadcast
from npuc.dialects.train.scatter import (
    IndexPutDsrcOp,
    IndexPutOp,
    IndexReduceDsrcOp,
    IndexReduceDxOp,
    IndexReduceOp,
)

Indexing = IndexOp | IndexPutOp | IndexPutDsrcOp | IndexReduceOp | IndexReduceDxOp | IndexReduceDsrcOp


def places(op: Indexing, index: Sequence[Array], whole: Sequence[int], picked: Sequence[int]) -> tuple[Array, ...]:
    """Where in a tensor of the shape `whole` the picked elements are: an array for each axis; they broadcast."""
    walked = np.ogrid[tuple(slice(size) for size in picked)]
    left = iter(index)
    found: list[Array] = []
    for axis, (place, size) in enumerate(zip(ints(op.axes), whole, strict=True)):
        if place == INDEXED:
            found.append(checked_indices(op, f"index of axis {axis}", next(left), size, op.negative is not None))
        else:
            found.append(walked[place])
    return tuple(found)


def indexed_size(op: Indexing, number: int) -> int:
    """The size of the axis that the index tensor of a number, from 0, goes along."""
    axes = [axis for axis, place in enumerate(ints(op.axes)) if place == INDEXED]
    return shape_of(op.operands[0])[axes[number]]


def index_axes(index: Sequence[SSAValue], axis: int) -> list[int | None]:
    """For each index tensor the axis along which it is split with an axis of the picked elements, if it is."""
    return [axis if shape_of(one)[axis] > 1 else None for one in index]


class IndexLayer(Layer[IndexOp]):
    """Elements by indices."""

    op = IndexOp
    kind = Kind.DATA

    def evaluate(self, op: IndexOp, *arrays: Array) -> tuple[Array, ...]:
        x, *index = arrays
        picked = shape_of(op.out)
        return (x[places(op, index, x.shape, picked)].reshape(picked),)

    def vjp(self, op: IndexOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        zeros = emit(constant(tensor_type(op.x), 0.0)).out
        added = emit(IndexReduceOp(zeros, g, *op.index, results=None, reduce="add", **params_of(op)))
        return [added.out, *(None for _ in op.index)]

    def work(self, op: IndexOp) -> Work:
        return Work(reads=(result_elements(op), *map(elements, op.index)))

    def index_limit(self, op: IndexOp, operand: int) -> int | None:
        return indexed_size(op, operand - 1) if operand else None

    def cuts(self, op: IndexOp) -> Sequence[Cut]:
        """Along an axis of x that is walked whole, and along one that only indices have."""
        axes, whole, found = ints(op.axes), shape_of(op.x), list[Cut]()
        for axis, size in enumerate(shape_of(op.out)):
            own = axes.index(axis) if axis in axes else None
            if size > 1 and (own is None or whole[own] == size):
                found.append(Cut((own, *index_axes(op.index, axis)), (axis,)))
        return found


class Picked(NamedTuple):
    """How indices pick: what they read or write, the index tensors as an operation takes them, and its `axes`."""

    shape: tuple[int, ...]
    tensors: list[SSAValue]
    axes: tuple[int, ...]


def picked_by(b: GraphBuilder, x: SSAValue, indices: Values, axes: OptInts) -> Picked:
    """What several indices pick of x by the rule of PyTorch and numpy; checks the arguments of `index`."""
    whole = shape_of(x)
    if not indices:
        raise ArgumentError("indices", "found an empty list, expected at least one tensor of integers")
    given = list(range(len(indices))) if axes is None else [axes] if isinstance(axes, int) else list(axes)
    along = [normal_axis("axes" if axes is not None else "indices", axis, len(whole)) for axis in given]
    if len(along) != len(indices) or len(set(along)) != len(along):
        raise ArgumentError("axes", f"found {given} for {len(indices)} indices, expected different axes, one an index")
    shape: tuple[int, ...] = ()
    for one in indices:
        both = broadcast(shape, shape_of(one))
        if both is None:
            message = f"found indices of shapes {list(shape)} and {list(shape_of(one))}, expected shapes that broadcast"
            raise ArgumentError("indices", message)
        shape = both
    ordered = sorted(along)
    # Neighbours are replaced in their place; others leave it open where that is, so that the first place is taken.
    at = ordered[0] if ordered[-1] - ordered[0] == len(ordered) - 1 else 0
    kept = [axis for axis in range(len(whole)) if axis not in along]
    behind = [1] * (len(kept) - at)
    used = [indices[along.index(axis)] for axis in ordered]
    index = [
        view(one, [1] * (at + len(shape) - len(shape_of(one))) + list(shape_of(one)) + behind, b.emit) for one in used
    ]
    sizes = [whole[axis] for axis in kept]
    moved = {axis: place + (len(shape) if place >= at else 0) for place, axis in enumerate(kept)}
    return Picked(
        (*sizes[:at], *shape, *sizes[at:]), index, tuple(moved.get(axis, INDEXED) for axis in range(len(whole)))
    )


def picked_by_rows(b: GraphBuilder, x: SSAValue, index: SSAValue, batch: int) -> Picked:
    """What the rows of an index [..., k] pick of x, whose first `batch` axes are those of the index."""
    own, whole = rank_at_least("index", index, 1, "[…, axes]"), shape_of(x)
    count = own[-1]
    if not 0 <= batch < len(own) or batch + count > len(whole):
        message = f"found rows of {count} indices after {batch} axes of a batch for a tensor of rank {len(whole)}"
        raise ArgumentError("index", message)
    if own[:batch] != whole[:batch]:
        raise ArgumentError("batch", f"found {list(own[:batch])} and {list(whole[:batch])}, expected equal sizes")
    behind = whole[batch + count :]
    columns = [view(index, own[:-1], b.emit)] if count == 1 else list(b.emit(UnbindOp(index, axis=-1)).results)
    tensors = [view(one, [*own[:-1], *[1] * len(behind)], b.emit) for one in columns]
    rest = range(len(own) - 1, len(own) - 1 + len(behind))
    return Picked((*own[:-1], *behind), tensors, (*range(batch), *[INDEXED] * count, *rest))


def _picked(b: GraphBuilder, x: SSAValue, by: Picked) -> SSAValue:
    return b.emit(IndexOp(x, *by.tensors, results=[shaped(x, by.shape)], axes=by.axes, negative=True)).out


def index(b: GraphBuilder, x: Value, indices: Values, axes: OptInts = None) -> SSAValue:
    """
    The elements of x at indices along several axes, by default the first ones: PyTorch's `x[i, :, j]` is
    `index(x, [i, j], [0, 2])`. The integer tensors broadcast, negative ones count from the end, and their axes stand in
    place of those that they index, or first where these are no neighbours.
    """
    return _picked(b, x, picked_by(b, x, indices, axes))


def gather_nd(b: GraphBuilder, x: Value, index: Value, batch: int = 0) -> SSAValue:
    """
    The parts of x at the places that the rows of an integer tensor [..., k] hold along k axes, after `batch` axes that
    both have; negative indices count from the end.
    """
    return _picked(b, x, picked_by_rows(b, x, index, batch))


LAYERS = (IndexLayer(),)
FUNCTIONS = (index, gather_nd)
