"""Partitions of operations (`Cut`) that several families share."""

from collections.abc import Collection, Mapping
from itertools import accumulate
from operator import mul

from npuc.compiler.layers.base import Combine, Cut
from npuc.dialects.npu.nest import Nest, Tensor
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.base import TrainOp


def same_axes(op: TrainOp, *, but: Collection[int] = ()) -> list[Cut]:
    """
    The cuts of elementwise work: along each axis that has the same size in all operands and results.

    The axes `but` cannot be cut, since the work depends on all of their elements.
    """
    shapes = [shape_of(value) for value in (*op.operands, *op.results)]
    return [
        Cut((axis,) * len(op.operands), (axis,) * len(op.results))
        for axis, size in enumerate(shapes[0])
        if axis not in but and size > 1 and all(shape[axis : axis + 1] == (size,) for shape in shapes)
    ]


def image_cuts(op: TrainOp) -> list[Cut]:
    """The cuts of work on each channel of each image of [batch, channels, height, width]."""
    return same_axes(op, but=(2, 3))


def row_cuts(op: TrainOp, rows: int) -> list[Cut]:
    """The cuts of work on rows, the first `rows` axes of the first operand; other operands are needed whole."""
    whole = (None,) * (len(op.operands) - 1)
    sizes = shape_of(op.operands[0])[:rows]
    return [Cut((axis, *whole), (axis,) * len(op.results)) for axis, size in enumerate(sizes) if size > 1]


def channel_cuts(op: TrainOp, *, but: Collection[int] = ()) -> list[Cut]:
    """
    The cuts of work on [batch, channels, …] with vectors of one value per channel.

    Vectors are cut with the channels and needed whole for other cuts. The axes `but` cannot be cut.
    """
    ranks = [len(shape_of(value)) for value in (*op.operands, *op.results)]
    found: list[Cut] = []
    for axis, size in enumerate(shape_of(op.operands[0])):
        if axis not in but and size > 1:
            vector = 0 if axis == 1 else None
            axes = [axis if rank > 1 else vector for rank in ranks]
            found.append(Cut(tuple(axes[: len(op.operands)]), tuple(axes[len(op.operands) :])))
    return found


def loss_cuts(op: TrainOp, reduction: str) -> list[Cut]:
    """The cuts of a loss, the mean or sum of one term per element; `batchmean` is the mean over the batch of sums."""
    found: list[Cut] = []
    for axis, size in enumerate(shape_of(op.operands[-1])):
        mean = reduction == "mean" or (reduction == "batchmean" and axis == 0)
        if size > 1:
            found.append(Cut((axis,) * len(op.operands), (Combine.MEAN if mean else Combine.SUM,)))
    return found


def reduce_cuts(op: TrainOp) -> list[Cut]:
    """The cuts of a sum over the axes along which its result would be broadcast to its operand."""
    (x,), (out,) = map(shape_of, op.operands), map(shape_of, op.results)
    lead = len(x) - len(out)
    kept: list[Cut] = []
    summed: list[Cut] = []
    for axis, size in enumerate(x):
        if size > 1:
            stays = axis >= lead and out[axis - lead] == size
            (kept if stays else summed).append(Cut((axis,), (axis - lead if stays else Combine.SUM,)))
    return kept + summed


def reshape_cuts(op: TrainOp) -> list[Cut]:
    """The cuts along axes with the same leading stride in both shapes, so that their leading digits agree."""
    (x,), (out,) = map(shape_of, op.operands), map(shape_of, op.results)
    places = [{before: axis for axis, (before, size) in enumerate(_starts(shape)) if size > 1} for shape in (x, out)]
    both = [Cut((axis,), (places[1][before],)) for before, axis in places[0].items() if before in places[1]]
    return [cut for cut in both if cut.common(op) > 1]


def _starts(shape: tuple[int, ...]) -> list[tuple[int, int]]:
    """For each axis the product of the sizes before it, and its size."""
    return list(zip(accumulate(shape, mul, initial=1), shape, strict=False))


def nest_cuts(op: TrainOp, nest: Nest, divided: Mapping[str, str] | None = None) -> list[Cut]:
    """
    The cuts of products: along each dimension of the nest that is the leading digit of every axis in which it occurs.

    `divided` maps dimensions to the properties that count them. The tensors of the nest are those of the operation.
    """
    found: list[Cut] = []
    for dim, size in nest.dims:
        axes = [leading_axis(tensor, dim, nest.sizes) for tensor in (*nest.ins, *nest.outs)]
        if size == 1 or any(axis is not None and axis < 0 for axis in axes):
            continue
        beside, results = axes[: len(nest.ins)], axes[len(nest.ins) :]
        combined = tuple(Combine.SUM if axis is None else axis for axis in results)
        named = (divided or {}).get(dim)
        found.append(Cut(tuple(beside), combined, () if named is None else (named,)))
    return sorted((cut for cut in found if cut.common(op) > 1), key=_order)


def leading_axis(tensor: Tensor, dim: str, sizes: Mapping[str, int]) -> int | None:
    """The axis of a tensor whose leading digit a dimension is; None if it is in no axis, -1 if it is no such digit."""
    for number, (axis, size) in enumerate(zip(tensor.axes, tensor.shape, strict=True)):
        terms = dict(axis.terms)
        if dim in terms:
            step = terms.pop(dim)
            below = sum((sizes[other] - 1) * times for other, times in terms.items())
            return number if axis.offset == 0 and size == step * sizes[dim] and below < step else -1
    return None


def _order(cut: Cut) -> tuple[bool, tuple[int, ...]]:
    """The order of the cuts of a product: by the axis of the result, sums last, then by the axes of the operands."""
    (result,) = cut.results
    summed = isinstance(result, Combine)
    return summed, tuple(-1 if axis is None else axis for axis in cut.operands) if summed else (result or 0,)
