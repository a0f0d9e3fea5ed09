"""
Between which nodes of a network which values go, in the form that each way of a node makes or needs.

    reading     a node needs a value in a certain form: its maker has it in another
    sum         a node makes addends of a value, which every device needs whole

Each is priced from the ways of one or two nodes alone, and each becomes operations of the lowered program, so that the
price of a plan is what its program moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from npuc.compiler.analysis.sharding.graph.layer_groups import PlanGraph
from npuc.compiler.analysis.sharding.graph.partition_types import PARTITION_TYPES, PartitionType
from npuc.compiler.analysis.sharding.graph.placement import (
    NO_TYPES,
    UNSHARDED,
    AxisByType,
    Home,
    Homes,
    Needs,
    Sharing,
    TypeFlags,
    held_in,
    homes_of,
)
from npuc.compiler.analysis.sharding.graph.tasks import Source
from npuc.compiler.layers.base import Combine
from npuc.dialects.train.signature import ArgumentKind

TYPE_NUMBER: Mapping[PartitionType, int] = {type: number for number, type in enumerate(PARTITION_TYPES)}


@dataclass(frozen=True)
class Reading:
    """
    A value that a node (None: whoever needs no data) reads: the axes by way that its maker has cut and that the reader
    needs cut, and in which ways of the reader the work is cut though the value is read whole. `scattered`: where its
    maker has it cut, its gradient is then reduced and scattered. `held` are the maker's ways in which it keeps the
    gradient as addends, `added` the reader's in which it takes addends of the value.
    """

    value: int
    elements: int
    active: bool
    maker: int | None
    made: AxisByType
    reader: int | None
    needed: AxisByType
    shared: TypeFlags
    scattered: bool = False
    held: TypeFlags = NO_TYPES
    added: TypeFlags = NO_TYPES


@dataclass(frozen=True)
class Sum:
    """
    A result of a node's task of which some ways make addends: the axes by way that are cut, and how addends add.

    `taker` is the node that alone reads it, or what is linear in it, if that takes addends in the ways `later`.
    """

    value: int
    elements: int
    group: int
    made: AxisByType
    adds: tuple[Combine | None, ...]
    taker: int | None = None
    later: TypeFlags = NO_TYPES


@dataclass(frozen=True)
class Flows:
    """
    All readings, sums and homes of a network, and how each task is shared; `reading_of` finds the reading of a task's
    operand.
    """

    readings: tuple[Reading, ...]
    reading_of: Mapping[tuple[int, int], int]
    sums: tuple[Sum, ...]
    homes: Mapping[int, Home]
    sharing: tuple[Sharing, ...]


def flows_of(network: PlanGraph, *, cut_parameters: bool = True, scatter_over: int | None = None) -> Flows:
    """
    The flows of a network. Without `cut_parameters` every device keeps the parameters whole (their update needs all of
    one), and takes its part of them when it reads them.

    With `scatter_over`, a number of devices, parameters that all devices read whole are kept in parts where an axis
    divides among so many, and so are their gradients and the optimizer's states: they are gathered before they are
    read, and their gradients are reduced and scattered (Rajbhandari et al., "ZeRO", SC 2020).
    """
    return _Builder(homes_of(network, cut_parameters=cut_parameters, scatter_over=scatter_over)).flows()


class _Builder:
    """Collects the flows task by task."""

    def __init__(self, homes: Homes):
        self.network = homes.network
        self.homes = homes
        self.readings: dict[Reading, int] = {}
        self.reading_of: dict[tuple[int, int], int] = {}
        self.sums: list[Sum] = []
        # the readings through which a gradient comes back: value, reader and what it needs
        self.passes: set[tuple[int, int | None, Needs]] = set()

    def flows(self) -> Flows:
        homes, tasks = self.homes, self.network.program.tasks
        needs = {
            (number, place): homes.needs(number, place)
            for number, task in enumerate(tasks)
            for place in range(len(task.operands))
        }
        for number, task in enumerate(tasks):
            for place, operand in enumerate(task.operands):
                if task.gradients[place]:
                    self.passes.add((operand, homes.sharing[number].group, needs[number, place]))
        for number, task in enumerate(tasks):
            for place, operand in enumerate(task.operands):
                self.reading_of[number, place] = self._read(number, operand, needs[number, place])
            for place, result in enumerate(task.results):
                self._sum(number, place, result)
        return Flows(tuple(self.readings), self.reading_of, tuple(self.sums), homes.homes, homes.sharing)

    def _read(self, task: int, value: int, needs: Needs) -> int:
        network, argument = self.network, self.homes.argument(value)
        group, hub = self.homes.sharing[task].group, network.program.tasks[task].hub
        maker, made = self.homes.made(value)
        own = network.program.values[value]
        if own.argument is ArgumentKind.INPUT:
            # inputs are given in any form
            maker, made = None, UNSHARDED
        kept = argument is ArgumentKind.PARAM and maker == group and made != needs.axes
        reading = Reading(
            value,
            own.elements,
            (value, group, needs) in self.passes,
            maker,
            made,
            group,
            needs.axes,
            needs.shared,
            scattered=kept or hub,
            held=NO_TYPES if argument is not None or maker == group else held_in(network, maker),
            added=needs.added,
        )
        return self.readings.setdefault(reading, len(self.readings))

    def _sum(self, task: int, place: int, result: int) -> None:
        network, sharing = self.network, self.homes.sharing[task]
        adds = tuple(axis if isinstance(axis, Combine) else None for axis in sharing.results(place))
        if any(adds) and sharing.group is not None:
            elements, taker = network.program.values[result].elements, network.takers.get(result)
            own = Sum(result, elements, sharing.group, sharing.made(place), adds)
            if taker is not None:
                later = self.homes.needs(taker.task, taker.place).added
                own = replace(own, taker=network.group_of[taker.task], later=later)
            self.sums.append(own)


def is_data(network: PlanGraph, value: int) -> bool:
    """Whether a value depends on the network's inputs."""
    return network.program.values[value].source is Source.DATA
