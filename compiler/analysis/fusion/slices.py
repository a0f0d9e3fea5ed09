"""
The operations of a micro-batch: the same operations on so many samples.

Of a contraction the dimension of the samples shrinks, in its nest and its schedule; vector work and moves have the work
that their layer says of tensors of that size.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from npuc.compiler.analysis.fusion.axes import result_axes, sample_dim, train_operation
from npuc.compiler.core.errors import SourceError
from npuc.compiler.core.verify import location_of
from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Work, elements
from npuc.dialects.npu import ContractOp, MoveOp, TensorWorkOp, VectorOp
from npuc.dialects.npu.groups.batches import WHOLE, Batches, resized
from npuc.dialects.npu.groups.op import GroupOp
from npuc.dialects.npu.interleave import YieldOp
from npuc.dialects.npu.nest import Loop, Nest, Schedule, Tensor
from npuc.dialects.npu.reread import RereadAttr
from npuc.dialects.npu.tensor_work import counts_attr
from npuc.dialects.provenance import layer_of
from npuc.dialects.tensors import tensor_type


@dataclass(frozen=True)
class Axes:
    """The axis of the samples of each operand and result of an operation, or `WHOLE`."""

    operands: tuple[int, ...]
    results: tuple[int, ...]


def clipped(schedule: Schedule, dim: str, size: int) -> Schedule:
    """
    A schedule for a nest whose dimension has a smaller size: steps are at most that size.

    Of the loops over the dimension that then run once, one that repeats the step around it is left out.
    """
    loops: list[Loop] = []
    keep = schedule.keep_depths
    for place, loop in enumerate(schedule.loops):
        step = min(loop.step, size) if loop.dim == dim else loop.step
        if any(one.dim == dim == loop.dim and one.step == step for one in loops):
            inside = len(schedule.loops) - place
            keep = {name: depth - (schedule.keep_depth(name) >= inside) for name, depth in keep.items()}
            continue
        loops.append(replace(loop, step=step))
    return replace(schedule, loops=tuple(loops), keep=tuple(keep.items()))


def nest_of(nest: Nest, dim: str, axes: Axes, now: int, then: int) -> Nest:
    """A nest on `then` samples, where it is on `now` of them along a dimension."""

    def sized(tensor: Tensor | None, axis: int) -> Tensor | None:
        return tensor and replace(tensor, shape=Batches(now, now).sized(tensor.shape, axis, then))

    ins = tuple(sized(t, axis) or t for t, axis in zip(nest.ins, axes.operands, strict=False))
    outs = tuple(sized(t, axis) or t for t, axis in zip(nest.outs, axes.results, strict=True))
    behind = iter(axes.operands[len(nest.ins) :])
    starts = tuple(None if start is None else sized(start, next(behind)) for start in nest.starts)
    dims = tuple((name, size // now * then if name == dim else size) for name, size in nest.dims)
    return replace(nest, dims=dims, ins=ins, outs=outs, starts=starts)


def sliced(op: Operation, operands: Sequence[SSAValue], axes: Axes, now: int, then: int) -> Operation:
    """
    An operation on `then` samples of its operands, where `op` is on `now` of them.

    Raises `SourceError` for one that cannot be.
    """
    if isinstance(op, ContractOp):
        return _sliced_contract(op, operands, axes, now, then)
    assert isinstance(op, TensorWorkOp)
    types = [resized(value.type, axis, now, then) for value, axis in zip(op.results, axes.results, strict=True)]
    properties = dict(op.properties)
    if isinstance(op, VectorOp | MoveOp):
        properties = {name: attr for name, attr in properties.items() if name not in ("reads", "writes", "again")}
        properties |= work_counts(op, [value.type for value in operands], types)
    return type(op).create(operands=operands, result_types=types, properties=properties, attributes=dict(op.attributes))


def _sliced_contract(op: ContractOp, operands: Sequence[SSAValue], axes: Axes, now: int, then: int) -> ContractOp:
    whole = op.nest_attr.data
    dim = sample_dim(whole, axes.operands)
    assert dim is not None
    nest = nest_of(whole, dim, axes, now, then)
    schedule = None if op.schedule_attr is None else clipped(op.schedule, dim, nest.sizes[dim])
    elements_types = [tensor_type(value).element_type for value in op.results]
    new = ContractOp(operands, nest, elements_types, schedule, dict(op.attributes))
    if op.resident_attr is not None:
        new.resident_attr = op.resident_attr
    return new


def work_counts(
    op: VectorOp | MoveOp, operands: Sequence[Attribute], results: Sequence[Attribute]
) -> dict[str, Attribute]:
    """What a layer says of the work on tensors of these types, but for operands that the operation does not read."""
    work = _work(op, operands, results)
    if work is None:
        raise SourceError(f"{op.kind} of layer {layer_of(op)} has no micro-batch", location=location_of(op))
    reads = work.reads
    if op.reads is not None and 0 in op.reads:
        counts = reads or tuple(map(elements, Block(arg_types=operands).args))
        reads = tuple(count if own else 0 for count, own in zip(counts, op.reads, strict=True))
    found: dict[str, Attribute | None] = {"reads": counts_attr(reads), "writes": counts_attr(work.writes)}
    if isinstance(op, VectorOp):
        scaled = VectorOp(op.kind, [], [], ops=work.vector_ops, reread=work.reread)
        found |= {"ops": scaled.ops_attr, "again": None if work.reread is None else RereadAttr(work.reread)}
    return {name: attr for name, attr in found.items() if attr is not None}


def _work(op: TensorWorkOp, operands: Sequence[Attribute], results: Sequence[Attribute]) -> Work | None:
    meaning = train_operation(op, operands, results)
    return None if meaning is None else get_layer(meaning).work(meaning)


def is_plain_work(op: TensorWorkOp) -> bool:
    """Whether an operation has exactly the work that its layer says, so that its layer says that of a part, too."""
    if not isinstance(op, VectorOp | MoveOp):
        return True
    if train_operation(op, op.operand_types, op.result_types) is None:
        return False
    own = {name: attr for name in ("reads", "writes", "again", "ops") if (attr := op.properties.get(name)) is not None}
    return work_counts(op, op.operand_types, op.result_types) == own


def body_axes(group: GroupOp) -> Mapping[Operation, Axes]:
    """
    The axes of the samples of each operation in the body of a group.

    Raises `SourceError` for an operation that is not sample-wise, and for results that are not what the group says.
    """
    block, micro = group.body.block, group.batches.micro
    of: dict[SSAValue, int] = dict(zip(block.args, group.slices, strict=True))
    sums: set[SSAValue] = set()
    found: dict[Operation, Axes] = {}
    for op in block.ops:
        if isinstance(op, YieldOp):
            break
        axes = tuple(of[value] for value in op.operands)
        results = result_axes(op, axes, micro)
        if isinstance(results, str):
            raise SourceError(f"'{op.name}' in a group: {results}", location=location_of(op))
        if sums.intersection(op.operands):
            raise SourceError(f"'{op.name}' in a group reads a sum over samples", location=location_of(op))
        of |= dict(zip(op.results, results, strict=True))
        sums.update(value for value, axis in zip(op.results, results, strict=True) if axis == WHOLE)
        found[op] = Axes(axes, results)
    for number, (value, axis) in enumerate(zip(group.ending.operands, group.joins, strict=True)):
        if of[value] != axis:
            named = "a sum over samples" if of[value] == WHOLE else f"samples along axis {of[value]}"
            raise SourceError(f"result {number} of a group is {named}, not what it says", location=location_of(group))
    return found


def body_of(group: GroupOp, samples: int) -> Region:
    """The body of a group for so many samples, in place of those of a micro-batch."""
    block, micro = group.body.block, group.batches.micro
    axes = body_axes(group)
    new = Block(arg_types=[resized(v.type, axis, micro, samples) for v, axis in zip(block.args, group.slices)])
    of: dict[SSAValue, SSAValue] = dict(zip(block.args, new.args, strict=True))
    for op in block.ops:
        operands = [of[value] for value in op.operands]
        made = YieldOp(operands) if isinstance(op, YieldOp) else sliced(op, operands, axes[op], micro, samples)
        made.location = op.location
        new.add_op(made)
        of |= dict(zip(op.results, made.results, strict=True))
    return Region(new)
