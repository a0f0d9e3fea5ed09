"""
Values that are read in several ways, brought into one form for all readers: their hubs.

A value of the network has a hub if several other nodes read it, or one in different forms; so have weights where these
readers have addends of their gradient, also those that are read by way of work on weights alone (a table of relative
positions). Work on several weights together (the sum of two biases) makes one node of their hubs. Where a slice leaves
out some of the weights, what stands for them is the slice: nothing else has a gradient. Weights of a forward pass and
frozen ones have no gradient and no hub.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from npuc.compiler.analysis.sharding.graph.partition_types import PARTITION_TYPES, TaskCuts, task_cuts
from npuc.compiler.analysis.sharding.graph.tasks import Task, TaskGraph
from npuc.compiler.layers.base import Cut
from npuc.dialects.train.signature import ArgumentKind

Nodes = Sequence[int | None]


def with_hubs(program: TaskGraph, node_of: Nodes) -> tuple[TaskGraph, list[int | None]]:
    """
    The program with hubs, each a node, and the node of each task; readers of what has a hub read the hub's result.

    Work on weights that have a hub, and on nothing else that has a gradient, belongs to the hub's node.
    """
    read = _readings(program, node_of, task_cuts(program))
    weights = _hubs_of_weights(program, node_of, read)
    return _Writer(program, node_of, read, weights).write()


@dataclass(frozen=True)
class _Reading:
    """
    That a task of a node reads a value: the axes by way that it needs cut, and whether its work is cut; whether it has
    an addend of the value's gradient.
    """

    task: int
    node: int
    layout: tuple[tuple[int | None, bool], ...]
    gradient: bool

    @property
    def key(self) -> tuple[object, ...]:
        """What readings have in common that are one movement."""
        return self.node, self.layout


def _readings(program: TaskGraph, node_of: Nodes, cut: TaskCuts) -> dict[int, list[_Reading]]:
    """The readings of each value by tasks of nodes."""
    found: dict[int, list[_Reading]] = {}
    for number, (task, node) in enumerate(zip(program.tasks, node_of, strict=True)):
        chosen = [cut.cut_of[type][number] for type in PARTITION_TYPES]
        for place, operand in enumerate(task.operands):
            if node is not None:
                axes = [None if own is None else task.cuts[own].operands[place] for own in chosen]
                layout = tuple((axis, own is not None) for axis, own in zip(axes, chosen, strict=True))
                found.setdefault(operand, []).append(_Reading(number, node, layout, task.gradients[place]))
    return found


def _hubs_of_weights(program: TaskGraph, node_of: Nodes, read: dict[int, list[_Reading]]) -> dict[int, int]:
    """The weights, or their parts, that have hubs; those of one node have the same number."""
    tasks = [task for task, node in zip(program.tasks, node_of, strict=True) if node is None]
    below: dict[int, list[Task]] = {}
    for task in tasks:
        for operand in _active(task):
            below.setdefault(operand, []).append(task)
    roots = _roots(program, below, read)
    group = {root: root for root in roots}
    origin = {root: root for root in roots}

    def first(root: int) -> int:
        while group[root] != root:
            root = group[root]
        return root

    several: set[int] = set()
    for task in tasks:
        found = sorted({first(origin[operand]) for operand in _active(task) if operand in origin})
        for root in found:
            group[root] = found[0]
        several.update(found if len(found) > 1 else ())
        for result in task.results if found else ():
            if program.values[result].active:
                origin.setdefault(result, found[0])

    def is_simple(value: int) -> bool:
        """Whether one reading has a gradient of a value, or of what has all of its elements in another form."""
        types = {reading.key for reading in read.get(value, ()) if reading.gradient}
        further = below.get(value, [])
        if types or len(further) != 1:
            return len(types) + len(further) <= 1
        (result, *more) = further[0].results
        same = program.values[result].elements == program.values[value].elements
        return not more and same and is_simple(result)

    joined = {first(root) for root in several}
    wanted = {first(root) for root in roots if not is_simple(root)} | joined
    return {root: first(root) for root in roots if first(root) in wanted}


def _roots(program: TaskGraph, below: dict[int, list[Task]], read: dict[int, list[_Reading]]) -> list[int]:
    """The weights, and instead of those of which parts alone are read these parts, if they have no more elements."""
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
    """The operands of a task of whose gradients it has addends."""
    return list(dict.fromkeys(operand for operand, has in zip(task.operands, task.gradients, strict=True) if has))


class _Writer:
    """The tasks with hubs between them."""

    def __init__(self, program: TaskGraph, node_of: Nodes, read: dict[int, list[_Reading]], weights: dict[int, int]):
        self.program = program
        self.node_of = node_of
        self.read = read
        self.weights = weights
        self.values = list(program.values)
        self.tasks: list[Task] = []
        self.nodes: list[int | None] = []
        self.count = max((node for node in node_of if node is not None), default=-1) + 1
        self.instead: dict[int, tuple[int, int | None]] = {}
        self.groups: dict[int, int] = {}
        self.made_in: dict[int, int] = {}
        self.segments: dict[tuple[int, int], tuple[int, ...]] = {}

    def write(self) -> tuple[TaskGraph, list[int | None]]:
        for task, node in zip(self.program.tasks, self.node_of, strict=True):
            active = _active(task)
            for operand in active:
                if operand in self.weights and operand not in self.instead:
                    self._weights_hub(task.layer, operand)
            operands = tuple(self._instead(operand, node) for operand in task.operands)
            owners = {self.made_in.get(self._instead(operand, None)) for operand in active} if node is None else {node}
            owner = owners.pop() if owners else None
            assert not owners
            self.tasks.append(replace(task, operands=operands))
            self.nodes.append(owner)
            for result in task.results:
                if node is None and owner is not None:
                    self.made_in[result] = owner
                others = [reading for reading in self.read.get(result, ()) if reading.node != node]
                if node is not None and len({reading.key for reading in others}) > 1:
                    active = any(reading.gradient for reading in others)
                    self._hub(task.layer, result, node, self._new_node(), active=active)
        program = replace(
            self.program,
            values=tuple(self.values),
            tasks=tuple(self.tasks),
            segments={**self.program.segments, **self.segments},
        )
        return program, _renumbered(self.nodes)

    def _instead(self, operand: int, node: int | None) -> int:
        """What a task of a node reads: the hub's result, but in the node that makes the value."""
        result, maker = self.instead.get(operand, (operand, None))
        return operand if node is not None and node == maker else result

    def _new_node(self) -> int:
        self.count += 1
        return self.count - 1

    def _weights_hub(self, layer: str, value: int) -> None:
        group = self.weights[value]
        if group not in self.groups:
            self.groups[group] = self._new_node()
        result = self._hub(layer, value, None, self.groups[group], axes=self._axes(value), active=True)
        self.made_in[result] = self.groups[group]

    def _hub(
        self, layer: str, value: int, maker: int | None, node: int, *, axes: tuple[int, ...] = (), active: bool
    ) -> int:
        cuts = tuple(Cut((axis,), (axis,)) for axis in range(len(self.values[value].shape)))
        result = len(self.values)
        self.tasks.append(Task(layer, (value,), (result,), cuts, hub=True, axes=axes, gradients=(active,)))
        self.nodes.append(node)
        self.instead[value] = (result, maker)
        self.values.append(replace(self.values[value], argument=None, trained=False, active=active))
        for axis in range(len(cuts)):
            if (own := self.program.segments.get((value, axis))) is not None:
                self.segments[result, axis] = own
        return result

    def _axes(self, value: int) -> tuple[int, ...]:
        """The axes along which readers cut weights, as they come."""
        axes = [axis for reading in self.read.get(value, ()) for axis, _ in reading.layout]
        return tuple(dict.fromkeys(axis for axis in axes if axis is not None))


def _renumbered(nodes: Nodes) -> list[int | None]:
    """Nodes numbered in the order in which their first tasks come."""
    order: dict[int, int] = {}
    return [None if node is None else order.setdefault(node, len(order)) for node in nodes]
