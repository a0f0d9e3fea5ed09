"""
Which rows of its operands an operation needs for rows of its results: a window that moves by a stride.

Of a contraction the index maps of its nest say it, of pooling its window; all other work has an axis of rows where its
layer says that it can be cut there (`npuc.compiler.layers.cuts`), row by row.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Operation

from npuc.compiler.analysis.fusion.axes import train_operation
from npuc.compiler.layers import get_layer
from npuc.dialects.npu import ContractOp, TensorWorkOp, ViewOp
from npuc.dialects.npu.contract import operand_tensors
from npuc.dialects.npu.nest import Nest, Tensor
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.base import TrainOp, ints
from npuc.dialects.train.pool import AvgPoolOp, MaxPoolOp

Span = tuple[int, int]
"""The first of some rows, and the one after the last."""


@dataclass(frozen=True)
class RowMap:
    """
    The rows of an operand: along an axis of `size`, a window of `span` rows that moves by `stride` for each row of the
    result, and begins `before` rows before the first. What lies outside is padding.
    """

    axis: int
    size: int
    stride: int = 1
    before: int = 0
    span: int = 1

    def reach(self, rows: Span) -> Span:
        """The rows that rows of the result need, padding included."""
        start, stop = rows
        return start * self.stride - self.before, (stop - 1) * self.stride - self.before + self.span

    def needed(self, rows: Span) -> Span:
        """Those of them that are there."""
        low, high = self.reach(rows)
        return max(low, 0), min(high, self.size)


@dataclass(frozen=True)
class RowStep:
    """The rows of an operation: of each operand, None for one that is read whole; the axis and size of its results'."""

    reads: tuple[RowMap | None, ...]
    axis: int
    height: int


def row_step(op: Operation, axis: int) -> RowStep | str:
    """The rows of an operation whose results have rows along an axis; a text says why there are none."""
    shapes = [shape_of(value) for value in op.results]
    if not shapes or any(axis >= len(shape) or shape[axis] != shapes[0][axis] for shape in shapes):
        return f"its results have not the same rows along axis {axis}"
    height = shapes[0][axis]
    if isinstance(op, ContractOp):
        reads = _contract_reads(op.nest_attr.data, axis)
    elif isinstance(op, TensorWorkOp):
        meaning = train_operation(op, op.operand_types, op.result_types)
        reads = None if meaning is None else work_reads(meaning, axis, height)
    else:
        reads = None
    if isinstance(op, ViewOp):
        return f"{op.kind} is a view, whose rows have no place of their own"
    if reads is None:
        what = op.kind if isinstance(op, TensorWorkOp) else "its nest"
        return f"{what} is not row-wise along axis {axis}: it needs more of its operands than a window of rows"
    return RowStep(reads, axis, height)


def row_dim(nest: Nest, axis: int) -> str | None:
    """The dimension of a nest that counts the rows of all its results along an axis; None if there is none."""
    axes = [out.axes[axis] for out in nest.outs]
    dims = {one.terms[0][0] for one in axes if one.is_plain}
    return next(iter(dims)) if len(dims) == 1 and all(one.is_plain for one in axes) else None


def _contract_reads(nest: Nest, axis: int) -> tuple[RowMap | None, ...] | None:
    dim = row_dim(nest, axis)
    if dim is None or any(dim in dict(one.terms) for out in nest.outs for n, one in enumerate(out.axes) if n != axis):
        return None
    found: list[RowMap | None] = []
    for tensor in operand_tensors(nest):
        places = row_places(tensor, dim)
        if len(places) > 1:
            return None
        found.append(_window(tensor, places[0], dim, nest) if places else None)
    return tuple(found)


def row_places(tensor: Tensor, dim: str) -> list[int]:
    """The axes of a tensor that a dimension moves."""
    return [number for number, one in enumerate(tensor.axes) if dim in one.dims]


def _window(tensor: Tensor, place: int, dim: str, nest: Nest) -> RowMap:
    axis = tensor.axes[place]
    span = 1 + sum(times * (nest.sizes[other] - 1) for other, times in axis.terms if other != dim)
    return RowMap(place, tensor.shape[place], dict(axis.terms)[dim], -axis.offset, span)


def work_reads(op: TrainOp, axis: int, height: int) -> tuple[RowMap | None, ...] | None:
    """The rows of the operands of work that is no contraction; None where it is not row-wise."""
    if isinstance(op, MaxPoolOp | AvgPoolOp):
        return _pool_reads(op, axis)
    for cut in get_layer(op).cuts(op):
        if cut.divided or cut.addends or any(one != axis for one in cut.results):
            continue
        sizes = [None if at is None else shape_of(v)[at] for v, at in zip(op.operands, cut.operands, strict=True)]
        if all(size in (None, height) for size in sizes) and height in sizes:
            return tuple(None if at is None else RowMap(at, height) for at in cut.operands)
    return None


def _pool_reads(op: MaxPoolOp | AvgPoolOp, axis: int) -> tuple[RowMap | None, ...] | None:
    if axis not in (2, 3) or op.ceil is not None:
        return None
    at = axis - 2
    dilation = ints(op.dilation)[at] if isinstance(op, MaxPoolOp) else 1
    span = dilation * (ints(op.kernel)[at] - 1) + 1
    return (RowMap(axis, shape_of(op.x)[axis], ints(op.stride)[at], ints(op.padding)[2 * at], span),)


def padded(padding: Sequence[int], axis: int, before: int, after: int) -> tuple[int, ...]:
    """The padding [top, bottom, left, right] of pooling, with another one along an axis of the image."""
    at = 2 * (axis - 2)
    return (*padding[:at], before, after, *padding[at + 2 :])
