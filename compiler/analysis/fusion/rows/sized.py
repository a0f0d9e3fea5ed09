"""An operation on some rows: a contraction on a part of its nest, other work with what its layer says of a part."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, DictionaryAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from npuc.compiler.analysis.fusion.rows.maps import RowMap, RowStep, Span, padded, row_dim, row_places
from npuc.compiler.analysis.fusion.slices import clipped, work_counts
from npuc.dialects.npu import ContractOp, MoveOp, TensorWorkOp, VectorOp
from npuc.dialects.npu.nest import Axis, Nest, Tensor
from npuc.dialects.tensors import tensor_type
from npuc.dialects.train.base import encode, ints

POOLED = ("max_pool", "avg_pool")


@dataclass(frozen=True)
class RowsRead:
    """Rows of an operand that a band of an operation reads: how many, and how many of its window are padding before."""

    rows: int
    before: int
    after: int


@dataclass(frozen=True)
class Extent:
    """How many rows an operation computes, and what it reads for them; equal for bands of equal work."""

    rows: int
    places: tuple[RowsRead | None, ...]


def extent_of(step: RowStep, made: Span, read: Mapping[int, Span]) -> Extent:
    """The extent of an operation that computes some rows and reads those of its operands."""

    def place(number: int, one: RowMap | None) -> RowsRead | None:
        if one is None:
            return None
        (low, high), (start, stop) = one.reach(made), read[number]
        return RowsRead(stop - start, start - low, high - stop)

    return Extent(made[1] - made[0], tuple(place(number, one) for number, one in enumerate(step.reads)))


def of_rows(type_: Attribute, axis: int, rows: int) -> Attribute:
    """A tensor type with so many rows along an axis."""
    tensor = cast("TensorType[Attribute]", type_)
    shape = tensor.get_shape()
    return TensorType(tensor.element_type, (*shape[:axis], rows, *shape[axis + 1 :]))


def on_rows(op: Operation, step: RowStep, extent: Extent, operands: Sequence[SSAValue]) -> Operation:
    """An operation on some rows of its operands, which have the types of these rows."""
    types = [of_rows(value.type, step.axis, extent.rows) for value in op.results]
    if isinstance(op, ContractOp):
        return _contract_on(op, step, extent, operands)
    assert isinstance(op, TensorWorkOp)
    properties = dict(op.properties)
    if op.kind in POOLED:
        (one,), (place,) = step.reads, extent.places
        assert one is not None
        assert place is not None
        padding = padded(ints(cast(DenseArrayBase, op.params["padding"])), one.axis, place.before, place.after)
        properties["params"] = DictionaryAttr({**op.params, "padding": encode(padding)})
    new = type(op).create(operands=operands, result_types=types, properties=properties, attributes=dict(op.attributes))
    if isinstance(new, VectorOp | MoveOp):
        counts = work_counts(new, [value.type for value in operands], types)
        for name in ("reads", "writes", "again"):
            new.properties.pop(name, None)
        new.properties.update(counts)
    return new


def nest_on(nest: Nest, step: RowStep, extent: Extent) -> Nest:
    """A nest on some rows of its operands."""
    dim = row_dim(nest, step.axis)
    assert dim is not None
    places = iter(extent.places)

    def read(tensor: Tensor) -> Tensor:
        place = next(places)
        at = row_places(tensor, dim)
        return tensor if place is None else _moved(tensor, at[0], place.rows, -place.before)

    ins = tuple(read(tensor) for tensor in nest.ins)
    starts = tuple(None if start is None else read(start) for start in nest.starts)
    outs = tuple(_moved(out, step.axis, extent.rows, 0) for out in nest.outs)
    dims = tuple((name, extent.rows if name == dim else size) for name, size in nest.dims)
    return replace(nest, dims=dims, ins=ins, outs=outs, starts=starts)


def _moved(tensor: Tensor, at: int, rows: int, offset: int) -> Tensor:
    """A tensor with so many rows, the first of which is at an index of the map less the offset."""
    axes = (*tensor.axes[:at], Axis(tensor.axes[at].terms, offset), *tensor.axes[at + 1 :])
    return replace(tensor, shape=(*tensor.shape[:at], rows, *tensor.shape[at + 1 :]), axes=axes)


def _contract_on(op: ContractOp, step: RowStep, extent: Extent, operands: Sequence[SSAValue]) -> ContractOp:
    nest = nest_on(op.nest_attr.data, step, extent)
    dim = row_dim(nest, step.axis)
    assert dim is not None
    schedule = None if op.schedule_attr is None else clipped(op.schedule, dim, extent.rows)
    elements = [tensor_type(value).element_type for value in op.results]
    new = ContractOp(operands, nest, elements, schedule, dict(op.attributes))
    new.resident_attr = op.resident_attr
    return new
