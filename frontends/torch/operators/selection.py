"""
Places that depend on values: elements that are not 0, masks as indices, distinct values, boxes that stay.

How many there are is known from the types of results, in which their size has been given a value.
"""

from __future__ import annotations

from collections.abc import Sequence

from npuc.frontends.dsl.syntax import Call, Name
from npuc.frontends.script.weights import Empty, Refused, Tensor
from npuc.frontends.torch.context import Context
from npuc.frontends.torch.operators import Meaning, registry

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)


def places_of(c: Context, mask: Tensor, count: int) -> list[Name]:
    """The places of a number of elements that are not 0, an i64 vector for each axis."""
    rank = len(c.shape(mask))
    if not rank:
        raise Refused("found a mask without axes, expected at least one")
    places = c.let("cast", c.let("nonzero", mask, count), to="i64")
    return c.script.several([f"{c.layer}.places.{axis}" for axis in range(rank)], "unbind", places, 1)


@operator("aten.nonzero")
def nonzero(c: Context, x: Tensor) -> Call:
    return c.call("cast", c.let("nonzero", x, c.result_shape()[0]), to="i64")


@operator("aten.where.default", "aten.nonzero_numpy")
def where(c: Context, condition: Tensor | None = None, x: Tensor | None = None) -> list[Name]:
    mask = condition if condition is not None else x
    if mask is None:
        raise Refused("found no tensor")
    return places_of(c, mask, c.result_shape()[0])


@operator("aten.masked_select")
def masked_select(c: Context, x: Tensor, mask: Tensor) -> Call:
    shapes = (c.shape(x), c.shape(mask))
    rank = max(map(len, shapes))
    aligned = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    whole = [max(sizes) for sizes in zip(*aligned, strict=True)]
    wide = [one if list(c.shape(one)) == whole else c.let("expand", one, whole) for one in (x, mask)]
    return chosen(c, wide[0], wide[1], 0, c.result_shape()[0])


def chosen(c: Context, x: Tensor, mask: Tensor, axis: int, count: int) -> Call:
    """The elements of a tensor for which a mask of some axes from one on is true."""
    places = places_of(c, mask, count)
    return c.call("index", x, places, [axis + number for number in range(len(places))])


@operator("aten._unique2")
def unique(
    c: Context, x: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> list[Tensor]:
    flat = c.let("reshape", x, [-1])
    values, order = c.script.several([f"{c.layer}.sorted", f"{c.layer}.order"], "sort", flat)
    return _distinct(c, values, order, c.shape(x), return_inverse, return_counts)


@operator("aten.unique_consecutive")
def unique_consecutive(
    c: Context, x: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> list[Tensor]:
    if dim is not None:
        raise Refused("found distinct values along an axis, expected those of all elements")
    return _distinct(c, c.let("reshape", x, [-1]), None, c.shape(x), return_inverse, return_counts)


def _distinct(
    c: Context, values: Name, order: Name | None, shape: Sequence[int], inverse: bool, counts: bool
) -> list[Tensor]:
    """The values of a vector that differ from the one before; of each element which it is; how often each follows."""
    (length,), count = c.shape(values), c.result_shape()[0]
    first = _changes(c, values, length)
    starts = c.let("reshape", c.let("cast", c.let("nonzero", first, count), to="i64"), [count])
    found: list[Tensor] = [c.let("index_select", values, starts, 0)]
    found.append(_inverse(c, first, order, shape) if inverse else Empty((0,), "i64"))
    found.append(_counts(c, starts, length) if counts else Empty((0,), "i64"))
    return found


def _changes(c: Context, values: Name, length: int) -> Name:
    """Which elements of a vector differ from the one before."""
    first = c.let("full", [1], 1, dtype="bool")
    if length == 1:
        return first
    changed = c.let("not_equal", c.let("slice", values, 0, 1, length), c.let("slice", values, 0, 0, length - 1))
    return c.let("concat", [first, changed], 0)


def _inverse(c: Context, first: Name, order: Name | None, shape: Sequence[int]) -> Tensor:
    """Of each element the number of its value."""
    number = c.let("sub", c.let("cumsum", c.let("cast", first, to="i64"), 0), 1)
    if order is not None:
        number = c.let("index_put", c.let("full", list(c.shape(number)), 0, dtype="i64"), [order], number, [0])
    return c.let("reshape", number, list(shape))


def _counts(c: Context, starts: Name, length: int) -> Tensor:
    """How many elements each value has."""
    end = c.let("full", [1], length, dtype="i64")
    (count,) = c.shape(starts)
    following = end if count == 1 else c.let("concat", [c.let("slice", starts, 0, 1, count), end], 0)
    return c.let("sub", following, starts)


@operator("torchvision.nms")
def nms(c: Context, dets: Tensor, scores: Tensor, iou_threshold: float) -> Call:
    (count,) = c.shape(scores)
    boxes, given = c.let("reshape", dets, [1, count, 4]), c.let("reshape", scores, [1, 1, count])
    (size,) = c.result_shape()
    kept = c.let("non_max_suppression", boxes, given, size, iou=iou_threshold)
    return c.call("cast", c.let("reshape", c.let("slice", kept, 1, 2, 3), [size]), to="i64")
