"""
Reshard points: values that are read in several layouts, and may be brought into one for all consumers.

A value of the network has a reshard point if several other layer groups read it, or one in different layouts. So do
weights where these consumers compute partial sums of their gradient, also if they read them through work on weights
alone (a table of relative positions). Work on several weights together (the sum of two biases) puts their reshard
points in one layer group. Where slices leave out some of the weights, the slices have the reshard points in their
place, as nothing else has a gradient. Weights without a gradient, frozen or in a forward pass, have no reshard point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from npuc.compiler.analysis.sharding.graph.partition_types import PARTITION_TYPES, TaskCuts, task_cuts
from npuc.compiler.analysis.sharding.graph.tasks import Task, TaskGraph
from npuc.compiler.layers.base import Cut
from npuc.dialects.train.signature import ArgumentKind

GroupNumbers = Sequence[int | None]


def with_reshard_points(program: TaskGraph, group_of: GroupNumbers) -> tuple[TaskGraph, list[int | None]]:
    """
    The program with reshard points, and the layer group of each task; consumers read the reshard point's result.

    Work on weights that have a reshard point, and on nothing else that has a gradient, belongs to its layer group.
    """
    read = _reads(program, group_of, task_cuts(program))
    weights = _shared_weights(program, group_of, read)
    return _Writer(program, group_of, read, weights).write()


@dataclass(frozen=True)
class _Read:
    """
    A task of a layer group reads a value: by type, the axis that it requires sharded and whether its work is split;
    `gradient`: it contributes to the value's gradient.
    """

    task: int
    group: int
    layout: tuple[tuple[int | None, bool], ...]
    gradient: bool

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for reads that are served by one reshard."""
        return self.group, self.layout


def _reads(program: TaskGraph, group_of: GroupNumbers, cut: TaskCuts) -> dict[int, list[_Read]]:
    """The reads of each value by tasks of layer groups."""
    found: dict[int, list[_Read]] = {}
    for number, (task, group) in enumerate(zip(program.tasks, group_of, strict=True)):
        chosen = [cut.cut_of[type][number] for type in PARTITION_TYPES]
        for place, operand in enumerate(task.operands):
            if group is not None:
                axes = [None if own is None else task.cuts[own].operands[place] for own in chosen]
                layout = tuple((axis, own is not None) for axis, own in zip(axes, chosen, strict=True))
                found.setdefault(operand, []).append(_Read(number, group, layout, task.gradients[place]))
    return found


def _shared_weights(program: TaskGraph, group_of: GroupNumbers, read: dict[int, list[_Read]]) -> dict[int, int]:
    """The weights, or slices of them, that have reshard points; those of one layer group have the same number."""
    tasks = [task for task, group in zip(program.tasks, group_of, strict=True) if group is None]
    below: dict[int, list[Task]] = {}
    for task in tasks:
        for operand in _active(task):
            below.setdefault(operand, []).append(task)
    roots = _roots(program, below, read)
    merged = {root: root for root in roots}
    origin = {root: root for root in roots}

    def first(root: int) -> int:
        while merged[root] != root:
            root = merged[root]
        return root

    several: set[int] = set()
    for task in tasks:
        found = sorted({first(origin[operand]) for operand in _active(task) if operand in origin})
        for root in found:
            merged[root] = found[0]
        several.update(found if len(found) > 1 else ())
        for result in task.results if found else ():
            if program.values[result].active:
                origin.setdefault(result, found[0])

    def is_simple(value: int) -> bool:
        """Whether one read has a gradient of a value, or of a value with all its elements in another shape."""
        types = {edge.key for edge in read.get(value, ()) if edge.gradient}
        further = below.get(value, [])
        if types or len(further) != 1:
            return len(types) + len(further) <= 1
        (result, *more) = further[0].results
        same = program.values[result].elements == program.values[value].elements
        return not more and same and is_simple(result)

    joined = {first(root) for root in several}
    wanted = {first(root) for root in roots if not is_simple(root)} | joined
    return {root: first(root) for root in roots if first(root) in wanted}


