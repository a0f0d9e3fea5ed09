"""
Resizing of images, with PyTorch's rules for where the rows and columns of the result lie in the input.

Work: nearest moves elements forward and adds each element of dy backward; bilinear takes 4 vector operations per
element of the output, one for each of the 2 x 2 elements it weighs, forward and backward.
"""

from collections.abc import Sequence
from math import floor, inf
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import (
    IMAGE,
    ArgumentError,
    OptInts,
    OptNumbers,
    Value,
    check_positive,
    check_word,
    per_axis,
    rank_exactly,
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
    result_elements,
)
from npuc.compiler.layers.cuts import image_cuts
from npuc.compiler.layers.shape import view
from npuc.compiler.layers.taps import Taps, linear_taps, spread, weighed
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.resize import ResizeOp
from npuc.dialects.train.shape import TransposeOp
from npuc.dialects.train.upsample import (
    UpsampleBilinearGradOp,
    UpsampleBilinearOp,
    UpsampleNearestGradOp,
    UpsampleNearestOp,
)

_TAPS = 4
_LARGEST = 2**63
"""Sizes are below this."""


def _nearest(size: int, out: int, scale: float, exact: bool) -> Array:
    """
    The position in the input of each position of one axis of the output.

    The rule of PyTorch's CPU kernels for every element type, float32 arithmetic included: where the size stays or
    doubles, place or place >> 1; else floor(place * step), step being 1 / scale, or size / out without a scale. The
    exact rule takes the middle of each place, floor((place + 0.5) * step), for all sizes.
    """
    places = np.arange(out)
    if out in (size, 2 * size) and not exact:
        return places * size // out
    step = np.float32(1 / scale) if scale else np.float32(size) / np.float32(out)
    middle = places.astype(np.float32) + np.float32(0.5 if exact else 0)
    return np.minimum(np.floor(middle * step).astype(int), size - 1)


def _nearest_axes(
    op: UpsampleNearestOp | UpsampleNearestGradOp, image: Sequence[int], out: Sequence[int]
) -> tuple[Array, Array]:
    exact = op.exact is not None
    rows = _nearest(image[2], out[2], op.scale_h.value.data, exact)
    return rows, _nearest(image[3], out[3], op.scale_w.value.data, exact)


def _spread_image(dy: Array, rows: Taps, columns: Taps, shape: Sequence[int]) -> Array:
    """The gradient of an image of a shape that is read at the taps of its rows and columns."""
    return spread(spread(dy.swapaxes(2, 3), rows, shape[2]).swapaxes(2, 3), columns, shape[3])


class UpsampleNearestLayer(Layer[UpsampleNearestOp]):
    """Each element of the result is one of the input; elements that none takes are not read."""

    op = UpsampleNearestOp
    kind = Kind.DATA

    def evaluate(self, op: UpsampleNearestOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        rows, columns = _nearest_axes(op, x.shape, shape_of(op.out))
        return (x[:, :, rows[:, None], columns],)

    def vjp(
        self, op: UpsampleNearestOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]
    ) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(derivative(UpsampleNearestGradOp, op, g, results=[op.x.type])).dx]

    def work(self, op: UpsampleNearestOp) -> Work:
        batch, channels, *_ = shape = shape_of(op.x)
        rows, columns = _nearest_axes(op, shape, shape_of(op.out))
        read = batch * channels * len(np.unique(rows)) * len(np.unique(columns))
        return Work(reads=(read,))

    def cuts(self, op: UpsampleNearestOp) -> Sequence[Cut]:
        return image_cuts(op)


class UpsampleNearestGradLayer(Layer[UpsampleNearestGradOp]):
    """The sum of the gradients of an element's copies."""

    op = UpsampleNearestGradOp

    def evaluate(self, op: UpsampleNearestGradOp, *arrays: Array) -> tuple[Array, ...]:
        (dy,) = arrays
        shape = shape_of(op.dx)
        rows, columns = _nearest_axes(op, shape, dy.shape)
        whole = (((rows, np.ones(len(rows))),), ((columns, np.ones(len(columns))),))
        return (_spread_image(dy, *whole, shape),)

    def work(self, op: UpsampleNearestGradOp) -> Work:
        return Work(vector_ops=elements(op.dy))


