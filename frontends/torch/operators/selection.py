"""
Places that depend on values: elements that are not 0, masks as indices, distinct values, boxes that stay.

How many there are is known from the types of results, in which their size has been given a value.
"""

from __future__ import annotations

from npuc.frontends.dsl.syntax import Call, Name
from npuc.frontends.script.distinct import Distinct, places_of
from npuc.frontends.script.weights import Empty, Refused, Tensor
from npuc.frontends.torch.context import Context
from npuc.frontends.torch.operators import Meaning, registry

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)


@operator("aten.nonzero", "aten.argwhere")
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
    return _distinct(c, x, return_inverse, return_counts, sort=True)


@operator("aten.unique_consecutive")
def unique_consecutive(
    c: Context, x: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> list[Tensor]:
    if dim is not None:
        raise Refused("found distinct values along an axis, expected those of all elements")
    return _distinct(c, x, return_inverse, return_counts, sort=False)


def _distinct(c: Context, x: Tensor, inverse: bool, counts: bool, *, sort: bool) -> list[Tensor]:
    found = Distinct.of(c, c.let("reshape", x, [-1]), c.result_shape()[0], sort=sort)
    none = Empty((0,), "i64")
    return [found.values, found.inverse(c.shape(x)) if inverse else none, found.counts if counts else none]


@operator("torchvision.nms")
def nms(c: Context, dets: Tensor, scores: Tensor, iou_threshold: float) -> Call:
    (count,) = c.shape(scores)
    boxes, given = c.let("reshape", dets, [1, count, 4]), c.let("reshape", scores, [1, 1, count])
    (size,) = c.result_shape()
    kept = c.let("non_max_suppression", boxes, given, size, iou=iou_threshold)
    return c.call("cast", c.let("reshape", c.let("slice", kept, 1, 2, 3), [size]), to="i64")


@operator("torchvision.roi_align")
def roi_align(
    c: Context,
    input: Tensor,
    rois: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
    aligned: bool,
) -> Call:
    if sampling_ratio < 1:
        raise Refused("found samples by the size of each region, expected sampling_ratio of at least 1")
    named = {"scale": spatial_scale, "sampling_ratio": sampling_ratio, "aligned": aligned}
    return c.call("roi_align", input, rois, [pooled_height, pooled_width], **named)
