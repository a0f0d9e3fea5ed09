"""Elements at places: gather in its forms, one-hot vectors, rows reversed; places that depend on values."""

from __future__ import annotations

from math import prod

import numpy as np

from npuc.frontends.dsl.syntax import Call, Name
from npuc.frontends.onnx.context import OnnxContext
from npuc.frontends.onnx.operators import Meaning, Result, registry
from npuc.frontends.onnx.operators.scatter import may_be_negative
from npuc.frontends.onnx.operators.shapes import part, shaped
from npuc.frontends.onnx.values import Constant
from npuc.frontends.onnx.weights import OnnxWeight
from npuc.frontends.script.distinct import Distinct, places_of

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)


@operator("Gather")
def gather(c: OnnxContext) -> Result:
    data, index = c.tensor(0), c.tensor(1)
    rank, axis = len(data.shape), c.onnx.int("axis")
    if not -rank <= axis < rank:
        raise c.error(f"axis {axis} is outside of a tensor of rank {rank}")
    axis %= rank
    if isinstance(index, Constant):
        return _taken(c, axis, index)
    if isinstance(data, OnnxWeight) and rank == 2 and axis == 0 and index.type.name in ("int32", "int64"):
        if c.own(weight=data):
            element = c.language(data.type)
            return c.call("embedding", c.x(1), *data.shape, **({} if element == "f32" else {"dtype": element}))
        return c.call("embedding", c.x(1), weight=c.x(0))
    return c.call("index_select", c.x(0), c.x(1), axis, negative=True)


def _from_zero(c: OnnxContext, index: Name, size: int) -> Name:
    """Places along an axis counted from 0, of such that may count from its end."""
    return c.let("where", c.let("less", index, 0), c.let("add", index, size), index)


def _taken(c: OnnxContext, axis: int, index: Constant) -> Result:
    """The elements of the first operand at known places of an axis."""
    x = c.x(0)
    size = c.shape(x)[axis]
    places = index.array
    if index.type.held.kind not in "iu" or np.any(places < -size) or np.any(places >= size):
        raise c.error(f"an index is outside of an axis of size {size}")
    places = np.where(places < 0, places + size, places)
    if not index.shape:
        place = int(places)
        taken = c.held(part(c, x, axis, range(place, place + 1), size))
        return shaped(c, taken, [*c.shape(x)[:axis], *c.shape(x)[axis + 1 :]])
    flat = places.ravel().tolist()
    if not flat:
        raise c.error("takes no element")
    if flat == list(range(flat[0], flat[0] + len(flat))):
        taken = c.held(part(c, x, axis, range(flat[0], flat[0] + len(flat)), size))
    else:
        taken = c.let("index_select", x, flat, axis)
    return shaped(c, taken, [*c.shape(x)[:axis], *index.shape, *c.shape(x)[axis + 1 :]])


@operator("GatherElements")
def gather_elements(c: OnnxContext) -> Result:
    x, index = c.x(0), c.x(1)
    axis = c.axis_of(x)
    c.check_rank(1, len(c.shape(x)))
    for other, (size, wanted) in enumerate(zip(c.shape(x), c.shape(index), strict=True)):
        if other != axis and wanted < size:
            x = c.let("slice", x, other, 0, wanted)
    return c.call("gather", x, index, axis, **({"negative": True} if may_be_negative(c, 1) else {}))


@operator("GatherND")
def gather_nd(c: OnnxContext) -> Result:
    """Elements, or parts, at places of the first axes, after those of the batch."""
    lead = c.onnx.int("batch_dims")
    return c.call("gather_nd", c.x(0), c.x(1), **({"batch": lead} if lead else {}))


@operator("OneHot")
def one_hot(c: OnnxContext) -> Result:
    depth, values = c.onnx.constant(1), c.onnx.constant(2)
    if depth is None or values is None or values.shape != (2,):
        raise c.error("its depth and values are not given")
    classes = int(depth.array.reshape(()))
    off, on = values.array.tolist()
    element = c.language(values.type)
    index = c.x(0)
    ids = index if c.element(index) in ("i32", "i64") else c.let("cast", index, to="i64")
    places = _from_zero(c, ids, classes)
    hot: Name | Call = c.call("one_hot", places, classes, dtype=element)
    if on - off != 1:
        hot = c.call("mul", c.held(hot), on - off)
    if off:
        hot = c.call("add", c.held(hot), off)
    rank = len(c.shape(index)) + 1
    axis = c.onnx.int("axis", -1)
    if not -rank <= axis < rank:
        raise c.error(f"axis {axis} is outside of a tensor of rank {rank}")
    order = list(range(rank - 1))
    order.insert(axis % rank, rank - 1)
    return hot if order[-1] == rank - 1 else c.call("transpose", c.held(hot), order)


