"""Reads and sums at computed places."""

from __future__ import annotations

from collections.abc import Sequence

from npuc.frontends.dsl.syntax import Name
from npuc.frontends.jax.context import HloContext, Meaning, registry
from npuc.frontends.jax.operators.reductions import combiner
from npuc.frontends.jax.values import Known
from npuc.frontends.jax.views import TensorView, Value, whole
from npuc.frontends.script.weights import FLOATS, Refused

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)
OTHER = "found slices at computed places of another form than those of take, take_along_axis and x[i, j]"


def _places(c: HloContext, number: int, vector: int) -> tuple[list[Value], tuple[int, ...]]:
    """The indices along each axis that they name, and their shape."""
    indices = c.argument(number)
    shape = (indices.array if isinstance(indices, Known) else indices).shape
    rest = tuple(size for axis, size in enumerate(shape) if axis != vector)
    count = shape[vector] if vector < len(shape) else 1
    if isinstance(indices, Known):
        a = indices.array if vector < len(shape) else indices.array[..., None]
        return [Known(a.take(place, vector), indices.element) for place in range(count)], rest
    if count == 1 and vector < len(shape):
        axes = tuple(place for axis, place in enumerate(indices.axes) if axis != vector)
        return [TensorView(indices.name, axes, rest, indices.element)], rest
    name = c.views.plain(c, indices)
    if vector >= len(shape):
        return [whole(name, shape, indices.element)], rest
    parts = [c.let("slice", name, vector, start=n, stop=n + 1) for n in range(count)]
    return [whole(c.let("reshape", part, list(rest)), rest, indices.element) for part in parts], rest


@operator("gather")
def gather(c: HloContext) -> Value:
    x, ints = c.view(0), c.ints
    sizes, named = ints["slice_sizes"], ints.get("start_index_map", [])
    batches, gone = ints.get("operand_batching_dims", []), ints.get("collapsed_slice_dims", [])
    (vector,) = ints.get("index_vector_dim", [0])
    indices, shape = _places(c, 1, vector)
    if all(isinstance(one, Known) and one.scalar is not None for one in indices) and not batches and not shape:
        return _fixed(c, x, [int(one.scalar or 0) for one in indices if isinstance(one, Known)])
    whole_axes = [axis for axis in range(len(sizes)) if axis not in (*gone, *batches)]
    if sorted(gone) != sorted(named) or any(sizes[axis] != x.shape[axis] for axis in whole_axes):
        raise Refused(OTHER)
    operand = c.views.plain(c, x)
    given = [c.views.plain(c, one) for one in indices]
    if not batches and list(named) == [0] and len(x.shape) == 2 and x.element in FLOATS:
        return _spots(c, c.named(c.call("embedding", given[0], weight=operand)), 0, shape)
    if not batches and len(named) == 1:
        return _spots(c, c.named(c.call("index_select", operand, given[0], named[0])), named[0], shape)
    if not batches:
        return (
            _spots(c, c.named(c.call("index", operand, given, list(named))), min(named), shape)
            if _neighbours(named)
            else _refuse()
        )
    if len(named) == 1 and not whole_axes and _aligned(ints, batches, named[0], len(shape)):
        return c.result(c.call("gather", operand, given[0], named[0]))
    raise Refused(OTHER)


def _refuse() -> Value:
    raise Refused(OTHER)


def _neighbours(axes: Sequence[int]) -> bool:
    return list(axes) == list(range(axes[0], axes[0] + len(axes)))


def _aligned(ints: dict[str, list[int]], batches: Sequence[int], axis: int, rank: int) -> bool:
    """Whether the indices have the operand's axes in their order, the read one among them."""
    key = "start_indices_batching_dims" if "start_indices_batching_dims" in ints else "scatter_indices_batching_dims"
    others = [number for number in range(rank) if number != axis]
    return list(batches) == others and ints.get(key, []) == others and rank == len(batches) + 1


def _spots(c: HloContext, name: Name, axis: int, shape: tuple[int, ...]) -> TensorView:
    """A result whose axes of indices stand at an axis, in the order that the operation wants."""
    offsets, rank = c.ints.get("offset_dims", []), len(c.type.shape)
    spots = [place for place in range(rank) if place not in offsets]
    axes: list[int | None] = [None] * rank
    for number, place in enumerate(spots):
        axes[place] = axis + number
    for number, place in enumerate(sorted(offsets)):
        axes[place] = number if number < axis else number + len(shape)
    return TensorView(name, tuple(axes), c.type.shape, c.type.element)


