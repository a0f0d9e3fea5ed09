"""
The choices that a network leaves: nodes for layers with weights, for joins, and for values that several read.

What follows a layer (its bias, activation, pooling) is shared as the layer's output is, so it belongs to the layer's
node. Work that takes values of several nodes (the addition of a residual connection, the product of attention) is a
node of its own, and so is a value that several nodes read: it may be brought into one form for all of them. Layers that
use the same weights are one node.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from npuc.compiler.analysis.parallel.chain import Kind
from npuc.compiler.analysis.parallel.program import Program, Source, Task
from npuc.compiler.analysis.parallel.ways import WAYS, Cuttings, Way, cuttings
from npuc.compiler.layers.base import Cut


@dataclass(frozen=True)
class Node:
    """A choice: the name and kind of the layer (kind None: no weights), the tasks, and the ways there are."""

    name: str
    kind: Kind | None
    tasks: tuple[int, ...]
    ways: tuple[Way, ...]


@dataclass(frozen=True)
class Network:
    """
    A program with hubs, its cuts, and its nodes.

    `node_of` is the node of each task; None where work depends on no data and every device does it whole. `maker` is
    the task that makes a value; None for arguments.
    """

    program: Program
    cuttings: Cuttings
    nodes: tuple[Node, ...]
    node_of: tuple[int | None, ...]
    maker: tuple[int | None, ...]


def network_of(program: Program) -> Network:
    """The nodes of a program."""
    node_of = _group(program)
    program, node_of = _with_hubs(program, node_of)
    cut = cuttings(program)
    count = max((number for number in node_of if number is not None), default=-1) + 1
    tasks: list[list[int]] = [[] for _ in range(count)]
    for number, node in enumerate(node_of):
        if node is not None:
            tasks[node].append(number)
    maker: list[int | None] = [None] * len(program.values)
    for number, task in enumerate(program.tasks):
        for result in task.results:
            maker[result] = number
    nodes = tuple(_node(program, cut, tuple(own)) for own in tasks)
    return Network(program, cut, nodes, tuple(node_of), tuple(maker))


def _group(program: Program) -> list[int | None]:
    """The node of each task: numbers in the order in which their first tasks come."""
    made_in: dict[int, int] = {}
    by_weight: dict[int, int] = {}
    roots: dict[int, int] = {}
    found: list[int | None] = []
    count = 0
    for task in program.tasks:
        before = {made_in[operand] for operand in task.operands if operand in made_in}
        node: int | None = None
        if task.weight is not None:
            weight = task.operands[task.weight]
            node = by_weight.setdefault(roots.get(weight, weight), count)
        elif len(before) == 1:
            (node,) = before
        elif any(program.values[operand].source is Source.DATA for operand in task.operands):
            node = count
        if node is not None:
            count = max(count, node + 1)
            made_in.update((result, node) for result in task.results)
        elif task.operands:
            first = task.operands[0]
            roots.update((result, roots.get(first, first)) for result in task.results)
        found.append(node)
    return found


def _with_hubs(program: Program, node_of: list[int | None]) -> tuple[Program, list[int | None]]:
    """A hub behind every task whose result several other nodes read; those then read the hub's result."""
    readers: dict[int, set[int]] = {}
    passed: dict[int, set[int]] = {}
    for task, node in zip(program.tasks, node_of, strict=True):
        for operand, has_gradient in zip(task.operands, task.gradients, strict=True):
            if node is not None:
                readers.setdefault(operand, set()).add(node)
                if has_gradient:
                    passed.setdefault(operand, set()).add(node)
    values, tasks, nodes = list(program.values), list[Task](), list[int | None]()
    count = max((number for number in node_of if number is not None), default=-1) + 1
    instead: dict[int, tuple[int, int]] = {}
    for task, node in zip(program.tasks, node_of, strict=True):
        operands = tuple(
            instead[o][0] if o in instead and node is not None and node != instead[o][1] else o for o in task.operands
        )
        tasks.append(replace(task, operands=operands))
        nodes.append(node)
        for result in task.results if node is not None else ():
            if len(readers.get(result, set()) - {node}) > 1:
                assert node is not None
                through = passed.get(result, set()) - {node}
                tasks.append(_hub(task.layer, result, len(values), len(values[result].shape), active=bool(through)))
                nodes.append(count)
                instead[result] = (len(values), node)
                values.append(replace(values[result], active=bool(through)))
                count += 1
    return Program(tuple(values), tuple(tasks)), _renumbered(nodes)


def _hub(layer: str, value: int, result: int, rank: int, *, active: bool) -> Task:
    cuts = tuple(Cut((axis,), (axis,)) for axis in range(rank))
    return Task(layer, (value,), (result,), cuts, hub=True, gradients=(active,))


def _renumbered(nodes: list[int | None]) -> list[int | None]:
    """Nodes numbered in the order in which their first tasks come."""
    order: dict[int, int] = {}
    return [None if node is None else order.setdefault(node, len(order)) for node in nodes]


def _node(program: Program, cut: Cuttings, tasks: tuple[int, ...]) -> Node:
    first = program.tasks[tasks[0]]
    weighted = next((program.tasks[number] for number in tasks if program.tasks[number].kind is not None), None)
    if weighted is not None:
        return Node(weighted.layer, weighted.kind, tasks, WAYS[:3])
    channels = cut.cut_of["III"][tasks[0]] is not None
    name = f"{first.layer} (for all readers)" if first.hub else first.layer
    return Node(name, None, tasks, ("I", "III", "whole") if channels else ("I", "whole"))