@operator("ReverseSequence")
def reverse_sequence(c: OnnxContext) -> Result:
    """The first elements of each row in reverse order, as many as are said."""
    x, lengths = c.x(), c.onnx.ints_at(1) or ()
    time, batch = c.onnx.int("time_axis"), c.onnx.int("batch_axis", 1)
    if len(c.shape(x)) < 2 or {time, batch} != {0, 1} or len(lengths) != c.shape(x)[batch]:
        raise c.error("lengths and axes do not fit")
    rows: list[Name] = []
    for row, length in enumerate(lengths):
        places = [*range(length - 1, -1, -1), *range(length, c.shape(x)[time])]
        rows.append(c.let("index_select", c.let("slice", x, batch, row, row + 1), places, time))
    return c.call("concat", rows, batch)


@operator("NonZero")
def nonzero(c: OnnxContext) -> Result:
    """The places of the elements that are not 0, [rank, size]."""
    x = c.x(0)
    if not c.shape(x):
        x = c.let("reshape", x, [1])
    size = c.assumed.of(c.onnx, prod(c.shape(x)))
    return c.call("transpose", c.let("cast", c.let("nonzero", x, size), to="i64"), [1, 0])


@operator("Compress", ranks={1: 1})
def compress(c: OnnxContext) -> Result:
    """The elements along an axis, or of all in row-major order, where a condition is true."""
    x, condition = c.x(), c.onnx.input(1)
    if "axis" in c.onnx.attributes:
        axis = c.axis_of(x)
    else:
        x, axis = c.let("reshape", x, [-1]), 0
    length = c.shape(x)[axis]
    if not isinstance(condition, Constant):
        mask = c.x(1)
        count = c.shape(mask)[0]
        if count > length:
            raise c.error(f"found {count} conditions for an axis of {length}")
        (places,) = places_of(c, mask, c.assumed.of(c.onnx, count))
        return c.call("index_select", x, places, axis)
    known = np.flatnonzero(condition.array)
    if not known.size or known[-1] >= length:
        raise c.error(f"takes {known.size} elements of an axis of {length}")
    return c.call("index_select", x, known.tolist(), axis)


@operator("Unique")
def unique(c: OnnxContext) -> Result:
    """The distinct values, where each is first, the number of each element's value, and how often each is."""
    if "axis" in c.onnx.attributes:
        raise c.error("finds distinct slices along an axis, expected distinct elements")
    x = c.x(0)
    shape = c.shape(x)
    size = c.assumed.of(c.onnx, prod(shape))
    found = Distinct.of(c, c.let("reshape", x, [-1]), size, sort=True)
    results: list[Name] = [found.values, found.places, found.inverse([prod(shape)]), found.counts]
    if not c.onnx.int("sorted", 1):
        order = c.let("cast", c.let("argsort", results[1]), to="i64")
        number = c.let("cast", c.let("argsort", order), to="i64")
        results = [c.let("index_select", one, order, 0) for one in results[:2]] + [
            c.let("index_select", number, results[2], 0),
            c.let("index_select", results[3], order, 0),
        ]
    return results[: len(c.onnx.outputs)]


@operator("NonMaxSuppression", ranks={0: 3, 1: 3})
def non_max_suppression(c: OnnxContext) -> Result:
    """The boxes that stay, by batch, class and place."""
    boxes, scores = c.x(0), c.x(1)
    most, iou, least = (c.number(index) if c.onnx.has(index) else None for index in (2, 3, 4))
    if any(c.onnx.has(index) and c.number(index) is None for index in (2, 3, 4)):
        raise c.error("its limits are not known")
    if not most or most < 1:
        raise c.error("keeps no box: max_output_boxes_per_class is 0")
    batch, classes, count = c.shape(scores)
    kept = min(int(most), count)
    size = c.assumed.of(c.onnx, batch * classes * kept)
    named: dict[str, float | bool] = {} if kept == count else {"most": kept}
    named |= {} if least is None else {"least": float(least)}
    named |= {"centered": True} if c.onnx.int("center_point_box", 0) else {}
    places: Call = c.call("non_max_suppression", boxes, scores, size, iou=float(iou or 0.0), **named)
    return c.call("cast", c.held(places), to="i64")