def _fixed(c: HloContext, x: TensorView, starts: Sequence[int]) -> TensorView:
    """One slice at a known place."""
    name, sizes, gone = x.name, c.ints["slice_sizes"], c.ints.get("collapsed_slice_dims", [])
    for axis, start in zip(c.ints.get("start_index_map", []), starts, strict=True):
        if sizes[axis] != x.shape[axis] and (place := x.axes[axis]) is not None:
            start = min(max(start, 0), x.shape[axis] - sizes[axis])
            name = c.named(c.call("slice", name, place, start=start, stop=start + sizes[axis]))
    return TensorView(name, tuple(p for axis, p in enumerate(x.axes) if axis not in gone), c.type.shape, x.element)


@operator("scatter")
def scatter(c: HloContext) -> Value:
    ints = c.ints
    kind = combiner(c.flat.op)
    plain = kind is None and [one.kind for one in c.flat.op.regions[0].ops] == ["return"]
    reduce = {"add": "add", "multiply": "mul", "maximum": "max", "minimum": "min"}.get(kind or "")
    if len(c.flat.operands) != 3 or (reduce is None and not plain):
        raise Refused("found updates that are combined by a function of their own")
    named, gone = ints.get("scatter_dims_to_operand_dims", []), ints.get("inserted_window_dims", [])
    batches, windows = ints.get("input_batching_dims", []), ints.get("update_window_dims", [])
    (vector,) = ints.get("index_vector_dim", [0])
    indices, shape = _places(c, 1, vector)
    start, update = c.argument(0), c.view(2)
    zero = isinstance(start, Known) and start.scalar == 0 and reduce == "add"
    if zero and not batches and not shape and all(isinstance(one, Known) for one in indices):
        return _padded(c, update, [int(one.scalar or 0) for one in indices if isinstance(one, Known)])
    if sorted(gone) != sorted(named) or not _neighbours(named):
        raise Refused(OTHER)
    given = [c.views.plain(c, one) for one in indices]
    if batches:
        if len(named) != 1 or windows or not zero or not _aligned(ints, batches, named[0], len(shape)) or not c.is_step:
            raise Refused(OTHER)
        return _gathered(c, c.views.plain(c, update), given[0], named[0])
    spots = [axis for axis in range(len(update.shape)) if axis not in windows]
    before = [axis for axis in windows[: min(named)]]
    order = [*before, *spots, *windows[min(named) :]]
    turned = TensorView(
        update.name, tuple(update.axes[a] for a in order), tuple(update.shape[a] for a in order), update.element
    )
    source = c.views.plain(c, turned)
    if zero and list(named) == [0] and len(c.type.shape) == 2 and c.is_step:
        return _rows(c, source, given[0])
    target = c.views.plain(c, start)
    return c.result(c.call("index_put", target, given, source, list(named), **({"reduce": reduce} if reduce else {})))


def _padded(c: HloContext, update: TensorView, starts: Sequence[int]) -> TensorView:
    """One window at a known place among zeros."""
    ints = c.ints
    named, gone = ints.get("scatter_dims_to_operand_dims", []), ints.get("inserted_window_dims", [])
    name = c.views.plain(c, update)
    rest = iter(update.shape)
    sizes = [1 if axis in gone else next(rest) for axis in range(len(c.type.shape))]
    if list(c.shape(name)) != sizes:
        name = c.let("reshape", name, sizes)
    at = dict(zip(named, starts, strict=True))
    edges = [
        (at.get(a, 0), whole - size - at.get(a, 0))
        for a, (size, whole) in enumerate(zip(sizes, c.type.shape, strict=True))
    ]
    if min(side for pair in edges for side in pair) < 0:
        raise Refused(OTHER)
    listed = [side for pair in reversed(edges) for side in pair]
    return c.result(c.call("pad", name, listed)) if any(listed) else c.result(name)


def _rows(c: HloContext, dy: Name, ids: Name) -> TensorView:
    """The gradient of a table whose rows were read."""
    from npuc.dialects.train.embedding import EmbeddingDwOp

    operands, type = (c.tensor(dy), c.tensor(ids)), c.result_type(c.type.shape, dy)
    return c.result(c.built(lambda b: b.emit(EmbeddingDwOp(*operands, results=[type])).results[0]))


def _gathered(c: HloContext, dy: Name, index: Name, axis: int) -> TensorView:
    """The gradient of elements that were read along an axis."""
    from npuc.dialects.train.index import GatherDxOp

    operands, type = (c.tensor(dy), c.tensor(index)), c.result_type(c.type.shape, dy)
    return c.result(c.built(lambda b: b.emit(GatherDxOp(*operands, results=[type], axis=axis)).results[0]))
