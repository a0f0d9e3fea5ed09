"""
Along which axis of its results an operation has the samples, where its operands have them along given axes.

An operation is sample-wise if so many samples of its operands give the same samples of its results, or results whose
sum over all samples is the whole result. That is a partition along the samples as devices have it: the layer's cuts
(`npuc.compiler.layers.cuts`) say it of vector work, moves and views, the index maps of its nest of a contraction. Of
an axis of samples x rows the sample is the leading digit.
"""

from collections.abc import Iterator, Sequence
from itertools import product

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation
from xdsl.utils.exceptions import VerifyException

from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Combine, Cut
from npuc.compiler.layers.cuts import leading_axis
from npuc.dialects.npu import ContractOp, TensorWorkOp
from npuc.dialects.npu.contract import operand_tensors
from npuc.dialects.npu.groups.batches import WHOLE, resized
from npuc.dialects.npu.nest import Nest
from npuc.dialects.outside import operation_of_kind
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.base import TrainOp


def result_axes(op: Operation, axes: Sequence[int], samples: int) -> tuple[int, ...] | str:
    """
    The axis of the samples of each result, or `WHOLE` for a sum over them; a text says why there is none.

    `axes` are those of the operands, `WHOLE` for one that has no samples.
    """
    for value, axis in zip(op.operands, axes, strict=True):
        if axis != WHOLE and shape_of(value)[axis] % samples:
            return f"axis {axis} of an operand has size {shape_of(value)[axis]}, no multiple of {samples} samples"
    if all(axis == WHOLE for axis in axes):
        return "no operand has samples"
    if isinstance(op, ContractOp):
        dim = sample_dim(op.nest_attr.data, axes)
        if dim is None:
            return "its nest has no dimension that is the sample of all these operands"
        return _dim_axes(op.nest_attr.data, dim)
    if isinstance(op, TensorWorkOp):
        return _work_axes(op, tuple(axes), samples)
    return f"{op.name} is not cut along samples"


def sample_dim(nest: Nest, axes: Sequence[int]) -> str | None:
    """The dimension of a nest that is the leading digit of these axes of its operands, and in no other operand."""
    tensors = operand_tensors(nest)
    for dim in nest.sizes:
        found = [leading_axis(tensor, dim, nest.sizes) for tensor in tensors]
        if [WHOLE if axis is None else axis for axis in found] == list(axes) and None not in (
            found[n] for n, axis in enumerate(axes) if axis != WHOLE
        ):
            if all(leading_axis(out, dim, nest.sizes) != -1 for out in nest.outs) and -1 not in found:
                return dim
    return None


def _dim_axes(nest: Nest, dim: str) -> tuple[int, ...] | str:
    if any(start is not None and dim not in out.dims for out, start in zip(nest.outs, nest.starts, strict=True)):
        return "a sum over samples has a start, which every micro-batch would add"
    found = [leading_axis(out, dim, nest.sizes) for out in nest.outs]
    return tuple(WHOLE if axis is None else axis for axis in found)


def train_operation(op: TensorWorkOp, operands: Sequence[Attribute], results: Sequence[Attribute]) -> TrainOp | None:
    """The train operation whose meaning vector work, a move or a view has, for other types; None if there is none."""
    kind = operation_of_kind(op.kind)
    if kind is None:
        return None
    found = kind.create(operands=Block(arg_types=operands).args, result_types=results, properties=dict(op.params))
    try:
        found.verify_()
    except VerifyException:
        return None
    return found


def _work_axes(op: TensorWorkOp, axes: tuple[int, ...], samples: int) -> tuple[int, ...] | str:
    """The axes of work that is no contraction. A single sample cannot be cut: there two are."""
    if samples > 1:
        meaning = train_operation(op, op.operand_types, op.result_types)
        found = () if meaning is None else _matching(meaning, axes)
        return next(iter(found), _refusal(op))
    operands = [resized(value.type, axis, 1, 2) for value, axis in zip(op.operands, axes, strict=True)]
    for guess in product(*([*range(len(shape_of(value))), WHOLE] for value in op.results)):
        types = [resized(value.type, axis, 1, 2) for value, axis in zip(op.results, guess, strict=True)]
        meaning = train_operation(op, operands, types)
        if meaning is not None and guess in _matching(meaning, axes):
            return guess
    return _refusal(op)


def _refusal(op: TensorWorkOp) -> str:
    return f"{op.kind} is not sample-wise: it needs more of its operands than the samples that it computes"


def _matching(op: TrainOp, axes: Sequence[int]) -> list[tuple[int, ...]]:
    """The axes of the results for each cut of an operation along these axes of its operands."""
    return [found for cut in get_layer(op).cuts(op) for found in _of_cut(cut, axes)]


def _of_cut(cut: Cut, axes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    beside = [WHOLE if axis is None else axis for axis in cut.operands]
    if beside == list(axes) and not cut.divided and not cut.addends:
        found = [WHOLE if axis is Combine.SUM else axis for axis in cut.results]
        if all(isinstance(axis, int) and not isinstance(axis, Combine) for axis in found):
            yield tuple(axis for axis in found if isinstance(axis, int))


def has_axis(type_: Attribute, axis: int, samples: int) -> bool:
    """Whether an axis of a tensor type is there and has whole samples."""
    if not isinstance(type_, TensorType):
        return False
    shape = type_.get_shape()
    return axis < len(shape) and shape[axis] >= samples and shape[axis] % samples == 0
