"""Pooling and resizing."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, floor

import numpy as np

from npuc.frontends.dsl.syntax import Name
from npuc.frontends.onnx.context import OnnxContext, short
from npuc.frontends.onnx.operators import Meaning, Result, registry
from npuc.frontends.onnx.operators.windows import Window, both_sides, window_of

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)


_SUFFIXES = {1: "1d", 2: "", 3: "3d"}
"""How the functions that pool some number of axes are called."""


def _pooled(c: OnnxContext, kind: str, window: Window, **named: bool) -> Result:
    axes = len(window.kernel)
    if axes not in _SUFFIXES:
        raise c.error(f"pools {axes} axes, which has no counterpart")
    options: dict[str, int | list[int]] = {}
    if window.strides != window.kernel:
        options["stride"] = short(window.strides)
    if any(window.pads):
        options["padding"] = both_sides(window.pads)
    if kind == "max" and set(window.dilations) != {1}:
        options["dilation"] = short(window.dilations)
    given = {**named, **({"ceil_mode": True} if c.onnx.int("ceil_mode") else {})}
    return c.call(f"{kind}_pool{_SUFFIXES[axes]}", c.x(), short(window.kernel), **options, **given)


@operator("MaxPool")
def max_pool(c: OnnxContext) -> Result:
    c.only(1)
    return _pooled(c, "max", window_of(c, c.tensor(0).shape[2:], ()))


@operator("AveragePool")
def average_pool(c: OnnxContext) -> Result:
    window = window_of(c, c.tensor(0).shape[2:], ())
    if set(window.dilations) != {1}:
        raise c.error("averages windows with gaps, which has no counterpart")
    counted = c.onnx.int("count_include_pad") != 0 or not any(window.pads)
    return _pooled(c, "avg", window, **({} if counted else {"count_include_pad": False}))


@operator("GlobalAveragePool")
def global_average_pool(c: OnnxContext) -> Result:
    return _global(c, "avg", "mean")


@operator("GlobalMaxPool")
def global_max_pool(c: OnnxContext) -> Result:
    return _global(c, "max", "amax")


def _global(c: OnnxContext, kind: str, function: str) -> Result:
    x = c.x()
    shape = c.shape(x)
    if len(shape) not in (3, 4):
        return c.call(function, x, axis=list(range(2, len(shape))), keepdim=True)
    return c.call("reshape", c.let(f"global_{kind}_pool", x), [*shape[:2], *[1] * (len(shape) - 2)])


@operator("LpPool")
def lp_pool(c: OnnxContext) -> Result:
    """The norm of each window: the root of the mean of squares, times the root of their number."""
    window, order = window_of(c, c.tensor(0).shape[2:], ()), c.onnx.int("p", 2)
    if order not in (1, 2) or set(window.dilations) != {1}:
        raise c.error(f"found a norm of order {order} of windows, expected order 1 or 2 without gaps")
    axes, count = len(window.kernel), int(np.prod(window.kernel))
    x = c.let("abs", c.x()) if order == 1 else c.let("mul", c.x(), c.x())
    named: dict[str, int | list[int] | bool] = {"stride": short(window.strides)}
    if any(window.pads):
        named["padding"] = both_sides(window.pads)
    if c.onnx.int("ceil_mode") or axes not in (1, 2):
        raise c.error("pools with ceil_mode or more than two axes, which has no counterpart")
    mean = c.let("avg_pool1d" if axes == 1 else "avg_pool", x, short(window.kernel), **named)
    total = c.call("mul", mean, float(count))
    return total if order == 1 else c.call("sqrt", c.held(total))


@operator("Resize")
def resize(c: OnnxContext) -> Result:
    x = c.x()
    shape = c.shape(x)
    axes = [axis % len(shape) for axis in c.onnx.ints("axes") or range(len(shape))]
    scales, sizes = _sizes(c, shape, axes)
    if sizes == shape and all(scale == 1 for scale in scales):
        return x
    mode = c.onnx.string("mode", "nearest")
    coordinates = c.onnx.string("coordinate_transformation_mode", "half_pixel")
    if c.onnx.int("antialias") or coordinates == "tf_crop_and_resize":
        raise c.error("resizes with antialias or by a region, which has no counterpart")
    if mode == "nearest":
        return _nearest(c, x, scales, sizes, coordinates)
    outside = any(scale != 1 for scale in scales[:-2]) or len(shape) != 4
    outside |= coordinates == "pytorch_half_pixel" and 1 in sizes[2:]
    known = {"half_pixel": False, "pytorch_half_pixel": False, "align_corners": True}
    fits = all(abs(size - old * scale) < 1e-6 for old, scale, size in zip(shape, scales, sizes, strict=True))
    if mode == "linear" and coordinates in known and not outside and fits:
        named = {"align_corners": True} if known[coordinates] else {}
        return c.call("upsample", x, size=short(sizes[2:]), mode="bilinear", **named)
    raise c.error(f"resizes by mode '{mode}' and coordinates '{coordinates}', which has no counterpart")


def _sizes(c: OnnxContext, shape: tuple[int, ...], axes: list[int]) -> tuple[list[float], tuple[int, ...]]:
    """The scale of each axis and its new size, as one of the two is given."""
    sizes = c.onnx.ints_at(3) if c.onnx.has(3) else None
    scales, result = [1.0] * len(shape), list(shape)
    if sizes:
        if c.onnx.string("keep_aspect_ratio_policy", "stretch") != "stretch" or len(sizes) != len(axes):
            raise c.error("keeps the ratio of sides, or has sizes that do not fit")
        for axis, size in zip(axes, sizes, strict=True):
            scales[axis], result[axis] = size / shape[axis], size
        return scales, tuple(result)
    given = c.onnx.constant(2)
    factors = [] if given is None else given.array.ravel().tolist()
    if len(factors) != len(axes):
        raise c.error(f"found {len(factors)} scales for {len(axes)} axes")
    for axis, factor in zip(axes, factors, strict=True):
        scales[axis], result[axis] = factor, floor(shape[axis] * factor)
    if min(result, default=1) < 1:
        raise c.error(f"makes a tensor of shape {result}")
    return scales, tuple(result)


def _nearest(c: OnnxContext, x: Name, scales: list[float], sizes: tuple[int, ...], coordinates: str) -> Result:
    """The elements at the nearest places: as `upsample` has them, or as they are listed."""
    shape = c.shape(x)
    rounded = c.onnx.string("nearest_mode", "round_prefer_floor")
    listed = {
        axis: _places(c, shape[axis], size, scales[axis], coordinates, rounded)
        for axis, size in enumerate(sizes)
        if size != shape[axis] or scales[axis] != 1
    }
    usual = {axis: [place * shape[axis] // sizes[axis] for place in range(sizes[axis])] for axis in listed}
    if len(shape) == 4 and listed == usual and min(listed, default=0) >= 2:
        factors = {sizes[axis] / shape[axis] for axis in (2, 3)}
        whole = factors.pop() if len(factors) == 1 else 0.5
        named = {"scale": int(whole)} if whole.is_integer() else {"size": short(sizes[2:])}
        return c.call("upsample", x, **named)
    for axis, places in listed.items():
        x = c.let("index_select", x, places, axis)
    return x


def _places(c: OnnxContext, size: int, wanted: int, scale: float, coordinates: str, rounded: str) -> list[int]:
    """The place in an axis that each of the new one is taken from."""
    rounding: dict[str, Callable[[float], int]] = {
        "round_prefer_floor": lambda v: ceil(v - 0.5),
        "round_prefer_ceil": lambda v: floor(v + 0.5),
        "floor": floor,
        "ceil": ceil,
    }
    whole = scale * size
    transforms: dict[str, Callable[[int], float]] = {
        "asymmetric": lambda i: i / scale,
        "half_pixel": lambda i: (i + 0.5) / scale - 0.5,
        "pytorch_half_pixel": lambda i: (i + 0.5) / scale - 0.5 if whole > 1 else 0.0,
        "half_pixel_symmetric": lambda i: size / 2 * (1 - wanted / whole) + (i + 0.5) / scale - 0.5,
        "align_corners": lambda i: i * (size - 1) / (whole - 1) if whole != 1 else 0.0,
    }
    if coordinates not in transforms or rounded not in rounding:
        raise c.error(f"resizes by coordinates '{coordinates}' and rounding '{rounded}', which has no counterpart")
    at = (rounding[rounded](transforms[coordinates](place)) for place in range(wanted))
    return [min(max(place, 0), size - 1) for place in at]
