"""Images sampled at places that are computed."""

from __future__ import annotations

from itertools import product
from math import prod

from npuc.frontends.dsl.syntax import Name
from npuc.frontends.onnx.context import OnnxContext
from npuc.frontends.onnx.operators import Meaning, Result, registry

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)
_CUBIC = -0.75


@operator("GridSample", "com.microsoft.GridSample")
def grid_sample(c: OnnxContext) -> Result:
    """x [batch, channels, …] at the places of a grid [batch, …, axes], from -1 to 1, the last axis of x first."""
    x, grid = c.x(0), c.x(1)
    shape, places = c.shape(x), c.shape(grid)
    axes = len(shape) - 2
    mode, padding = c.onnx.string("mode", "linear"), c.onnx.string("padding_mode", "zeros")
    if axes < 1 or len(places) != len(shape) or places[-1] != axes or places[0] != shape[0]:
        raise c.error(f"its grid is {list(places)}, which does not fit {list(shape)}")
    if mode not in ("linear", "nearest", "cubic", "bilinear", "bicubic") or padding not in _PADDINGS:
        raise c.error(f"found mode '{mode}' and padding '{padding}', which has no counterpart")
    batch, channels, count = *shape[:2], prod(places[1:-1])
    flat = c.let("reshape", x, [batch, channels, prod(shape[2:])])
    taps = [_taps(c, grid, axis, shape[2:], mode.removeprefix("bi"), padding) for axis in range(axes)]
    total: Name | None = None
    for chosen in product(*taps):
        index, weight = chosen[0]
        for (place, factor), size in zip(chosen[1:], shape[3:], strict=True):
            index = c.let("add", c.let("mul", index, size), place)
            weight = factor if weight is None else weight if factor is None else c.let("mul", weight, factor)
        whole = c.let("cast", c.let("reshape", index, [batch, 1, count]), to="i32")
        picked = c.let("gather", flat, c.let("expand", whole, [batch, channels, count]), 2)
        if weight is not None:
            picked = c.let("mul", picked, c.let("reshape", weight, [batch, 1, count]))
        total = picked if total is None else c.let("add", total, picked)
    assert total is not None
    return c.call("reshape", total, [batch, channels, *places[1:-1]])


_PADDINGS = ("zeros", "border", "reflection")
_Tap = tuple[Name, Name | None]


def _taps(c: OnnxContext, grid: Name, axis: int, sizes: tuple[int, ...], mode: str, padding: str) -> list[_Tap]:
    """The elements of an axis around each place [batch, …, 1], and their weights (None: 1)."""
    last, size = len(c.shape(grid)) - 1, sizes[axis]
    column = len(sizes) - 1 - axis
    at = c.let("slice", grid, last, column, column + 1) if len(sizes) > 1 else grid
    if c.onnx.int("align_corners"):
        at = c.let("mul", c.let("add", at, 1.0), (size - 1) / 2)
    else:
        at = c.let("div", c.let("sub", c.let("mul", c.let("add", at, 1.0), float(size)), 1.0), 2.0)
    if mode != "cubic":
        at = _inside(c, at, size, padding)
    if mode == "nearest":
        return [_tap(c, c.let("round", at), None, size, padding)]
    low = c.let("floor", at)
    ratio = c.let("sub", at, low)
    if mode == "linear":
        weights = [c.let("sub", 1.0, ratio), ratio]
        return [_tap(c, low if not n else c.let("add", low, 1.0), w, size, padding) for n, w in enumerate(weights)]
    found: list[_Tap] = []
    for number in range(-1, 3):
        place = c.let("add", low, float(number)) if number else low
        found.append(_tap(c, place, _cubic(c, ratio, number), size, padding, late=True))
    return found


def _inside(c: OnnxContext, at: Name, size: int, padding: str) -> Name:
    """A place beyond an end brought back to the end, or reflected; others stay."""
    if padding == "zeros":
        return at
    if padding == "reflection":
        low, span = (0.0, float(size - 1)) if c.onnx.int("align_corners") else (-0.5, float(size))
        if span == 0:
            return c.let("mul", at, 0.0)
        away = c.let("abs", c.let("sub", at, low))
        period = c.let("remainder", away, 2 * span)
        back = c.let("sub", span, c.let("abs", c.let("sub", period, span)))
        at = c.let("add", back, low)
    return c.let("clip", at, 0.0, float(size - 1))