def _linear_axes(
    op: UpsampleBilinearOp | UpsampleBilinearGradOp, image: Sequence[int], out: Sequence[int]
) -> tuple[Taps, Taps]:
    corners = op.corners is not None
    rows = linear_taps(image[2], out[2], op.scale_h.value.data, corners=corners)
    return rows, linear_taps(image[3], out[3], op.scale_w.value.data, corners=corners)


class UpsampleBilinearLayer(Layer[UpsampleBilinearOp]):
    """Weighted means of two columns, then of two rows."""

    op = UpsampleBilinearOp

    def evaluate(self, op: UpsampleBilinearOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        rows, columns = _linear_axes(op, x.shape, shape_of(op.out))
        return (weighed(weighed(x, columns).swapaxes(2, 3), rows).swapaxes(2, 3),)

    def vjp(
        self, op: UpsampleBilinearOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]
    ) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(derivative(UpsampleBilinearGradOp, op, g, results=[op.x.type])).dx]

    def work(self, op: UpsampleBilinearOp) -> Work:
        return Work(vector_ops=_TAPS * result_elements(op))

    def cuts(self, op: UpsampleBilinearOp) -> Sequence[Cut]:
        return image_cuts(op)


class UpsampleBilinearGradLayer(Layer[UpsampleBilinearGradOp]):
    """The gradient of an element: those of the results that read it, by their weights."""

    op = UpsampleBilinearGradOp

    def evaluate(self, op: UpsampleBilinearGradOp, *arrays: Array) -> tuple[Array, ...]:
        (dy,) = arrays
        shape = shape_of(op.dx)
        rows, columns = _linear_axes(op, shape, dy.shape)
        return (_spread_image(dy, rows, columns, shape),)

    def work(self, op: UpsampleBilinearGradOp) -> Work:
        return Work(vector_ops=_TAPS * elements(op.dy))


def _resize(size: int, scale: float) -> tuple[int, float]:
    """The size of an axis scaled, and the scale where it says more than the sizes."""
    if not 0 < scale < inf:
        raise ArgumentError("scale", f"found {scale}, expected a number above 0")
    if size * scale >= _LARGEST:
        raise ArgumentError("scale", f"found {scale}, which makes 2**63 or more of {size} rows or columns")
    out = floor(size * scale)
    if out < 1:
        raise ArgumentError("scale", f"found {scale}, which leaves nothing of {size} rows or columns")
    return out, 0.0 if out in (size, size * scale) else float(scale)


def _sizes(spatial: Sequence[int], scale: OptNumbers, size: OptInts) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """The size of each axis, and its scale where that says more than the sizes."""
    if (scale is None) == (size is None):
        found = "neither scale nor size" if scale is None else "both scale and size"
        raise ArgumentError("size", f"found {found}, expected one of them")
    if size is not None:
        sizes = per_axis("size", size, len(spatial))
        check_positive("size", min(sizes))
        return sizes, (0.0,) * len(spatial)
    scales = [scale] * len(spatial) if isinstance(scale, int | float) else list(scale or ())
    if len(scales) != len(spatial):
        wanted = {1: "one", 2: "two", 3: "three"}[len(spatial)]
        raise ArgumentError("scale", f"found a list of {len(scales)}, expected a number or a list of {wanted}")
    found = [_resize(length, number) for length, number in zip(spatial, scales, strict=True)]
    return tuple(length for length, _ in found), tuple(number for _, number in found)


_AXES = {"linear": 1, "bilinear": 2, "trilinear": 3, "bicubic": 2}
"""The axes that each mode resizes; the nearest ones take any."""
_FORMS = {1: "[batch, channels, length]", 2: IMAGE, 3: "[batch, channels, depth, height, width]"}


