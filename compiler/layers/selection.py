"""
Places that depend on values: elements that are not 0, and boxes that non-maximum suppression keeps.

How many there are is a size of the program, since all shapes are known: values of another number are an error.
"""

from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import ArgumentError, Value
from npuc.compiler.layers.base import Array, DataError, Layer, PerElementLayer, Work, elements, told_of
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.selection import NmsOp, NonzeroOp

_OVERLAP = 13
"""The steps of comparing two boxes: 4 edges of what they share, 2 sides from 0, 3 areas and their ratio."""


def _checked(op: Operation, what: str, places: Array, size: int) -> tuple[Array, ...]:
    """Places, or an error that names the layer where there are not as many as its size."""
    if len(places) != size:
        raise DataError(f"{told_of(op)}found {len(places):,} {what}, expected its size, {size:,}")
    return (places.astype(np.int64),)


class NonzeroLayer(PerElementLayer[NonzeroOp]):
    """Each element is compared with 0, and counted."""

    op = NonzeroOp
    steps = 2

    def evaluate(self, op: NonzeroOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        return _checked(op, "elements that are not 0", np.argwhere(x != 0), int(op.size.value.data))


class NmsLayer(Layer[NmsOp]):
    """
    Greedy suppression: each class is sorted by score, and each box that stays is compared with all others.

    Sources: Neubeck and Van Gool, "Efficient non-maximum suppression", 2006; ONNX's NonMaxSuppression.
    """

    op = NmsOp

    def work(self, op: NmsOp) -> Work:
        count = shape_of(op.boxes)[1]
        sorting = elements(op.scores) * max(1, (count - 1).bit_length())
        return Work(vector_ops=sorting + int(op.size.value.data) * count * _OVERLAP)

    def evaluate(self, op: NmsOp, *arrays: Array) -> tuple[Array, ...]:
        boxes, scores = arrays
        corners = _corners(boxes, centered=op.centered is not None)
        most = scores.shape[2] if op.most is None else int(op.most.value.data)
        least = None if op.least is None else float(op.least.value.data)
        found = [
            [batch, number, place]
            for batch in range(scores.shape[0])
            for number in range(scores.shape[1])
            for place in _kept(corners[batch], scores[batch, number], float(op.iou.value.data), most, least)
        ]
        places = np.array(found, np.int64).reshape(-1, 3)
        return _checked(op, "boxes that stay", places, int(op.size.value.data))


def _corners(boxes: Array, *, centered: bool) -> Array:
    """Boxes as their lower and upper corners [..., 2, 2]."""
    pairs = boxes.reshape(*boxes.shape[:-1], 2, 2)
    if centered:
        middle, sides = pairs[..., 0, :], pairs[..., 1, :]
        pairs = np.stack([middle - sides / 2, middle + sides / 2], -2)
    return np.stack([pairs.min(-2), pairs.max(-2)], -2)


def _kept(corners: Array, scores: Array, iou: float, most: int, least: float | None) -> list[int]:
    """The places of the boxes of a class that stay, by falling score."""
    order = [int(one) for one in np.argsort(-scores, kind="stable") if least is None or scores[one] > least]
    areas = (corners[:, 1] - corners[:, 0]).prod(-1)
    kept: list[int] = []
    for place in order:
        if len(kept) == most:
            break
        low = np.maximum(corners[kept, 0], corners[place, 0])
        high = np.minimum(corners[kept, 1], corners[place, 1])
        shared = np.maximum(high - low, 0).prod(-1)
        if not (shared > iou * (areas[kept] + areas[place] - shared)).any():
            kept.append(place)
    return kept


def nonzero(b: GraphBuilder, x: Value, size: int) -> SSAValue:
    """
    The i32 places [size, rank of x] of the elements that are not 0, in the order of rows.

    A run in which there are not `size` of them is an error.
    """
    shape = shape_of(x)
    if not shape:
        raise ArgumentError("x", "found a scalar, expected a tensor")
    count = int(np.prod(shape))
    if not 1 <= size <= count:
        raise ArgumentError("size", f"found {size}, expected 1 to {count}, the elements of x")
    return b.emit(NonzeroOp(x, size=size)).places


def non_max_suppression(
    b: GraphBuilder,
    boxes: Value,
    scores: Value,
    size: int,
    iou: float = 0.5,
    most: int | None = None,
    least: float | None = None,
    centered: bool = False,
) -> SSAValue:
    """
    The i32 places [size, 3], batch, class and box, of the boxes [batch, n, 4] that overlap no box of a higher score
    [batch, classes, n] in their class by more than `iou`, the area that two share over that of both.

    A box is two opposite corners, with `centered` its middle and its sides. Of each class the `most` best stay, and
    those above a score of `least`. They stand by batch, class and falling score. A run in which not `size` of them stay
    is an error.
    """
    shape, classes = shape_of(boxes), shape_of(scores)
    if len(shape) != 3 or shape[2] != 4:
        raise ArgumentError("boxes", f"found {'x'.join(map(str, shape))}, expected [batch, n, 4]")
    if len(classes) != 3 or (classes[0], classes[2]) != shape[:2]:
        raise ArgumentError(
            "scores", f"found {'x'.join(map(str, classes))}, expected [{shape[0]}, classes, {shape[1]}]"
        )
    if most is not None and most < 1:
        raise ArgumentError("most", f"found {most}, expected at least 1")
    count = classes[0] * classes[1] * min(shape[1], most or shape[1])
    if not 1 <= size <= count:
        raise ArgumentError("size", f"found {size}, expected 1 to {count}, the boxes that may stay")
    bounds: dict[str, Any] = {} if most is None else {"most": most}
    if least is not None:
        bounds["least"] = least
    return b.emit(NmsOp(boxes, scores, size=size, iou=iou, centered=centered, **bounds)).places


LAYERS = (NonzeroLayer(), NmsLayer())
FUNCTIONS = (nonzero, non_max_suppression)
