"""
Values that are read in several ways, brought into one form for all readers: their hubs.

A value of the network has a hub if several other nodes read it, or one in different forms; so have weights. Of weights
that are read by way of work on themselves alone (a slice of a table of positions) the hub is of what takes least: of
the parts, where these are less together than the whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from npuc.compiler.analysis.parallel.program import Program, Source, Task
from npuc.compiler.analysis.parallel.ways import WAYS, Cuttings, cuttings
from npuc.compiler.layers.base import Cut

Nodes = Sequence[int | None]


def with_hubs(program: Program, node_of: Nodes) -> tuple[Program, list[int | None]]:
    """
    The program with hubs, each a node, and the node of each task; readers of what has a hub read the hub's result.

    Work on weights that have a hub, and on nothing else that has a gradient, belongs to the hub's node.
    """
    read = _readings(program, node_of, cuttings(program))
    weights = _hubs_of_weights(program, node_of, read)
    return _Writer(program, node_of, read, weights).write()


@dataclass(frozen=True)
class _Reading:
    """That a task of a node reads a value: the axes by way that it needs cut, and whether its work is cut."""

    task: int
    node: int
    form: tuple[tuple[int | None, bool], ...]

    @property
    def way(self) -> tuple[object, ...]:
        """What readings have in common that are one movement."""
        return self.node, self.form


def _readings(program: Program, node_of: Nodes, cut: Cuttings) -> dict[int, list[_Reading]]:
    """The readings of each value by tasks of nodes."""
    found: dict[int, list[_Reading]] = {}
    for number, (task, node) in enumerate(zip(program.tasks, node_of, strict=True)):
        chosen = [cut.cut_of[way][number] for way in WAYS]
        for place, operand in enumerate(task.operands):
            if node is not None:
                axes = [None if own is None else task.cuts[own].operands[place] for own in chosen]
                form = tuple((axis, own is not None) for axis, own in zip(axes, chosen, strict=True))
                found.setdefault(operand, []).append(_Reading(number, node, form))
    return found


def _hubs_of_weights(program: Program, node_of: Nodes, read: dict[int, list[_Reading]]) -> set[int]:
    """The weights, and values computed from them alone, that have hubs."""
    below: dict[int, list[int]] = {}
    for task, node in zip(program.tasks, node_of, strict=True):
        alone = _only_active(program, task) if node is None else None
        if alone is not None:
            below.setdefault(alone, []).extend(task.results)
    least: dict[int, int] = {}
    found: set[int] = set()
    for value in reversed(range(len(program.values))):
        own = program.values[value]
        if own.source is Source.DATA or not own.active:
            continue
        ways = {reading.way for reading in read.get(value, ())}
        parts = [least[result] for result in below.get(value, ()) if least.get(result)]
        # what is read itself is summed as a whole, and what is computed from it with it
        together = bool(ways) or (len(parts) > 1 and own.elements <= sum(parts))
        least[value] = own.elements if together else min(own.elements, sum(parts))
        if together and len(ways) + len(parts) > 1:
            found.add(value)
    return found


def _only_active(program: Program, task: Task) -> int | None:
    """The one operand of a task that has a gradient."""
    active = {operand for operand in task.operands if program.values[operand].active}
    return active.pop() if len(active) == 1 else None


class _Writer:
    """The tasks with hubs between them."""

    def __init__(self, program: Program, node_of: Nodes, read: dict[int, list[_Reading]], weights: set[int]):
        self.program = program
        self.node_of = node_of
        self.read = read
        self.weights = weights
        self.values = list(program.values)
        self.tasks: list[Task] = []
        self.nodes: list[int | None] = []
        self.count = max((node for node in node_of if node is not None), default=-1) + 1
        self.instead: dict[int, tuple[int, int | None]] = {}
        self.made_in: dict[int, int] = {}

    def write(self) -> tuple[Program, list[int | None]]:
        for task, node in zip(self.program.tasks, self.node_of, strict=True):
            alone = _only_active(self.program, task) if node is None else None
            for operand in dict.fromkeys(task.operands):
                if operand in self.weights and operand not in self.instead and (node is not None or operand == alone):
                    self._hub(task.layer, operand, None, self._axes(operand))
            operands = tuple(
                operand if node is None and operand != alone else self._instead(operand, node)
                for operand in task.operands
            )
            owner = node if alone is None else self.made_in.get(self._instead(alone, None))
            self.tasks.append(replace(task, operands=operands))
            self.nodes.append(owner)
            for result in task.results:
                if alone is not None and owner is not None:
                    self.made_in[result] = owner
                others = {reading.way for reading in self.read.get(result, ()) if reading.node != node}
                if node is not None and len(others) > 1:
                    self._hub(task.layer, result, node, ())
        program = replace(self.program, values=tuple(self.values), tasks=tuple(self.tasks))
        return program, _renumbered(self.nodes)

    def _instead(self, operand: int, node: int | None) -> int:
        """What a task of a node reads: the hub's result, but in the node that makes the value."""
        result, maker = self.instead.get(operand, (operand, None))
        return operand if node is not None and node == maker else result

    def _hub(self, layer: str, value: int, maker: int | None, axes: tuple[int, ...]) -> None:
        rank = len(self.values[value].shape)
        cuts = tuple(Cut((axis,), (axis,)) for axis in range(rank))
        result = len(self.values)
        self.tasks.append(Task(layer, (value,), (result,), cuts, hub=True, axes=axes))
        self.nodes.append(self.count)
        self.instead[value] = (result, maker)
        self.made_in[result] = self.count
        self.values.append(replace(self.values[value], argument=None))
        self.count += 1

    def _axes(self, value: int) -> tuple[int, ...]:
        """The axes along which readers cut weights, as they come."""
        axes = [axis for reading in self.read.get(value, ()) for axis, _ in reading.form]
        return tuple(dict.fromkeys(axis for axis in axes if axis is not None))


def _renumbered(nodes: Nodes) -> list[int | None]:
    """Nodes numbered in the order in which their first tasks come."""
    order: dict[int, int] = {}
    return [None if node is None else order.setdefault(node, len(order)) for node in nodes]
