"""
Pooling of regions of an image to a fixed size: each part of a region is the mean of bilinear samples inside it.

A sample weighs two rows and two columns, so that a region's result is R x C', with matrices R [height, rows] and C
[width, columns] of mean weights; the image's gradient is the sum of R' dy C over its regions. Work: 4 vector
operations per sample and channel, one for each element that it weighs, forward and backward.
"""

from collections.abc import Iterator, Sequence
from math import inf
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import IMAGE, ArgumentError, IntOrInts, Value, image_size, rank_exactly
from npuc.compiler.layers.base import (
    Array,
    Cut,
    DataError,
    Emit,
    Gradients,
    Layer,
    Work,
    derivative,
    elements,
    told_of,
)
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.base import ints
from npuc.dialects.train.roi_align import RoiAlignBase, RoiAlignGradOp, RoiAlignOp

_TAPS = 4


def _weights(start: float, length: float, parts: int, ratio: int, size: int) -> Array:
    """The mean weights [parts, size] of the pixels of one axis in the parts of a region along it."""
    step = length / parts
    part, sample = np.divmod(np.arange(parts * ratio), ratio)
    places = start + part * step + (sample + 0.5) * step / ratio
    inside = (places >= -1.0) & (places <= size)
    part, places = part[inside], np.clip(places[inside], 0.0, size - 1.0)
    low = places.astype(int)
    weights = np.zeros((parts * size,))
    for at, weight in ((low, 1.0 - (places - low)), (np.minimum(low + 1, size - 1), places - low)):
        np.add.at(weights, part * size + at, weight / ratio)
    return weights.reshape(parts, size)


def _regions(op: RoiAlignBase, rois: Array, image: Sequence[int]) -> Iterator[tuple[int, Array, Array]]:
    """For each region: the number of its image, and the weights of the image's rows and of its columns."""
    (height, width), ratio, scale = ints(op.size), int(op.ratio.value.data), op.scale.value.data
    for number, region in enumerate(rois.astype(np.float64)):
        if not 0 <= np.rint(region[0]) < image[0]:
            found = f"argument 'rois' has image {region[0]:g} in region {number}"
            raise DataError(f"{told_of(op)}{found}, expected 0 to {image[0] - 1}")
        left, top, right, bottom = region[1:] * scale - (0.5 if op.aligned is not None else 0.0)
        rows, columns = bottom - top, right - left
        if op.aligned is None:  # torchvision's older rule keeps a region at least a pixel large
            rows, columns = max(rows, 1.0), max(columns, 1.0)
        at = int(np.rint(region[0]))
        yield at, _weights(top, rows, height, ratio, image[2]), _weights(left, columns, width, ratio, image[3])


def _samples(op: RoiAlignBase, pooled: SSAValue) -> int:
    """The elements that the samples of all regions and channels weigh."""
    return _TAPS * int(op.ratio.value.data) ** 2 * elements(pooled)


class RoiAlignLayer(Layer[RoiAlignOp]):
    """The samples' mean of each part of each region; at most what the samples weigh is read."""

    op = RoiAlignOp
    without_gradient = (1,)

    def evaluate(self, op: RoiAlignOp, *arrays: Array) -> tuple[Array, ...]:
        x, rois = arrays
        y = np.zeros(shape_of(op.out), dtype=x.dtype)
        for number, (at, rows, columns) in enumerate(_regions(op, rois, x.shape)):
            y[number] = rows.astype(x.dtype) @ x[at] @ columns.astype(x.dtype).T
        return (y,)

    def vjp(
        self, op: RoiAlignOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]
    ) -> Gradients:
        (g,) = grads
        if g is None or not needs[0]:
            return [None, None]
        return [emit(derivative(RoiAlignGradOp, op, g, op.rois, results=[op.x.type])).dx, None]

    def index_limit(self, op: RoiAlignOp, operand: int) -> int | None:
        return shape_of(op.x)[0] if operand == 1 else None

    def work(self, op: RoiAlignOp) -> Work:
        samples = _samples(op, op.out)
        return Work(vector_ops=samples, reads=(min(samples, elements(op.x)), elements(op.rois)))

    def cuts(self, op: RoiAlignOp) -> Sequence[Cut]:
        regions, channels, *_ = shape_of(op.out)
        both = ((regions, Cut((None, 0), (0,))), (channels, Cut((1, None), (1,))))
        return [cut for size, cut in both if size > 1]


class RoiAlignGradLayer(Layer[RoiAlignGradOp]):
    """Each gradient spread over what its samples weigh."""

    op = RoiAlignGradOp

    def evaluate(self, op: RoiAlignGradOp, *arrays: Array) -> tuple[Array, ...]:
        dy, rois = arrays
        dx = np.zeros(shape_of(op.dx), dtype=dy.dtype)
        for number, (at, rows, columns) in enumerate(_regions(op, rois, dx.shape)):
            dx[at] += rows.astype(dy.dtype).T @ dy[number] @ columns.astype(dy.dtype)
        return (dx,)

    def work(self, op: RoiAlignGradOp) -> Work:
        return Work(vector_ops=_samples(op, op.dy))


def roi_align(
    b: GraphBuilder,
    x: Value,
    rois: Value,
    size: IntOrInts,
    scale: float = 1.0,
    sampling_ratio: int = 2,
    aligned: bool = True,
) -> SSAValue:
    """
    Regions of x [batch, channels, height, width] pooled to `size`, one result for each row of `rois` [regions, 5].

    A row is [image, x1, y1, x2, y2]; `scale` takes its coordinates to those of x. Each part is the mean of
    `sampling_ratio` squared bilinear samples. With `aligned` coordinate 0 is the border of pixel 0, else its centre.
    The regions get no gradient.
    """
    rank_exactly("x", x, 4, IMAGE)
    if len(shape_of(rois)) != 2 or shape_of(rois)[1] != 5:
        raise ArgumentError("rois", f"found the shape {list(shape_of(rois))}, expected [regions, 5]")
    sizes = image_size("size", size)
    if not 0 < scale < inf:
        raise ArgumentError("scale", f"found {scale}, expected a number above 0")
    if sampling_ratio < 1:
        hint = "the number of samples cannot depend on the region"
        raise ArgumentError("sampling_ratio", f"found {sampling_ratio}, expected at least 1", hint)
    return b.emit(RoiAlignOp(x, rois, size=sizes, scale=float(scale), ratio=sampling_ratio, aligned=aligned)).out


LAYERS = (RoiAlignLayer(), RoiAlignGradLayer())
FUNCTIONS = (roi_align,)
