"""
The choices that a network leaves: nodes for layers with weights, for joins, and for values that several read.

What follows a layer (its bias, activation, pooling) is shared as the layer's output is, so it belongs to the layer's
node. Work that takes values of several nodes (the addition of a residual connection, the product of attention) is a
node of its own, and so is a value that is read in several ways (a hub, `hubs`): it may be brought into one form for all
its readers, and their gradients are added before they are reduced. Layers that use the same weights are one node.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from npuc.compiler.analysis.sharding.graph.chain import LayerKind
from npuc.compiler.analysis.sharding.graph.deferred_reductions import Taker, takers_of
from npuc.compiler.analysis.sharding.graph.partition_types import PARTITION_TYPES, PartitionType, TaskCuts, task_cuts
from npuc.compiler.analysis.sharding.graph.reshard_points import with_hubs
from npuc.compiler.analysis.sharding.graph.segments import with_segments
from npuc.compiler.analysis.sharding.graph.tasks import Source, TaskGraph
from npuc.dialects.train.signature import ArgumentKind


@dataclass(frozen=True)
class LayerGroup:
    """
    A choice: the name and kind of the layer (kind None: no weights), the tasks, and the ways there are.

    `weights`: it is a hub of weights that layers share, or that one of them reads in several ways. `held` are the ways
    in which the gradients of its results are kept as addends: II of a hub, and I of work that has no batch (a table of
    positions), which every device does for its part of the batch.
    """

    name: str
    kind: LayerKind | None
    tasks: tuple[int, ...]
    types: tuple[PartitionType, ...]
    weights: bool = False
    held: tuple[PartitionType, ...] = ()


@dataclass(frozen=True)
class PlanGraph:
    """
    A program with hubs, its cuts, and its nodes.

    `group_of` is the node of each task; None where work depends on no data and every device does it whole. `maker` is
    the task that makes a value; None for arguments. `takers` has for a value of which a node makes addends the sum, by
    number, that can take them as they are.
    """

    program: TaskGraph
    task_cuts: TaskCuts
    groups: tuple[LayerGroup, ...]
    group_of: tuple[int | None, ...]
    maker: tuple[int | None, ...]
    takers: Mapping[int, Taker]

    def is_hub(self, group: int) -> bool:
        """Whether a node is a hub (and, of weights, work on these alone)."""
        return self.program.tasks[self.groups[group].tasks[0]].hub


def plan_graph_of(program: TaskGraph) -> PlanGraph:
    """The nodes of a program."""
    program = with_segments(program)
    grouped = _grouped(program)
    program, group_of = with_hubs(program, grouped)
    count = max((number for number in group_of if number is not None), default=-1) + 1
    tasks: list[list[int]] = [[] for _ in range(count)]
    for number, group in enumerate(group_of):
        if group is not None:
            tasks[group].append(number)
    maker: list[int | None] = [None] * len(program.values)
    for number, task in enumerate(program.tasks):
        for result in task.results:
            maker[result] = number
    takers = takers_of(program, group_of, tasks, maker)
    cut = task_cuts(program, {taker.task for taker in takers.values()})
    batched = _of_batch(program, cut)
    groups = tuple(_layer_group(program, cut, tuple(own), takers, batched) for own in tasks)
    return PlanGraph(program, cut, groups, tuple(group_of), tuple(maker), takers)


def _grouped(program: TaskGraph) -> list[int | None]:
    """The node of each task: numbers in the order in which their first tasks come."""
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
    Put what the batch cuts of work without data into the node that reads it, if only one does: the product of an
    initial state and weights.
    """
    by_batch = task_cuts(program).cut_of["I"]
    readers: dict[int, set[int | None]] = {}
    for number in range(len(program.tasks) - 1, -1, -1):
        task = program.tasks[number]
        constant = all(program.values[result].source is Source.CONSTANT for result in task.results)
        if group_of[number] is None and by_batch[number] is not None and not constant:
            groups = set[int | None]().union(*(readers.get(result, {None}) for result in task.results))
            group_of[number] = groups.pop() if len(groups) == 1 else None
        for operand in task.operands:
            readers.setdefault(operand, set()).add(group_of[number])


def _of_batch(program: TaskGraph, cut: TaskCuts) -> set[int]:
    """The values that depend on an input with a batch."""
    found = {number for number in cut.batch if program.values[number].argument is ArgumentKind.INPUT}
    for task in program.tasks:
        if found.intersection(task.operands):
            found.update(task.results)
    return found


def _layer_group(
    program: TaskGraph, cut: TaskCuts, tasks: tuple[int, ...], takers: Mapping[int, Taker], batched: set[int]
) -> LayerGroup:
    first = program.tasks[tasks[0]]
    weighted = next((program.tasks[number] for number in tasks if program.tasks[number].kind is not None), None)
    operands = {operand for number in tasks for operand in program.tasks[number].operands}
    alike = not operands & batched and not first.hub
    held: tuple[PartitionType, ...] = ("II",) if first.hub else ("I",) if alike else ()
    if weighted is not None:
        return LayerGroup(weighted.layer, weighted.kind, tasks, PARTITION_TYPES[:3], held=held)
    hubs = [number for number in tasks if program.tasks[number].hub]
    channels = any(cut.cut_of["III"][number] is not None for number in (hubs or tasks[:1]))
    weights = first.hub and program.values[first.operands[0]].source is not Source.DATA
    active = first.hub and any(first.gradients)
    taken = any(taker.task == tasks[0] for taker in takers.values())
    can: dict[PartitionType, bool] = {"I": not weights, "III": channels, "whole": True, "II": active or taken}
    name = f"{first.layer} (for all readers)" if first.hub else first.layer
    return LayerGroup(name, None, tasks, tuple(type for type, own in can.items() if own), weights, held)


def with_paper_types(network: PlanGraph, *, by_batch: bool) -> PlanGraph:
    """
    The network with those ways alone of joins and hubs that the papers' conventions know.

    Weights are whole; with `by_batch` (all data parallel) their gradient is one sum.
    """

    def known(group: LayerGroup) -> tuple[PartitionType, ...]:
        if group.weights:
            return ("II",) if by_batch else ("whole",)
        return group.types if group.kind is not None else tuple(type for type in group.types if type != "II")

    return replace(network, groups=tuple(replace(group, types=known(group)) for group in network.groups))
