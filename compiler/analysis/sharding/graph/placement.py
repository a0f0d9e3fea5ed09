"""
The placement of each argument, and the sharding of each task.

The tasks of a layer group are sharded by its partition types. An argument is stored in the layout that the first layer
group to read it requires, so that a device stores its part of a parameter, of its gradient and of the optimizer's
states. Operations that compute a value from one argument alone, element by element, run on those parts:

    %c = train.cast %w             each device casts its part of the weights
    %r = train.reshape %b          each device has its part of the bias
    %y = train.matmul %x, %c       the task that determines the layout

With scattered parameters (ZeRO), parameters that all devices read whole are stored in parts, too, and gathered directly
before they are read, after the cast.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from npuc.compiler.analysis.sharding.graph.layer_groups import PlanGraph
from npuc.compiler.analysis.sharding.graph.partition_types import PARTITION_TYPES
from npuc.compiler.layers.base import Combine, Cut
from npuc.dialects.train.signature import ArgumentKind

AxisByType = tuple[int | None, ...]
"""For each of `PARTITION_TYPES` the axis that it shards; None: not sharded."""
TypeFlags = tuple[bool, ...]
"""A flag for each of `PARTITION_TYPES`."""
UNSHARDED: AxisByType = (None,) * len(PARTITION_TYPES)
NO_TYPES: TypeFlags = (False,) * len(PARTITION_TYPES)


@dataclass(frozen=True)
class Placement:
    """The layout in which an argument is stored: that of the types of one layer group that reads it (None: whole)."""

    group: int | None
    produced: AxisByType


@dataclass(frozen=True)
class TaskSharding:
    """
    The sharding of a task: the layer group whose types determine it (None: replicated), and its cut by type.

    Partial sums of its results are scattered along the axis `scattered` when they are reduced, if that is given.
    """

    group: int | None
    cuts: tuple[Cut | None, ...]
    scattered: int | None = None

    def required(self, place: int) -> AxisByType:
        """By type, the axis along which an operand has to be sharded."""
        return tuple(None if cut is None else cut.operands[place] for cut in self.cuts)

    def results(self, place: int) -> tuple[int | Combine | None, ...]:
        """By type, the axis along which a result is sharded, or how its partial sums combine; None: whole."""
        return tuple(None if cut is None else cut.results[place] for cut in self.cuts)

    def computed(self, place: int) -> AxisByType:
        """By type, the axis along which a result is sharded before its partial sums are reduced."""
        return tuple(axis if isinstance(axis, int) else None for axis in self.results(place))

    def scatters(self, place: int) -> AxisByType:
        """By type, the axis along which partial sums of a result are scattered."""
        return tuple(self.scattered if isinstance(axis, Combine) else None for axis in self.results(place))

    def produced(self, place: int) -> AxisByType:
        """By type, the axis along which a result is sharded."""
        if place not in self._produced:
            both = zip(self.computed(place), self.scatters(place), strict=True)
            self._produced[place] = tuple(axis if scattered is None else scattered for axis, scattered in both)
        return self._produced[place]

    @cached_property
    def _produced(self) -> dict[int, AxisByType]:
        return {}


@dataclass(frozen=True)
class Requirement:
    """
    The layout that a task requires of an operand, by type.

    Under the types `partial_gradient` it reads the whole operand for a part of its work; under `partial_value` it takes
    partial sums.
    """

    axes: AxisByType
    partial_gradient: TypeFlags
    partial_value: TypeFlags


@dataclass(frozen=True)
class Placements:
    """
    The placements of arguments and the shardings of tasks, by number.

    `origins` has, for each value that is computed from one argument alone, that argument.
    """

    graph: PlanGraph
    placements: Mapping[int, Placement]
    shardings: tuple[TaskSharding, ...]
    origins: Mapping[int, int]

    def produced(self, value: int) -> tuple[int | None, AxisByType]:
        """The layer group that produces or stores a value, and its sharded axis by type."""
        return _produced(self.graph, self.placements, self.shardings, value)

    def requirement(self, task: int, place: int) -> Requirement:
        """The layout that a task requires of an operand."""
        return _requirement(self.graph, self.shardings, task, place)

    def argument(self, value: int) -> ArgumentKind | None:
        """The kind of the argument that a value is, or is computed from alone; None for other values."""
        return self.graph.program.values[self.origins.get(value, value)].argument


def placements_of(graph: PlanGraph, *, cut_parameters: bool, scatter_over: int | None) -> Placements:
    """The placements of a network's arguments; `cut_parameters` and `scatter_over` as in `edges_of`."""
    return _Placer(graph, cut_parameters, scatter_over).placements_of()


def deferred_gradient_types(graph: PlanGraph, group: int | None) -> TypeFlags:
    """The types of a layer group under which the gradients of its results stay partial sums."""
    return (
        NO_TYPES if group is None else tuple(type in graph.groups[group].deferred_gradient for type in PARTITION_TYPES)
    )


def _task_sharding(graph: PlanGraph, number: int) -> TaskSharding:
    """The sharding of a task as part of its layer group."""
    task, cut_of = graph.program.tasks[number], graph.task_cuts.cut_of
    chosen = [cut_of[type][number] for type in PARTITION_TYPES]
    cuts = tuple(None if cut is None else task.cuts[cut] for cut in chosen)
    scattered = graph.task_cuts.scattered.get(task.results[0]) if task.results else None
    return TaskSharding(graph.group_of[number], cuts, scattered)


