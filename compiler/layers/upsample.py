"""
Resizing of images, with PyTorch's rules for where the rows and columns of the result lie in the input.

Work: nearest moves elements forward and adds each element of dy backward; bilinear takes 4 vector operations per
element of the output, one for each of the 2 x 2 elements it weighs, forward and backward.
"""

from collections.abc import Sequence
from math import floor, inf
from typing import Any, TypeAlias

import numpy as np
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import (
    IMAGE,
    ArgumentError,
    OptInts,
    OptNumbers,
    Value,
    check_word,
    image_size,
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
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.shape import TransposeOp
from npuc.dialects.train.upsample import (
    ResizeBase,
    UpsampleBilinearGradOp,
    UpsampleBilinearOp,
    UpsampleNearestGradOp,
    UpsampleNearestOp,
)

Taps: TypeAlias = Sequence[tuple[Array, Array]]
"""For the positions of one axis of the output: positions in the input and their weights, once for each neighbour."""
_TAPS = 4
_LARGEST = 2**63
"""Sizes are below this."""


def _nearest(size: int, out: int, scale: float) -> Array:
    """
    The position in the input of each position of one axis of the output.

    The rule of PyTorch's CPU kernels for every element type, float32 arithmetic included: where the size stays or
    doubles, place or place >> 1; else floor(place * step), step being 1 / scale, or size / out without a scale.
    """
    places = np.arange(out)
    if out in (size, 2 * size):
        return places * size // out
    step = np.float32(1 / scale) if scale else np.float32(size) / np.float32(out)
    return np.minimum(np.floor(places.astype(np.float32) * step).astype(int), size - 1)


def _nearest_axes(op: ResizeBase, image: Sequence[int], out: Sequence[int]) -> tuple[Array, Array]:
    rows = _nearest(image[2], out[2], op.scale_h.value.data)
    return rows, _nearest(image[3], out[3], op.scale_w.value.data)


def _spread(dy: Array, taps: Taps, size: int) -> Array:
    """The gradient of the last axis of an input that is read at the taps."""
    dx = np.zeros((size, *dy.shape[:-1]), dtype=dy.dtype)
    for at, weight in taps:
        weighed = np.moveaxis(dy * weight.astype(dy.dtype), -1, 0)
        for place, part in zip(at, weighed, strict=True):
            dx[place] += part
    return np.moveaxis(dx, 0, -1)


def _spread_image(dy: Array, rows: Taps, columns: Taps, shape: Sequence[int]) -> Array:
    """The gradient of an image of a shape that is read at the taps of its rows and columns."""
    return _spread(_spread(dy.swapaxes(2, 3), rows, shape[2]).swapaxes(2, 3), columns, shape[3])


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


def _linear(size: int, out: int, scale: float, *, corners: bool) -> Taps:
    """The two positions in the input that each position of one axis of the output weighs."""
    places = np.arange(out, dtype=np.float64)
    if corners:
        source = places * ((size - 1) / (out - 1) if out > 1 else 0.0)
    else:
        source = np.maximum((places + 0.5) / (scale or out / size) - 0.5, 0.0)
    low = np.minimum(source.astype(int), size - 1)
    share = np.clip(source - low, 0.0, 1.0)
    return [(low, 1.0 - share), (np.minimum(low + 1, size - 1), share)]


def _linear_axes(
    op: UpsampleBilinearOp | UpsampleBilinearGradOp, image: Sequence[int], out: Sequence[int]
) -> tuple[Taps, Taps]:
    corners = op.corners is not None
    rows = _linear(image[2], out[2], op.scale_h.value.data, corners=corners)
    return rows, _linear(image[3], out[3], op.scale_w.value.data, corners=corners)


def _weighed(x: Array, taps: Taps) -> Array:
    """The last axis of x at the taps."""
    return sum((x[..., at] * weight.astype(x.dtype) for at, weight in taps), np.zeros((), dtype=x.dtype))


class UpsampleBilinearLayer(Layer[UpsampleBilinearOp]):
    """Weighted means of two columns, then of two rows."""

    op = UpsampleBilinearOp

    def evaluate(self, op: UpsampleBilinearOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        rows, columns = _linear_axes(op, x.shape, shape_of(op.out))
        return (_weighed(_weighed(x, columns).swapaxes(2, 3), rows).swapaxes(2, 3),)

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


def _sizes(image: Sequence[int], scale: OptNumbers, size: OptInts) -> tuple[tuple[int, int], tuple[float, float]]:
    if (scale is None) == (size is None):
        found = "neither scale nor size" if scale is None else "both scale and size"
        raise ArgumentError("size", f"found {found}, expected one of them")
    if size is not None:
        return image_size("size", size), (0.0, 0.0)
    scales = [scale, scale] if isinstance(scale, int | float) else list(scale or ())
    if len(scales) != 2:
        raise ArgumentError("scale", f"found a list of {len(scales)}, expected a number or a list of two")
    (height, scale_h), (width, scale_w) = _resize(image[2], scales[0]), _resize(image[3], scales[1])
    return (height, width), (scale_h, scale_w)


def upsample(
    b: GraphBuilder,
    x: Value,
    scale: OptNumbers = None,
    size: OptInts = None,
    mode: str = "nearest",
    align_corners: bool = False,
) -> SSAValue:
    """
    x [batch, channels, height, width] resized by `scale` or to `size`; `mode` is "nearest" or "bilinear".

    Both are one number or [height, width]; a scaled size is rounded down. Nearest takes row floor(i / scale) for row
    i, or i >> 1 where the size doubles, rounded in f32 as PyTorch does. `align_corners` lays the corner pixels of both
    images on each other, bilinear only.
    """
    shape = rank_exactly("x", x, 4, IMAGE)
    check_word("mode", mode, ("nearest", "bilinear"))
    if align_corners and mode == "nearest":
        raise ArgumentError("align_corners", "found true, expected false where mode is 'nearest'")
    out, (scale_h, scale_w) = _sizes(shape, scale, size)
    if mode == "nearest":
        return b.emit(UpsampleNearestOp(x, size=out, scale_h=scale_h, scale_w=scale_w)).out
    if align_corners:  # the sizes alone say where the rows lie
        scale_h = scale_w = 0.0
    return b.emit(UpsampleBilinearOp(x, size=out, scale_h=scale_h, scale_w=scale_w, corners=align_corners)).out


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
