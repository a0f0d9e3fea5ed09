"""
The edges between layer groups, with the layout that each partition type produces and requires.

    edge        a layer group reads a value: its producer has it in one layout, the consumer requires another
    reduction   a layer group produces partial sums of a value that every device needs whole

The cost of each depends on the types of one or two layer groups alone. Each becomes operations of the lowered program,
so that the cost of a plan is the communication of its program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from npuc.compiler.analysis.sharding.graph.layer_groups import PlanGraph
from npuc.compiler.analysis.sharding.graph.partition_types import PARTITION_TYPES, PartitionType
from npuc.compiler.analysis.sharding.graph.placement import (
    NO_TYPES,
    UNSHARDED,
    AxisByType,
    Placement,
    Placements,
    Requirement,
    TaskSharding,
    TypeFlags,
    deferred_gradient_types,
    placements_of,
)
from npuc.compiler.analysis.sharding.graph.tasks import Source
from npuc.compiler.layers.base import Combine
from npuc.dialects.train.signature import ArgumentKind

TYPE_NUMBER: Mapping[PartitionType, int] = {type: number for number, type in enumerate(PARTITION_TYPES)}


@dataclass(frozen=True)
class Edge:
    """
    A value that a layer group reads, as sharded by its producer and as required by its consumer, per partition type.

    `produced` and `required` have the sharded axis for each type of the producer and of the consumer; either group is
    None for work that belongs to none. `active`: the value has a gradient. The flags hold per partition type:
    `partial_gradient` where the consumer's work is split although it reads the whole value, so that devices compute
    partial sums of the gradient; `deferred_gradient` where the producer keeps the gradient as partial sums;
    `partial_value` where the consumer takes partial sums of the value. With `scatter_gradient` the gradient is
    reduce-scattered where the producer shards the value.
    """

    value: int
    elements: int
    active: bool
    producer: int | None
    produced: AxisByType
    consumer: int | None
    required: AxisByType
    partial_gradient: TypeFlags
    scatter_gradient: bool = False
    deferred_gradient: TypeFlags = NO_TYPES
    partial_value: TypeFlags = NO_TYPES


@dataclass(frozen=True)
class Reduction:
    """
    A result of which a layer group produces partial sums under some types: its sharded axis and reduction by type.

    `deferred_to` is the layer group of the sum that takes the partial sums unreduced, under its types `deferred`. Under
    the types that `scatters` has an axis for, they are scattered along it instead of reduced for every device; where
    the value is `active`, its gradient is gathered.
    """

    value: int
    elements: int
    group: int
    produced: AxisByType
    adds: tuple[Combine | None, ...]
    deferred_to: int | None = None
    deferred: TypeFlags = NO_TYPES
    scatters: AxisByType = UNSHARDED
    active: bool = False


@dataclass(frozen=True)
class PlanEdges:
    """
    The edges (`reads`) and reductions of a network, the placement of its arguments, and the sharding of each task.

    `read_of` has the number of the edge by which a task reads an operand, by (task, operand index).
    """

    reads: tuple[Edge, ...]
    read_of: Mapping[tuple[int, int], int]
    reductions: tuple[Reduction, ...]
    placements: Mapping[int, Placement]
    shardings: tuple[TaskSharding, ...]

    @cached_property
    def reads_by_value(self) -> Mapping[int, Sequence[Edge]]:
        """The edges of each value, in their order."""
        found: dict[int, list[Edge]] = {}
        for edge in self.reads:
            found.setdefault(edge.value, []).append(edge)
        return found


def edges_of(graph: PlanGraph, *, cut_parameters: bool = True, scatter_over: int | None = None) -> PlanEdges:
    """
    The edges of a network.

    Without `cut_parameters` parameters are replicated, since their update needs all of one, and sliced where they are
    read. With `scatter_over`, a number of devices, parameters that every device reads whole are stored in parts if one
    of their axes is divisible by it, as are their gradients and the optimizer's states: they are gathered before they
    are read, and their gradients are reduce-scattered (Rajbhandari et al., "ZeRO", SC 2020).
    """
    return _Builder(placements_of(graph, cut_parameters=cut_parameters, scatter_over=scatter_over)).edges()


class _Builder:
    """Collects edges and reductions task by task."""

    def __init__(self, placements: Placements):
        self.graph = placements.graph
        self.placements = placements
        self.reads: dict[Edge, int] = {}
        self.read_of: dict[tuple[int, int], int] = {}
        self.reductions: list[Reduction] = []
        # the edges that carry a gradient back: value, consumer and its requirement
        self.passes: set[tuple[int, int | None, Requirement]] = set()

    def edges(self) -> PlanEdges:
        placements, tasks = self.placements, self.graph.program.tasks
        requirement = {
            (number, place): placements.requirement(number, place)
            for number, task in enumerate(tasks)
            for place in range(len(task.operands))
        }
        for number, task in enumerate(tasks):
            for place, operand in enumerate(task.operands):
                if task.gradients[place]:
                    self.passes.add((operand, placements.shardings[number].group, requirement[number, place]))
        for number, task in enumerate(tasks):
            for place, operand in enumerate(task.operands):
                self.read_of[number, place] = self._read(number, operand, requirement[number, place])
            for place, result in enumerate(task.results):
                self._sum(number, place, result)
        return PlanEdges(
            tuple(self.reads), self.read_of, tuple(self.reductions), placements.placements, placements.shardings
        )

    def _read(self, task: int, value: int, requirement: Requirement) -> int:
        graph, argument = self.graph, self.placements.argument(value)
        group, reshard_point = self.placements.shardings[task].group, graph.program.tasks[task].reshard_point
        producer, produced = self.placements.produced(value)
        own = graph.program.values[value]
        if own.argument is ArgumentKind.INPUT:
            # inputs are given in any layout
            producer, produced = None, UNSHARDED
        kept = argument is ArgumentKind.PARAM and producer == group and produced != requirement.axes
        edge = Edge(
            value,
            own.elements,
            (value, group, requirement) in self.passes,
            producer,
            produced,
            group,
            requirement.axes,
            requirement.partial_gradient,
            scatter_gradient=kept or reshard_point,
            deferred_gradient=NO_TYPES
            if argument is not None or producer == group
            else deferred_gradient_types(graph, producer),
            partial_value=requirement.partial_value,
        )
        return self.reads.setdefault(edge, len(self.reads))

    def _sum(self, task: int, place: int, result: int) -> None:
        graph, sharding = self.graph, self.placements.shardings[task]
        adds = tuple(axis if isinstance(axis, Combine) else None for axis in sharding.results(place))
        if any(adds) and sharding.group is not None:
            value, target = graph.program.values[result], graph.deferred_reductions.get(result)
            scatters = sharding.scatters(place)
            own = Reduction(
                result,
                value.elements,
                sharding.group,
                sharding.computed(place),
                adds,
                scatters=scatters,
                active=value.active,
            )
            if target is not None and scatters == UNSHARDED:
                deferred = self.placements.requirement(target.task, target.place).partial_value
                own = replace(own, deferred_to=graph.group_of[target.task], deferred=deferred)
            self.reductions.append(own)


def is_data(graph: PlanGraph, value: int) -> bool:
    """Whether a value depends on the network's inputs."""
    return graph.program.values[value].source is Source.DATA