def _tap(c: OnnxContext, place: Name, weight: Name | None, size: int, padding: str, late: bool = False) -> _Tap:
    """An element of an axis; one beyond its ends counts nothing, or is another one."""
    if padding != "zeros":
        return (_inside(c, place, size, padding) if late else c.let("clip", place, 0.0, float(size - 1))), weight
    within = c.let("logical_and", c.let("greater_equal", place, 0.0), c.let("less_equal", place, float(size - 1)))
    counted = c.let("cast", within, to=c.element(place))
    weighed = counted if weight is None else c.let("mul", weight, counted)
    return c.let("clip", place, 0.0, float(size - 1)), weighed


def _cubic(c: OnnxContext, ratio: Name, number: int) -> Name:
    """The weight of the element `number` behind the one before a place: see `resize.py`."""
    a = _CUBIC
    distance = {-1: ("add", ratio, 1.0), 0: None, 1: ("sub", 1.0, ratio), 2: ("sub", 2.0, ratio)}[number]
    t = ratio if distance is None else c.let(*distance)
    if number in (0, 1):
        inner = c.let("sub", c.let("mul", t, a + 2), a + 3)
        return c.let("add", c.let("mul", c.let("mul", inner, t), t), 1.0)
    inner = c.let("add", c.let("mul", c.let("sub", c.let("mul", t, a), 5 * a), t), 8 * a)
    return c.let("sub", c.let("mul", inner, t), 4 * a)


@operator("AffineGrid", ranks={0: 3})
def affine_grid(c: OnnxContext) -> Result:
    """Places [batch, …, axes] of an affine map [batch, axes, axes + 1], for the sizes of an image."""
    theta, sizes = c.x(0), (c.onnx.ints_at(1) or ())[2:]
    batch, axes = c.shape(theta)[0], len(sizes)
    if axes not in (2, 3) or c.shape(theta) != (batch, axes, axes + 1):
        raise c.error(f"its map is {list(c.shape(theta))}, which does not fit the sizes {list(sizes)}")
    columns: list[Name] = []
    for axis in reversed(range(axes)):
        size, element = sizes[axis], c.element(theta)
        place = c.let("arange", size, dtype=element)
        if c.onnx.int("align_corners"):
            along = c.let("sub", c.let("mul", place, 2 / (size - 1) if size > 1 else 0.0), 1.0)
        else:
            along = c.let("sub", c.let("div", c.let("add", c.let("mul", place, 2.0), 1.0), float(size)), 1.0)
        shape = [size if other == axis else 1 for other in range(axes)]
        columns.append(c.let("expand", c.let("reshape", along, [*shape, 1]), [*sizes, 1]))
    columns.append(c.let("full", [*sizes, 1], 1.0, dtype=c.element(theta)))
    base = c.let("reshape", c.let("concat", columns, axes), [prod(sizes), axes + 1])
    return c.call("reshape", c.let("matmul", base, theta, transpose_b=True), [batch, *sizes, axes])


@operator("RoiAlign", ranks={0: 4, 1: 2, 2: 1})
def roi_align(c: OnnxContext) -> Result:
    x, rois, images = c.x(0), c.x(1), c.x(2)
    ratio, mode = c.onnx.int("sampling_ratio"), c.onnx.string("coordinate_transformation_mode", "half_pixel")
    if c.onnx.string("mode", "avg") != "avg" or ratio < 1:
        raise c.error("takes the largest of its samples, or as many as a region is large, which has no counterpart")
    number = c.let("cast", c.let("reshape", images, [-1, 1]), to=c.element(rois))
    size = [c.onnx.int("output_height", 1), c.onnx.int("output_width", 1)]
    scale = float(f"{c.onnx.float('spatial_scale', 1.0):.7g}")
    named = {} if mode == "half_pixel" else {"aligned": False}
    return c.call("roi_align", x, c.let("concat", [number, rois], 1), size, scale, ratio, **named)