def _roots(program: TaskGraph, below: dict[int, list[Task]], read: dict[int, list[_Read]]) -> list[int]:
    """The weights, or in place of those that only slices read, the slices if they have no more elements."""
    found: list[int] = []
    open_values = [n for n, own in enumerate(program.values) if own.argument is ArgumentKind.PARAM and own.active]
    for value in open_values:
        further = below.get(value, [])
        parts = [result for task in further for result in task.results]
        only_parts = parts and not any(own.gradient for own in read.get(value, ())) and all(t.parts for t in further)
        if only_parts and sum(program.values[part].elements for part in parts) <= program.values[value].elements:
            open_values += parts
        else:
            found.append(value)
    return found


def _active(task: Task) -> list[int]:
    """The operands to whose gradients a task contributes."""
    return list(dict.fromkeys(operand for operand, has in zip(task.operands, task.gradients, strict=True) if has))


class _Writer:
    """Writes the tasks with reshard points between them."""

    def __init__(
        self, program: TaskGraph, group_of: GroupNumbers, read: dict[int, list[_Read]], weights: dict[int, int]
    ):
        self.program = program
        self.group_of = group_of
        self.read = read
        self.weights = weights
        self.values = list(program.values)
        self.tasks: list[Task] = []
        self.groups: list[int | None] = []
        self.count = max((group for group in group_of if group is not None), default=-1) + 1
        self.instead: dict[int, tuple[int, int | None]] = {}
        self.point_groups: dict[int, int] = {}
        self.made_in: dict[int, int] = {}
        self.segments: dict[tuple[int, int], tuple[int, ...]] = {}

    def write(self) -> tuple[TaskGraph, list[int | None]]:
        for task, group in zip(self.program.tasks, self.group_of, strict=True):
            active = _active(task)
            for operand in active:
                if operand in self.weights and operand not in self.instead:
                    self._weights_reshard_point(task.layer, operand)
            operands = tuple(self._instead(operand, group) for operand in task.operands)
            owners = (
                {self.made_in.get(self._instead(operand, None)) for operand in active} if group is None else {group}
            )
            owner = owners.pop() if owners else None
            assert not owners
            self.tasks.append(replace(task, operands=operands))
            self.groups.append(owner)
            for result in task.results:
                if group is None and owner is not None:
                    self.made_in[result] = owner
                others = [edge for edge in self.read.get(result, ()) if edge.group != group]
                if group is not None and len({edge.key for edge in others}) > 1:
                    active = any(edge.gradient for edge in others)
                    self._reshard_point(task.layer, result, group, self._new_group(), active=active)
        program = replace(
            self.program,
            values=tuple(self.values),
            tasks=tuple(self.tasks),
            segments={**self.program.segments, **self.segments},
        )
        return program, _renumbered(self.groups)

    def _instead(self, operand: int, group: int | None) -> int:
        """What a task reads: the reshard point's result, except in the layer group that produces the value."""
        result, producer = self.instead.get(operand, (operand, None))
        return operand if group is not None and group == producer else result

    def _new_group(self) -> int:
        self.count += 1
        return self.count - 1

    def _weights_reshard_point(self, layer: str, value: int) -> None:
        point = self.weights[value]
        if point not in self.point_groups:
            self.point_groups[point] = self._new_group()
        result = self._reshard_point(layer, value, None, self.point_groups[point], axes=self._axes(value), active=True)
        self.made_in[result] = self.point_groups[point]

    def _reshard_point(
        self, layer: str, value: int, producer: int | None, group: int, *, axes: tuple[int, ...] = (), active: bool
    ) -> int:
        cuts = tuple(Cut((axis,), (axis,)) for axis in range(len(self.values[value].shape)))
        result = len(self.values)
        self.tasks.append(Task(layer, (value,), (result,), cuts, reshard_point=True, axes=axes, gradients=(active,)))
        self.groups.append(group)
        self.instead[value] = (result, producer)
        self.values.append(replace(self.values[value], argument=None, trained=False, active=active))
        for axis in range(len(cuts)):
            if (own := self.program.segments.get((value, axis))) is not None:
                self.segments[result, axis] = own
        return result

    def _axes(self, value: int) -> tuple[int, ...]:
        """The axes along which consumers split weights, in order of the reads."""
        axes = [axis for edge in self.read.get(value, ()) for axis, _ in edge.layout]
        return tuple(dict.fromkeys(axis for axis in axes if axis is not None))


def _renumbered(groups: GroupNumbers) -> list[int | None]:
    """GroupNumbers numbered in the order in which their first tasks come."""
    order: dict[int, int] = {}
    return [None if group is None else order.setdefault(group, len(order)) for group in groups]
