"""
In which form each argument is kept, and how each task is shared.

A node's tasks are shared by its ways. An argument is kept as the first node that reads it needs it, so that a device
has its part of a parameter, of its gradient and of the optimizer's states. What is computed from one argument alone,
element by element, stands between the argument and that node:

    %c = train.cast %w             each device casts its part of the weights
    %r = train.reshape %b          each device has its part of the bias
    %y = train.matmul %x, %c       the node that says in which form

Where parameters are scattered (ZeRO), what all devices read whole is kept in parts, too; it is gathered in front of its
reader, behind the cast.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from npuc.compiler.analysis.sharding.graph.layer_groups import PlanGraph
from npuc.compiler.analysis.sharding.graph.partition_types import PARTITION_TYPES
from npuc.compiler.layers.base import Combine, Cut
from npuc.dialects.train.signature import ArgumentKind

AxisByType = tuple[int | None, ...]
"""For each of `PARTITION_TYPES` the axis that it cuts; None: whole."""
TypeFlags = tuple[bool, ...]
"""For each of `PARTITION_TYPES` whether something holds."""
UNSHARDED: AxisByType = (None,) * len(PARTITION_TYPES)
NO_TYPES: TypeFlags = (False,) * len(PARTITION_TYPES)


@dataclass(frozen=True)
class Home:
    """The form in which an argument is given and kept: that of one of the nodes that read it (None: whole)."""

    group: int | None
    made: AxisByType


@dataclass(frozen=True)
class Sharing:
    """How a task is shared: the node whose pattern says so (None: every device does it whole), and its cut by way."""

    group: int | None
    cuts: tuple[Cut | None, ...]

    def needed(self, place: int) -> AxisByType:
        """The axes by way along which it needs an operand cut."""
        return tuple(None if cut is None else cut.operands[place] for cut in self.cuts)

    def results(self, place: int) -> tuple[int | Combine | None, ...]:
        """What a result is by way: cut along an axis, addends, or whole."""
        return tuple(None if cut is None else cut.results[place] for cut in self.cuts)

    def made(self, place: int) -> AxisByType:
        """The axes by way that a result is cut along."""
        return tuple(axis if isinstance(axis, int) else None for axis in self.results(place))


@dataclass(frozen=True)
class Needs:
    """
    The axes by way that a task needs an operand cut along, the ways in which it reads all of it for a part, and those
    in which it takes addends.
    """

    axes: AxisByType
    shared: TypeFlags
    added: TypeFlags


@dataclass(frozen=True)
class Homes:
    """
    The homes of arguments and the sharing of tasks, by number; `origins` has the argument of which alone a value is
    computed where it is kept.
    """

    network: PlanGraph
    homes: Mapping[int, Home]
    sharing: tuple[Sharing, ...]
    origins: Mapping[int, int]

    def made(self, value: int) -> tuple[int | None, AxisByType]:
        """The node that makes a value, or keeps it, and the axes by way."""
        return _made(self.network, self.homes, self.sharing, value)

    def needs(self, task: int, place: int) -> Needs:
        """What a task needs an operand for."""
        return _needs(self.network, self.sharing, task, place)

    def argument(self, value: int) -> ArgumentKind | None:
        """What kind of argument a value is, or is computed from alone; None if it is not."""
        return self.network.program.values[self.origins.get(value, value)].argument


def homes_of(network: PlanGraph, *, cut_parameters: bool, scatter_over: int | None) -> Homes:
    """The homes of a network's arguments; `cut_parameters` and `scatter_over` as in `flows_of`."""
    return _Keeper(network, cut_parameters, scatter_over).homes_of()


def held_in(network: PlanGraph, group: int | None) -> TypeFlags:
    """The ways of a node in which the gradients of its results are kept as addends."""
    return NO_TYPES if group is None else tuple(type in network.groups[group].held for type in PARTITION_TYPES)


def _sharing(network: PlanGraph, number: int) -> Sharing:
    """How a task is shared as a part of its node."""
    task, cut_of = network.program.tasks[number], network.task_cuts.cut_of
    chosen = [cut_of[type][number] for type in PARTITION_TYPES]
    return Sharing(network.group_of[number], tuple(None if cut is None else task.cuts[cut] for cut in chosen))


def _made(
    network: PlanGraph, homes: Mapping[int, Home], sharing: Sequence[Sharing], value: int
) -> tuple[int | None, AxisByType]:
    maker = network.maker[value]
    if maker is None:
        home = homes.get(value, Home(None, UNSHARDED))
        return home.group, home.made
    place = network.program.tasks[maker].results.index(value)
    return sharing[maker].group, sharing[maker].made(place)