def upsample(
    b: GraphBuilder,
    x: Value,
    scale: OptNumbers = None,
    size: OptInts = None,
    mode: str = "nearest",
    align_corners: bool = False,
    antialias: bool = False,
) -> SSAValue:
    """
    x [batch, channels, height, width] resized by `scale` or to `size`; `mode` is "nearest", "bilinear" or "bicubic".

    Both are one number or [height, width]; a scaled size is rounded down. Nearest takes row floor(i / scale) for row
    i, or i >> 1 where the size doubles, rounded in f32 as PyTorch does, "nearest-exact" row floor((i + 0.5) / scale).
    `align_corners` lays the corner pixels of both images on each other, `antialias` widens the weights where the image
    shrinks; neither applies to nearest. x may have one axis beside channels ("nearest", "linear") or three
    ("nearest", "trilinear").
    """
    check_word("mode", mode, ("nearest", "nearest-exact", *_AXES))
    nearest = mode not in _AXES
    axes = len(shape_of(x)) - 2
    if nearest and axes not in (1, 2, 3):
        axes = 2
    shape = rank_exactly("x", x, 2 + _AXES.get(mode, axes), _FORMS[_AXES.get(mode, axes)])
    if align_corners and nearest:
        raise ArgumentError("align_corners", f"found true, expected false where mode is '{mode}'")
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ArgumentError("antialias", f"found true, expected false where mode is '{mode}'")
    out, scales = _sizes(shape[2:], scale, size)
    if nearest:
        return _nearest_of(b, x, out, scales, mode == "nearest-exact")
    if align_corners:  # the sizes alone say where the rows lie
        scales = (0.0,) * len(out)
    if mode == "bilinear" and not antialias:
        return b.emit(UpsampleBilinearOp(x, size=out, scale_h=scales[0], scale_w=scales[1], corners=align_corners)).out
    cubic = mode == "bicubic"
    return b.emit(ResizeOp(x, size=out, scales=scales, cubic=cubic, corners=align_corners, antialias=antialias)).out


def _nearest_of(b: GraphBuilder, x: Value, out: Sequence[int], scales: Sequence[float], exact: bool) -> SSAValue:
    """Nearest resizing of one to three axes: as images, the depth of three axes as rows of one of its own."""
    batch, channels, *spatial = shape_of(x)
    if len(out) == 3:
        depth, height, width = spatial
        rows = view(x, [batch, channels, depth, height * width], b.emit)
        deep = _image(b, rows, (out[0], height * width), (scales[0], 0.0), exact)
        flat = view(deep, [batch, channels * out[0], height, width], b.emit)
        resized = _image(b, flat, out[1:], scales[1:], exact)
        return view(resized, [batch, channels, *out], b.emit)
    if len(out) == 1:
        row = view(x, [batch, channels, 1, *spatial], b.emit)
        return view(_image(b, row, (1, *out), (0.0, *scales), exact), [batch, channels, *out], b.emit)
    return _image(b, x, out, scales, exact)


def _image(b: GraphBuilder, x: Value, out: Sequence[int], scales: Sequence[float], exact: bool) -> SSAValue:
    (height, width), (scale_h, scale_w) = out, scales
    return b.emit(UpsampleNearestOp(x, size=(height, width), scale_h=scale_h, scale_w=scale_w, exact=exact)).out


def pixel_shuffle(b: GraphBuilder, x: Value, factor: int) -> SSAValue:
    """x [batch, channels r r, height, width] as [batch, channels, height r, width r], r = `factor`; moves elements."""
    batch, channels, height, width = rank_exactly("x", x, 4, IMAGE)
    if factor < 1 or channels % factor**2:
        raise ArgumentError("factor", f"found {factor}, expected an integer whose square divides {channels} channels")
    deep = channels // factor**2
    split = view(x, [batch, deep, factor, factor, height, width], b.emit)
    moved = b.emit(TransposeOp(split, axes=(0, 1, 4, 2, 5, 3))).out
    return view(moved, [batch, deep, height * factor, width * factor], b.emit)


LAYERS = (UpsampleNearestLayer(), UpsampleNearestGradLayer(), UpsampleBilinearLayer(), UpsampleBilinearGradLayer())
FUNCTIONS = (upsample, pixel_shuffle)
