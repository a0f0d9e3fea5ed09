"""Whether a plan's cuts are divisible: the number of devices must divide every axis that is split."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from math import gcd

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, Operation

from npuc.compiler.analysis.sharding.cost.cost_terms import TypeSequence
from npuc.compiler.analysis.sharding.graph.layer_groups import LayerGroup, PlanGraph
from npuc.compiler.analysis.sharding.graph.partition_types import PARTITION_TYPES, PartitionType
from npuc.compiler.analysis.sharding.graph.segments import segments_cut
from npuc.compiler.analysis.sharding.graph.tasks import Task, TaskGraph
from npuc.compiler.core.errors import CapacityError
from npuc.compiler.core.verify import location_of
from npuc.compiler.layers.base import Cut
from npuc.dialects.distributed.mesh import Mesh
from npuc.dialects.train.base import TrainOp

_WHAT: dict[PartitionType, str] = {
    "I": "its batch",
    "II": "its input channels",
    "III": "its output channels",
    "whole": "nothing",
}


Lengths = dict[tuple[int, PartitionType], int]
"""What tasks, by their numbers, cut under a type of their layer group."""


def _tasks(func: FuncOp, graph: PlanGraph) -> Iterator[tuple[Task, Operation | None]]:
    """The tasks with their operations; reshard points have none."""
    ops = iter([op for op in func.body.block.ops if not isinstance(op, ReturnOp)])
    return ((task, None if task.reshard_point else next(ops)) for task in graph.program.tasks)


def check_divides(
    func: FuncOp, graph: PlanGraph, plan: Sequence[TypeSequence], mesh: Mesh, lengths: Lengths | None = None
) -> None:
    """
    Raise `CapacityError` for the first cut that is not divisible; `graph` is that of `func`.

    `lengths` are those that are known of this graph, and get what is found: for many plans.
    """
    problems = list(_problems(func, graph, plan, mesh, {} if lengths is None else lengths))
    if problems:
        part, text = problems[0]
        more = f" (and {len(problems) - 1:,} more such)" if len(problems) > 1 else ""
        raise CapacityError(
            f"{text}{more}",
            location=location_of(part) or location_of(func),
            hint="other sizes (-D batch=N), fewer --devices, or --parallel joint, which takes only divisible cuts; "
            "npuc.compiler.plan_parallel counts plans of any sizes",
        )


def divisible_types(
    func: FuncOp, graph: PlanGraph, devices: int, asked: Collection[PartitionType] = PARTITION_TYPES
) -> PlanGraph:
    """
    The network with only those types of each layer group whose cuts are divisible by so many devices; `asked` are the
    types that are checked.

    Raises `CapacityError` for a group that has none of them if all are checked; else it keeps those that it has.
    """
    uneven: dict[tuple[int, PartitionType], tuple[int, Operation | None]] = {}
    for number, (task, op) in enumerate(_tasks(func, graph)):
        group = graph.group_of[number]
        for type in () if group is None else set(asked).intersection(graph.groups[group].types):
            cut = graph.task_cuts.cut_of[type][number]
            if group is None or cut is None:
                continue
            length = _length(graph.program, task, task.cuts[cut], op)
            if length % devices:
                uneven.setdefault((group, type), (length, op))
    groups: list[LayerGroup] = []
    for number, group in enumerate(graph.groups):
        types = tuple(type for type in group.types if (number, type) not in uneven)
        if not types and set(PARTITION_TYPES) <= set(asked):
            raise _no_type(func, group, {type: uneven[number, type] for type in group.types}, devices)
        groups.append(replace(group, types=types or group.types))
    return replace(graph, groups=tuple(groups))


def _no_type(
    func: FuncOp, group: LayerGroup, found: Mapping[PartitionType, tuple[int, Operation | None]], devices: int
) -> CapacityError:
    """The error for a layer whose axes are all not divisible; `found` has the length that each type cuts, and where."""
    lengths = ", ".join(f"{length:,} of {_WHAT[type]}" for type, (length, _) in found.items())
    place = next((op for _, op in found.values() if op is not None), None)
    return CapacityError(
        f"layer '{group.name}' has no axis to split: found {lengths}, expected one that is a multiple of {devices:,}, "
        "the devices",
        location=location_of(func if place is None else place) or location_of(func),
        hint="other sizes (-D batch=N), or fewer --devices; npuc.compiler.plan_parallel counts plans of any sizes",
    )


def _length(program: TaskGraph, task: Task, cut: Cut, op: Operation | None) -> int:
    """
    What a cut cuts: the length that all its axes have in common, or that of a reshard point's value; where axes are cut
    in segments (the gates of a cell), what these have in common.
    """
    segments = segments_cut(program, task, cut)
    if isinstance(op, TrainOp):
        return gcd(cut.common(op), *segments)
    (axis,) = cut.operands
    assert axis is not None
    return gcd(program.values[task.operands[0]].shape[axis], *segments)


def _problems(
    func: FuncOp, graph: PlanGraph, plan: Sequence[TypeSequence], mesh: Mesh, lengths: Lengths
) -> Iterator[tuple[Operation | BlockArgument, str]]:
    """What does not divide, and where: the first input that has a batch, or operations."""
    first, axis = next(iter(graph.task_cuts.batch.items()), (None, 0))
    batch = 1 if first is None else graph.program.values[first].shape[axis]
    if first is not None and batch % mesh.devices and any("I" in sequence for sequence in plan):
        yield (
            func.body.block.args[first],
            f"the batch has {batch:,} elements, expected a multiple of {mesh.devices:,}, the devices that split it",
        )
        return
    beside: Operation | BlockArgument | None = next(iter(func.body.block.args), None)
    for number, (task, op) in enumerate(_tasks(func, graph)):
        beside = op or beside
        group = graph.group_of[number]
        for type in dict.fromkeys(() if group is None else plan[group]):
            cut = graph.task_cuts.cut_of[type][number]
            where = op or beside
            if cut is None or where is None:
                continue
            if (number, type) not in lengths:
                lengths[number, type] = _length(graph.program, task, task.cuts[cut], op)
            if not lengths[number, type] % mesh.devices:
                continue
            what = "what several read" if task.reshard_point else _WHAT[type]
            found = _found(graph.program, task, task.cuts[cut], op, mesh)
            yield where, f"layer '{task.layer}' splits {what}: {found}"


def _found(program: TaskGraph, task: Task, cut: Cut, op: Operation | None, mesh: Mesh) -> str:
    """Which axis, or which of its segments, does not divide."""
    expected = f"expected a multiple of {mesh.devices:,}, the devices"
    beside = zip((*task.operands, *task.results), (*cut.operands, *cut.results), strict=True)
    axes = [(value, axis) for value, axis in beside if isinstance(axis, int)]
    for place in axes:
        for part in program.segments.get(place, ()):
            if part % mesh.devices:
                size, shape = _size(program, *place), _shape(program, place[0])
                return f"found {part:,}, one of the parts side by side in the {size:,} of {shape}, {expected}"
    for value, axis in axes:
        if (size := _size(program, value, axis)) % mesh.devices:
            return f"found {size:,} in {_shape(program, value)}, {expected}"
    groups = cut.common(op) if isinstance(op, TrainOp) else 0
    return f"found {groups:,} groups, {expected}"


def _shape(program: TaskGraph, value: int) -> str:
    return "x".join(map(str, program.values[value].shape))


def _size(program: TaskGraph, value: int, axis: int) -> int:
    return program.values[value].shape[axis]
