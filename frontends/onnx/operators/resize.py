"""Resizing of any axes, and images sampled at places of a grid."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, floor

import numpy as np

from npuc.frontends.dsl.syntax import Name
from npuc.frontends.onnx.container.element_types import Array
from npuc.frontends.onnx.context import OnnxContext, short
from npuc.frontends.onnx.operators import Meaning, Result, registry

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)


@operator("Resize")
def resize(c: OnnxContext) -> Result:
    x = c.x()
    shape = c.shape(x)
    axes = [axis % len(shape) for axis in c.onnx.ints("axes") or range(len(shape))]
    scales, sizes = _sizes(c, shape, axes)
    coordinates = c.onnx.string("coordinate_transformation_mode", "half_pixel")
    if sizes == shape and all(scale == 1 for scale in scales) and coordinates != "tf_crop_and_resize":
        return x
    if c.onnx.string("mode", "nearest") == "nearest" and coordinates != "tf_crop_and_resize":
        return _nearest(c, x, scales, sizes, coordinates)
    return _bilinear(c, x, scales, sizes, coordinates) or _interpolated(c, x, axes, scales, sizes, coordinates)


def _sizes(c: OnnxContext, shape: tuple[int, ...], axes: list[int]) -> tuple[list[float], tuple[int, ...]]:
    """The scale of each axis and its new size, as one of the two is given."""
    sizes = c.onnx.ints_at(3) if c.onnx.has(3) else None
    scales, result = [1.0] * len(shape), list(shape)
    if sizes:
        if len(sizes) != len(axes):
            raise c.error(f"found {len(sizes)} sizes for {len(axes)} axes")
        for axis, size in zip(axes, _of_one_ratio(c, shape, axes, sizes), strict=True):
            scales[axis], result[axis] = size / shape[axis], size
        policy = c.onnx.string("keep_aspect_ratio_policy", "stretch")
        if policy != "stretch":
            ratio = _ratio(policy, [size / shape[axis] for axis, size in zip(axes, sizes, strict=True)])
            scales = [ratio if axis in axes else 1.0 for axis in range(len(shape))]
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


def _ratio(policy: str, ratios: list[float]) -> float:
    return min(ratios) if policy == "not_larger" else max(ratios)


def _of_one_ratio(c: OnnxContext, shape: tuple[int, ...], axes: list[int], sizes: tuple[int, ...]) -> list[int]:
    """The sizes as they are, or the ones next to them that keep the ratio of sides."""
    policy = c.onnx.string("keep_aspect_ratio_policy", "stretch")
    if policy not in ("stretch", "not_larger", "not_smaller"):
        raise c.error(f"found the policy '{policy}', expected stretch, not_larger or not_smaller")
    if min(sizes) < 1:
        raise c.error(f"makes a tensor of sizes {list(sizes)}")
    if policy == "stretch":
        return list(sizes)
    ratio = _ratio(policy, [size / shape[axis] for axis, size in zip(axes, sizes, strict=True)])
    return [floor(ratio * shape[axis] + 0.5) for axis in axes]


# nearest


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


_ROUNDED: dict[str, Callable[[float], int]] = {
    "round_prefer_floor": lambda v: ceil(v - 0.5),
    "round_prefer_ceil": lambda v: floor(v + 0.5),
    "floor": floor,
    "ceil": ceil,
}


def _places(c: OnnxContext, size: int, wanted: int, scale: float, coordinates: str, rounded: str) -> list[int]:
    """The place in an axis that each of the new one is taken from."""
    if rounded not in _ROUNDED:
        raise c.error(f"rounds by '{rounded}', expected {', '.join(_ROUNDED)}")
    # half an element before the first is the first one where the new axis has one element
    alone = coordinates == "pytorch_half_pixel" and scale * size <= 1
    found = np.zeros(wanted) if alone else _sources(c, size, wanted, scale, coordinates)
    at = (_ROUNDED[rounded](float(place)) for place in found)
    return [min(max(place, 0), size - 1) for place in at]


def _sources(c: OnnxContext, size: int, wanted: int, scale: float, coordinates: str, side: int = 0) -> Array:
    """The place of each element of a new axis in the one before, between its elements."""
    at, whole = np.arange(wanted, dtype=np.float64), scale * size
    match coordinates:
        case "asymmetric":
            return at / scale
        case "half_pixel":
            return (at + 0.5) / scale - 0.5
        case "pytorch_half_pixel":
            return (at + 0.5) / scale - 0.5 if whole != 1 else at * 0 - 0.5
        case "half_pixel_symmetric":
            return size / 2 * (1 - wanted / whole) + (at + 0.5) / scale - 0.5
        case "align_corners":
            return at * (size - 1) / (whole - 1) if whole != 1 else at * 0
        case "tf_crop_and_resize":
            start, end = _region(c, side)
            along = at * (end - start) * (size - 1) / (whole - 1) if whole != 1 else at + (end - start) * (size - 1) / 2
            return along + start * (size - 1)
        case _:
            raise c.error(f"resizes by coordinates '{coordinates}', which has no counterpart")


def _region(c: OnnxContext, side: int) -> tuple[float, float]:
    """The start and the end of the region of an axis, as parts of it; axes are counted as `axes` lists them."""
    value = c.onnx.constant(1)
    flat = [] if value is None else value.array.ravel().tolist()
    if len(flat) % 2 or side >= len(flat) // 2:
        raise c.error(f"its region has {len(flat)} numbers, expected two for each axis")
    return float(flat[side]), float(flat[side + len(flat) // 2])


# between elements


def _bilinear(c: OnnxContext, x: Name, scales: list[float], sizes: tuple[int, ...], coordinates: str) -> Result | None:
    """As `upsample` has it, where it does."""
    shape = c.shape(x)
    known = {"half_pixel": False, "pytorch_half_pixel": False, "align_corners": True}
    if c.onnx.string("mode") != "linear" or coordinates not in known or len(shape) != 4 or c.onnx.int("antialias"):
        return None
    if any(scale != 1 for scale in scales[:2]) or (coordinates == "pytorch_half_pixel" and 1 in sizes[2:]):
        return None
    if c.onnx.int("exclude_outside") or any(
        abs(size - old * scale) > 1e-6 for old, scale, size in zip(shape, scales, sizes, strict=True)
    ):
        return None
    named = {"align_corners": True} if known[coordinates] else {}
    return c.call("upsample", x, size=short(sizes[2:]), mode="bilinear", **named)


def _interpolated(
    c: OnnxContext, x: Name, axes: list[int], scales: list[float], sizes: tuple[int, ...], coordinates: str
) -> Result:
    """Each axis after the other: the sum of its elements around each place, times their weights."""
    if c.onnx.string("mode") not in ("linear", "cubic"):
        raise c.error(f"resizes by mode '{c.onnx.string('mode')}', expected nearest, linear or cubic")
    shape, outside = c.shape(x), list[Name]()
    for side, axis in enumerate(axes):
        size, wanted, scale = shape[axis], sizes[axis], scales[axis]
        region = coordinates == "tf_crop_and_resize"
        if size == wanted and scale == 1 and not region:
            continue
        at = _sources(c, size, wanted, scale, coordinates, side)
        places, weights = _taps(c, at, size, scale)
        inside = (at >= 0) & (at <= size - 1) if region else np.ones(wanted, bool)
        x = _weighted(c, x, axis, places, weights)
        if not inside.all():
            column = [wanted if other == axis else 1 for other in range(len(shape))]
            outside.append(c.let("tensor", [int(one) for one in inside], column, dtype="bool"))
    for inside in outside:
        x = c.let("where", inside, x, c.onnx.float("extrapolation_value"))
    return x


def _taps(c: OnnxContext, at: Array, size: int, scale: float) -> tuple[Array, Array]:
    """The elements around each place [places, taps], and their weights."""
    cubic = c.onnx.string("mode") == "cubic"
    wide = min(scale, 1.0) if c.onnx.int("antialias") else 1.0
    reach = ceil((2 if cubic else 1) / wide)
    places = np.floor(at)[:, None].astype(np.int64) + np.arange(1 - reach, reach + 1)
    weights = _curve(c, (places - at[:, None]) * wide, cubic)
    if c.onnx.int("exclude_outside"):
        weights[(places < 0) | (places >= size)] = 0
    if c.onnx.int("exclude_outside") or wide < 1:
        weights /= weights.sum(1, keepdims=True)
    used = (weights != 0).any(0)
    return np.clip(places, 0, size - 1)[:, used], weights[:, used]


def _curve(c: OnnxContext, distance: Array, cubic: bool) -> Array:
    """
    The weight of an element at a distance: a triangle, or the cubic convolution of Keys.

    Source: Keys, "Cubic Convolution Interpolation for Digital Image Processing", 1981, equation 4.
    """
    t = np.abs(distance)
    if not cubic:
        return np.clip(1 - t, 0, 1)
    a = c.onnx.float("cubic_coeff_a", -0.75)
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    far = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
    return np.where(t <= 1, near, np.where(t < 2, far, 0))


def _weighted(c: OnnxContext, x: Name, axis: int, places: Array, weights: Array) -> Name:
    """The sum over taps of the elements at places of an axis, times the weights."""
    column = [len(places) if other == axis else 1 for other in range(len(c.shape(x)))]
    total: Name | None = None
    for tap in range(places.shape[1]):
        picked = c.let("index_select", x, places[:, tap].tolist(), axis)
        factor = c.let("tensor", weights[:, tap].tolist(), column, dtype=c.element(x))
        part = c.let("mul", picked, factor)
        total = part if total is None else c.let("add", total, part)
    assert total is not None
    return total
