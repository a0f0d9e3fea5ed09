"""
Layer groups: the tasks that share one partition choice.

A weighted layer forms a group with its epilogue (bias, activation, pooling), which is sharded as the layer's output is.
An operation that joins the values of several groups (a residual addition, the products of attention) starts a group of
its own. So does a value that is read in several layouts: its reshard point may bring it into one layout for all
consumers, and adds their gradients before these are reduced. Layers that use the same weights are one group.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from npuc.compiler.analysis.sharding.graph.chain import LayerKind
from npuc.compiler.analysis.sharding.graph.deferred_reductions import DeferredReduction, find_deferred_reductions
from npuc.compiler.analysis.sharding.graph.partition_types import PARTITION_TYPES, PartitionType, TaskCuts, task_cuts
from npuc.compiler.analysis.sharding.graph.reshard_points import with_reshard_points
from npuc.compiler.analysis.sharding.graph.segments import with_segments
from npuc.compiler.analysis.sharding.graph.tasks import Source, TaskGraph
from npuc.dialects.train.signature import ArgumentKind


@dataclass(frozen=True)
class LayerGroup:
    """
    A layer group: the name and kind of its layer (None: no weights), its tasks, and its possible partition types.

    `weights`: it is the reshard point of weights that layers share or read in several layouts. `deferred_gradient` are
    the types under which the gradients of its results stay partial sums: II of a reshard point, and I of work without a
    batch (a table of positions), which every device does for its part of the batch. `asked`: the types are those that
    were asked for, whatever a strategy takes.
    """

    name: str
    kind: LayerKind | None
    tasks: tuple[int, ...]
    types: tuple[PartitionType, ...]
    weights: bool = False
    deferred_gradient: tuple[PartitionType, ...] = ()
    asked: bool = False


@dataclass(frozen=True)
class PlanGraph:
    """
    A program with reshard points, the cuts of its tasks, and its layer groups.

    `group_of` is the layer group of each task; None for work that depends on no data, which is replicated. `producer`
    is the task that produces a value; None for arguments. `deferred_reductions` has, for each value whose partial sums
    can be reduced later, the sum that does so.
    """

    program: TaskGraph
    task_cuts: TaskCuts
    groups: tuple[LayerGroup, ...]
    group_of: tuple[int | None, ...]
    producer: tuple[int | None, ...]
    deferred_reductions: Mapping[int, DeferredReduction]

    def is_reshard_point(self, group: int) -> bool:
        """Whether a group is a reshard point (of weights with the work on these alone)."""
        return self.program.tasks[self.groups[group].tasks[0]].reshard_point


def plan_graph_of(program: TaskGraph) -> PlanGraph:
    """The layer groups of a program."""
    program = with_segments(program)
    grouped = _grouped(program)
    program, group_of = with_reshard_points(program, grouped)
    count = max((number for number in group_of if number is not None), default=-1) + 1
    tasks: list[list[int]] = [[] for _ in range(count)]
    for number, group in enumerate(group_of):
        if group is not None:
            tasks[group].append(number)
    producer: list[int | None] = [None] * len(program.values)
    for number, task in enumerate(program.tasks):
        for result in task.results:
            producer[result] = number
    deferred_reductions = find_deferred_reductions(program, group_of, tasks, producer)
    cut = task_cuts(program, {deferral.task for deferral in deferred_reductions.values()})
    batched = _of_batch(program, cut)
    groups = tuple(_layer_group(program, cut, tuple(own), deferred_reductions, batched) for own in tasks)
    return PlanGraph(program, cut, groups, tuple(group_of), tuple(producer), deferred_reductions)


def _grouped(program: TaskGraph) -> list[int | None]:
    """The layer group of each task, numbered in the order of their first tasks."""
    made_in: dict[int, int] = {}
    by_weight: dict[int, int] = {}
    roots: dict[int, int] = {}
    found: list[int | None] = []
    count = 0
    for task in program.tasks:
        before = {made_in[operand] for operand in task.operands if operand in made_in}
        group: int | None = None
        if task.weight is not None:
            weight = task.operands[task.weight]
            group = by_weight.setdefault(roots.get(weight, weight), count)
        elif len(before) == 1:
            (group,) = before
        elif any(program.values[operand].source is Source.DATA for operand in task.operands):
            group = count
        if group is not None:
            count = max(count, group + 1)
            made_in.update((result, group) for result in task.results)
        elif task.operands:
            first = task.operands[0]
            roots.update((result, roots.get(first, first)) for result in task.results)
        found.append(group)
    _join_readers(program, found)
    return found


def _join_readers(program: TaskGraph, group_of: list[int | None]) -> None:
    """
    Put work without data that the batch splits (the product of an initial state and weights) into the layer group that
    reads it, if there is only one.
    """
    by_batch = task_cuts(program).cut_of["I"]
    consumers: dict[int, set[int | None]] = {}
    for number in range(len(program.tasks) - 1, -1, -1):
        task = program.tasks[number]
        constant = all(program.values[result].source is Source.CONSTANT for result in task.results)
        if group_of[number] is None and by_batch[number] is not None and not constant:
            groups = set[int | None]().union(*(consumers.get(result, {None}) for result in task.results))
            group_of[number] = groups.pop() if len(groups) == 1 else None
        for operand in task.operands:
            consumers.setdefault(operand, set()).add(group_of[number])


def _of_batch(program: TaskGraph, cut: TaskCuts) -> set[int]:
    """The values that depend on an input with a batch."""
    found = {number for number in cut.batch if program.values[number].argument is ArgumentKind.INPUT}
    for task in program.tasks:
        if found.intersection(task.operands):
            found.update(task.results)
    return found


def _layer_group(
    program: TaskGraph,
    cut: TaskCuts,
    tasks: tuple[int, ...],
    deferred_reductions: Mapping[int, DeferredReduction],
    batched: set[int],
) -> LayerGroup:
    first = program.tasks[tasks[0]]
    weighted = next((program.tasks[number] for number in tasks if program.tasks[number].kind is not None), None)
    operands = {operand for number in tasks for operand in program.tasks[number].operands}
    alike = not operands & batched and not first.reshard_point
    deferred_gradient: tuple[PartitionType, ...] = ("II",) if first.reshard_point else ("I",) if alike else ()
    if weighted is not None:
        return LayerGroup(
            weighted.layer, weighted.kind, tasks, PARTITION_TYPES[:3], deferred_gradient=deferred_gradient
        )
    reshard_points = [number for number in tasks if program.tasks[number].reshard_point]
    channels = any(cut.cut_of["III"][number] is not None for number in (reshard_points or tasks[:1]))
    weights = first.reshard_point and program.values[first.operands[0]].source is not Source.DATA
    active = first.reshard_point and any(first.gradients)
    taken = any(deferral.task == tasks[0] for deferral in deferred_reductions.values())
    can: dict[PartitionType, bool] = {"I": not weights, "III": channels, "whole": True, "II": active or taken}
    name = f"{first.layer} (for all readers)" if first.reshard_point else first.layer
    return LayerGroup(name, None, tasks, tuple(type for type, own in can.items() if own), weights, deferred_gradient)


def with_tables_shared(graph: PlanGraph) -> PlanGraph:
    """The network with type II alone for all tables whose rows it cuts."""
    placed = {group for group in range(len(graph.groups)) if placement_of(graph, group)}
    return replace(
        graph,
        groups=tuple(
            replace(group, types=("II",), asked=True) if number in placed else group
            for number, group in enumerate(graph.groups)
        ),
    )


def placement_of(graph: PlanGraph, group: int) -> str | None:
    """How type II cuts the table that a layer group looks up: by `rows`, or `whole` tables; None for columns."""
    for number in graph.groups[group].tasks:
        task, cut = graph.program.tasks[number], graph.task_cuts.cut_of["II"][number]
        if task.placed and cut is not None:
            return "whole" if isinstance(task.cuts[cut].results[0], int) else "rows"
    return None


def with_paper_types(graph: PlanGraph, *, by_batch: bool) -> PlanGraph:
    """
    The network with only those partition types of joins and reshard points that the papers' conventions have.

    Weights are replicated; with `by_batch` (all layers data parallel) their gradient is reduced once.
    """

    def known(group: LayerGroup) -> tuple[PartitionType, ...]:
        if group.weights:
            return ("II",) if by_batch else ("whole",)
        return group.types if group.kind is not None else tuple(type for type in group.types if type != "II")

    return replace(graph, groups=tuple(replace(group, types=known(group)) for group in graph.groups))
