"""Places that depend on values, of a number that is known or assumed."""

from __future__ import annotations

from math import prod

import numpy as np

from npuc.frontends.dsl.syntax import Call, Name
from npuc.frontends.onnx.context import OnnxContext
from npuc.frontends.onnx.operators import Meaning, Result, registry
from npuc.frontends.onnx.values import Constant
from npuc.frontends.script.distinct import Distinct, places_of

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)


@operator("NonZero")
def nonzero(c: OnnxContext) -> Result:
    """The places of the elements that are not 0, [rank, size]."""
    x = c.x(0)
    if not c.shape(x):
        x = c.let("reshape", x, [1])
    size = c.assumed.of(c.onnx, prod(c.shape(x)))
    return c.call("transpose", c.let("cast", c.let("nonzero", x, size), to="i64"), [1, 0])


@operator("Compress")
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


@operator("NonMaxSuppression")
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