def _produced(
    graph: PlanGraph, placements: Mapping[int, Placement], sharding: Sequence[TaskSharding], value: int
) -> tuple[int | None, AxisByType]:
    producer = graph.producer[value]
    if producer is None:
        placement = placements.get(value, Placement(None, UNSHARDED))
        return placement.group, placement.produced
    place = graph.program.tasks[producer].results.index(value)
    return sharding[producer].group, sharding[producer].produced(place)


def _requirement(graph: PlanGraph, sharding: Sequence[TaskSharding], task: int, place: int) -> Requirement:
    """The requirement; a layer group with deferred gradients has partial gradients of all that it reads of others."""
    own, cuts, group = graph.program.tasks[task], sharding[task].cuts, graph.group_of[task]
    axes = sharding[task].required(place)
    partial_value = tuple(cut is not None and cut.addends for cut in cuts)
    partial_gradient = tuple(cut is not None and cut.operands[place] is None and not cut.addends for cut in cuts)
    producer = graph.producer[own.operands[place]]
    if own.reshard_point or producer is None or graph.group_of[producer] != group:
        deferred_gradient = deferred_gradient_types(graph, group)
        partial_gradient = tuple(
            one or (other and axis is None)
            for one, other, axis in zip(partial_gradient, deferred_gradient, axes, strict=True)
        )
    return Requirement(axes, partial_gradient, partial_value)


class _Placer:
    """Chooses the placement of arguments task by task."""

    def __init__(self, graph: PlanGraph, cut_parameters: bool, scatter_over: int | None):
        self.graph = graph
        self.cut_parameters = cut_parameters
        self.scatter_over = scatter_over
        self.placements: dict[int, Placement] = {}
        self.shardings = [_task_sharding(graph, number) for number in range(len(graph.program.tasks))]
        self.origins: dict[int, int] = {}

    def placements_of(self) -> Placements:
        alone: list[int] = []
        for number, task in enumerate(self.graph.program.tasks):
            if self._is_alone(number):
                alone.append(number)
                (operand,), (result,) = task.operands, task.results
                self.origins[result] = self.origins.get(operand, operand)
                continue
            for place, operand in enumerate(task.operands):
                self._keep(operand, number, place)
        for number in alone:
            (operand,) = self.graph.program.tasks[number].operands
            group, produced = _produced(self.graph, self.placements, self.shardings, operand)
            self.shardings[number] = TaskSharding(group, tuple(self._cut_along(number, axis) for axis in produced))
        return Placements(self.graph, self.placements, tuple(self.shardings), self.origins)

    def _is_alone(self, number: int) -> bool:
        """Whether a task outside all layer groups computes one value from one argument alone."""
        graph, task = self.graph, self.graph.program.tasks[number]
        if graph.group_of[number] is not None or len(task.operands) != 1 or len(task.results) != 1:
            return False
        argument = graph.program.values[task.operands[0]].argument
        return task.operands[0] in self.origins or argument not in (None, ArgumentKind.INPUT)

    def _keep(self, value: int, task: int, place: int) -> None:
        """Store an argument as a task requires it, or the value computed from it, unless an earlier task read it."""
        argument = self.origins.get(value, value)
        own, group = self.graph.program.values[argument], self.graph.group_of[task]
        if own.argument is None or argument in self.placements:
            return
        is_param = own.argument is ArgumentKind.PARAM
        if group is None or (is_param and not self.cut_parameters):
            self.placements[argument] = Placement(None, UNSHARDED)
            return
        requirement, path = _requirement(self.graph, self.shardings, task, place), self._path_to(value)
        before = {self._axis_behind(path, axis): axis for axis in range(len(own.shape))}
        produced = tuple(None if axis is None else before.get(axis) for axis in requirement.axes)
        axis = self._scatter_axis(argument, path) if is_param else None
        if axis is not None:
            produced = tuple(
                axis if partial_gradient else one
                for one, partial_gradient in zip(produced, requirement.partial_gradient, strict=True)
            )
        self.placements[argument] = Placement(group, produced)

    def _path_to(self, value: int) -> list[int]:
        """The tasks that compute a value from its argument, in order."""
        found: list[int] = []
        while value in self.origins:
            producer = self.graph.producer[value]
            assert producer is not None
            found.append(producer)
            (value,) = self.graph.program.tasks[producer].operands
        return found[::-1]

    def _scatter_axis(self, argument: int, path: Sequence[int]) -> int | None:
        """
        The first axis of a parameter that `scatter_over` divides, in each of its segments, and that the tasks on the
        path preserve; None where parameters are not scattered.
        """
        program, devices = self.graph.program, self.scatter_over
        own = program.values[argument]
        if devices is None or not own.trained:
            return None
        for axis, size in enumerate(own.shape):
            even = all(part % devices == 0 for part in program.segments.get((argument, axis), (size,)))
            if even and self._axis_behind(path, axis) is not None:
                return axis
        return None

    def _axis_behind(self, path: Sequence[int], axis: int) -> int | None:
        """The axis of the result that an axis of the argument becomes along a path of tasks; None where it ends."""
        found: int | None = axis
        for number in path:
            cut = self._cut_along(number, found)
            found = cut.results[0] if cut is not None and isinstance(cut.results[0], int) else None
        return found

    def _cut_along(self, number: int, axis: int | None) -> Cut | None:
        """The cut of a unary task along an axis that the result has in the same length; None without one."""
        task, values = self.graph.program.tasks[number], self.graph.program.values
        (operand,), (result,) = task.operands, task.results
        for cut in task.cuts:
            (produced,) = cut.results
            if axis is not None and cut.operands == (axis,) and isinstance(produced, int) and not cut.divided:
                if values[operand].shape[axis] == values[result].shape[produced]:
                    return cut
        return None