def _needs(network: PlanGraph, sharing: Sequence[Sharing], task: int, place: int) -> Needs:
    """Where a node keeps the gradients of its results as addends, it reads all from elsewhere as if for a part."""
    own, cuts, group = network.program.tasks[task], sharing[task].cuts, network.group_of[task]
    axes = sharing[task].needed(place)
    added = tuple(cut is not None and cut.addends for cut in cuts)
    shared = tuple(cut is not None and cut.operands[place] is None and not cut.addends for cut in cuts)
    maker = network.maker[own.operands[place]]
    if own.hub or maker is None or network.group_of[maker] != group:
        held = held_in(network, group)
        shared = tuple(one or (other and axis is None) for one, other, axis in zip(shared, held, axes, strict=True))
    return Needs(axes, shared, added)


class _Keeper:
    """Decides where arguments are kept, task by task."""

    def __init__(self, network: PlanGraph, cut_parameters: bool, scatter_over: int | None):
        self.network = network
        self.cut_parameters = cut_parameters
        self.scatter_over = scatter_over
        self.homes: dict[int, Home] = {}
        self.sharing = [_sharing(network, number) for number in range(len(network.program.tasks))]
        self.origins: dict[int, int] = {}

    def homes_of(self) -> Homes:
        alone: list[int] = []
        for number, task in enumerate(self.network.program.tasks):
            if self._is_alone(number):
                alone.append(number)
                (operand,), (result,) = task.operands, task.results
                self.origins[result] = self.origins.get(operand, operand)
                continue
            for place, operand in enumerate(task.operands):
                self._keep(operand, number, place)
        for number in alone:
            (operand,) = self.network.program.tasks[number].operands
            group, made = _made(self.network, self.homes, self.sharing, operand)
            self.sharing[number] = Sharing(group, tuple(self._cut_along(number, axis) for axis in made))
        return Homes(self.network, self.homes, tuple(self.sharing), self.origins)

    def _is_alone(self, number: int) -> bool:
        """Whether a task that no node does makes one value of one argument alone."""
        network, task = self.network, self.network.program.tasks[number]
        if network.group_of[number] is not None or len(task.operands) != 1 or len(task.results) != 1:
            return False
        argument = network.program.values[task.operands[0]].argument
        return task.operands[0] in self.origins or argument not in (None, ArgumentKind.INPUT)

    def _keep(self, value: int, task: int, place: int) -> None:
        """Let an argument be kept as a task needs it, or what is made of it, if nothing has read it before."""
        argument = self.origins.get(value, value)
        own, group = self.network.program.values[argument], self.network.group_of[task]
        if own.argument is None or argument in self.homes:
            return
        is_param = own.argument is ArgumentKind.PARAM
        if group is None or (is_param and not self.cut_parameters):
            self.homes[argument] = Home(None, UNSHARDED)
            return
        needs, path = _needs(self.network, self.sharing, task, place), self._path_to(value)
        before = {self._axis_behind(path, axis): axis for axis in range(len(own.shape))}
        made = tuple(None if axis is None else before.get(axis) for axis in needs.axes)
        axis = self._scatter_axis(argument, path) if is_param else None
        if axis is not None:
            made = tuple(axis if shared else one for one, shared in zip(made, needs.shared, strict=True))
        self.homes[argument] = Home(group, made)

    def _path_to(self, value: int) -> list[int]:
        """The tasks that make a value of an argument alone."""
        found: list[int] = []
        while value in self.origins:
            maker = self.network.maker[value]
            assert maker is not None
            found.append(maker)
            (value,) = self.network.program.tasks[maker].operands
        return found[::-1]

    def _scatter_axis(self, argument: int, path: Sequence[int]) -> int | None:
        """
        The first axis of a parameter that divides among all devices, each of its segments by itself, also behind the
        tasks on the way, if parameters are to be kept in parts.
        """
        program, devices = self.network.program, self.scatter_over
        own = program.values[argument]
        if devices is None or not own.trained:
            return None
        for axis, size in enumerate(own.shape):
            even = all(part % devices == 0 for part in program.segments.get((argument, axis), (size,)))
            if even and self._axis_behind(path, axis) is not None:
                return axis
        return None

    def _axis_behind(self, path: Sequence[int], axis: int) -> int | None:
        """What an axis of an argument is behind some tasks; None where it does not go on."""
        found: int | None = axis
        for number in path:
            cut = self._cut_along(number, found)
            found = cut.results[0] if cut is not None and isinstance(cut.results[0], int) else None
        return found

    def _cut_along(self, number: int, axis: int | None) -> Cut | None:
        """The cut of a task of one operand along an axis of it, if that goes on as an axis of the result as long."""
        task, values = self.network.program.tasks[number], self.network.program.values
        (operand,), (result,) = task.operands, task.results
        for cut in task.cuts:
            (made,) = cut.results
            if axis is not None and cut.operands == (axis,) and isinstance(made, int) and not cut.divided:
                if values[operand].shape[axis] == values[result].shape[made]:
                    return cut
        return None
