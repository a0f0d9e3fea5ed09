"""
The work of a partitioned step in units, of which equal ones take equal time.

    component   the tasks of one layer group that hand values to each other, with their part of the backward pass
    update      the optimizer's work on one parameter
    addition    of gradients that meet before they move between devices
    constant    what is known before the step, in one layout

A component needs to know of its neighbours only which values it is given, in which layout, and where it adds its
contribution to a gradient that others contributed to before: the last in the forward order is the first to contribute,
and each later one adds. Two components whose tasks, cuts, and these facts are equal (`UnitKey`) are one piece of work.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from npuc.compiler.analysis.sharding.graph.edges import PlanEdges
from npuc.compiler.analysis.sharding.graph.layer_groups import PlanGraph
from npuc.compiler.analysis.sharding.graph.tasks import Source, TaskGraph
from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Kind
from npuc.compiler.transforms.autodiff.constant_gradients import constant_gradients
from npuc.compiler.transforms.parallelize.edge_moves import EdgeMoves
from npuc.dialects.provenance import role_of
from npuc.dialects.tensors import is_float
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.signature import ArgumentKind, arguments_of, results_of

_OF_PLACE = ("layer",)
"""Attributes of an operation that say where it is, not what it does."""


@dataclass(frozen=True)
class Component:
    """Tasks of a layer group (None: of none) that hand values to each other, in their order."""

    group: int | None
    tasks: tuple[int, ...]


class Units:
    """What is known of the components of a function before anything is shared among devices."""

    def __init__(self, func: FuncOp, graph: PlanGraph, edges: PlanEdges):
        self.func, self.graph, self.edges, self.edge_moves = func, graph, edges, EdgeMoves(edges)
        self.program: TaskGraph = graph.program
        own = iter([op for op in func.body.block.ops if not isinstance(op, ReturnOp)])
        self.ops: list[Operation | None] = [None if task.reshard_point else next(own) for task in self.program.tasks]
        self.values: dict[int, SSAValue] = dict(enumerate(func.body.block.args))
        for task, op in zip(self.program.tasks, self.ops, strict=True):
            if op is not None:
                self.values.update(zip(task.results, op.results, strict=True))
        for task in (task for task in self.program.tasks if task.reshard_point):
            self.values[task.results[0]] = self.values[task.operands[0]]

    def is_constant(self, value: int) -> bool:
        """Whether a value depends on no argument."""
        return self.program.values[value].source is Source.CONSTANT

    @cached_property
    def components(self) -> tuple[Component, ...]:
        """All components, in the order of their last tasks."""
        group_of, root = self.graph.group_of, list(range(len(self.program.tasks)))

        def first(number: int) -> int:
            while root[number] != number:
                root[number] = root[root[number]]
                number = root[number]
            return number

        members = [n for n, op in enumerate(self.ops) if op is not None and not self._is_before_the_step(n)]
        for number in members:
            for operand in self.program.tasks[number].operands:
                producer = self.graph.producer[operand]
                if producer is None or self.is_constant(operand) or self.ops[producer] is None:
                    continue
                if group_of[producer] == group_of[number]:
                    root[first(number)] = first(producer)
        found: dict[int, list[int]] = {}
        for number in members:
            found.setdefault(first(number), []).append(number)
        own = sorted(found.values(), key=lambda tasks: tasks[-1])
        return tuple(Component(group_of[tasks[0]], tuple(tasks)) for tasks in own)

    def _is_before_the_step(self, task: int) -> bool:
        return all(self.is_constant(value) for value in self.program.tasks[task].results)

    @cached_property
    def component_of(self) -> Mapping[int, int]:
        """The component of a task by its number; reshard points and constants have none."""
        return {task: number for number, own in enumerate(self.components) for task in own.tasks}

    @cached_property
    def views(self) -> frozenset[int]:
        """Tasks of no layer group that give a parameter, or what is computed of some, another shape."""
        return frozenset(
            number
            for number, (op, group) in enumerate(zip(self.ops, self.graph.group_of, strict=True))
            if isinstance(op, TrainOp) and group is None and number in self.component_of
            if get_layer(op).kind is Kind.VIEW and len(op.operands) == 1
        )

    @cached_property
    def beside(self) -> Mapping[int, int | None]:
        """The task of the operation beside which a reshard point stands: the value's producer, or the next one."""
        found: dict[int, int | None] = {}
        following: int | None = None
        for number in reversed(range(len(self.ops))):
            if self.ops[number] is not None:
                following = number
                continue
            producer = self.graph.producer[self.program.tasks[number].operands[0]]
            made = producer if producer is not None and self.ops[producer] is not None else None
            found[number] = following if made is None else made
        return found

    @cached_property
    def reads_of(self) -> Mapping[int, tuple[tuple[int, int, int], ...]]:
        """The reads of a value with a gradient: task, operand and edge, in the order of tasks."""
        found: dict[int, list[tuple[int, int, int]]] = {}
        for number, task in enumerate(self.program.tasks):
            for place, (operand, has) in enumerate(zip(task.operands, task.gradients, strict=True)):
                if has:
                    found.setdefault(operand, []).append((number, place, self.edges.read_of[number, place]))
        return {value: tuple(own) for value, own in found.items()}

    @cached_property
    def first_read(self) -> Mapping[int, int]:
        """The first task that reads by an edge, with or without a gradient."""
        found: dict[int, int] = {}
        for (number, _), index in sorted(self.edges.read_of.items()):
            found.setdefault(index, number)
        return found

    @cached_property
    def last_read(self) -> Mapping[int, int]:
        """The last task with a gradient that reads by an edge."""
        return {edge: number for reads in self.reads_of.values() for number, _, edge in reads}

    @cached_property
    def loss(self) -> int | None:
        """The number of the loss, if the function has one."""
        last = self.func.body.block.last_op
        number_of = {value: number for number, value in reversed(self.values.items())}
        losses = [result.index for result in results_of(self.func) if result.loss]
        return number_of[last.operands[losses[0]]] if losses and last is not None else None

    @cached_property
    def trained(self) -> frozenset[int]:
        """The arguments that are trained parameters."""
        return frozenset(
            a.index
            for a in arguments_of(self.func)
            if a.kind is ArgumentKind.PARAM and not a.frozen and is_float(self.values[a.index])
        )

    @cached_property
    def active(self) -> frozenset[int]:
        """The values that depend on trained parameters by floats alone."""
        return self._reached(self.trained)

    @cached_property
    def fed(self) -> frozenset[int]:
        """The values that depend on inputs by floats alone."""
        return self._reached(frozenset(a.index for a in arguments_of(self.func) if a.kind is ArgumentKind.INPUT))

    def _reached(self, seeds: frozenset[int]) -> frozenset[int]:
        found = set(seeds)
        for task in self.program.tasks:
            if not found.isdisjoint(task.operands):
                found.update(value for value in task.results if is_float(self.values[value]))
        return frozenset(found)

    @cached_property
    def constant_gradients(self) -> frozenset[int]:
        """The scalars whose gradient is known before the step: the loss, and what only sums lead from to it."""
        if self.loss is None or not self.program.trains:
            return frozenset()
        numbers = {value: number for number, value in reversed(self.values.items())}
        ops = [op for op in self.ops if op is not None]
        return frozenset(numbers[value] for value in constant_gradients(ops, self.values[self.loss]))

    # ---- equal components

    @cached_property
    def kinds(self) -> Sequence[int]:
        """A number for each component that is equal for those whose tasks, cuts and reads are equal."""
        known: dict[Hashable, int] = {}
        return [known.setdefault(self._kind(own), len(known)) for own in self.components]

    def _kind(self, component: Component) -> Hashable:
        inside = {value: n for n, value in enumerate(self._made(component))}
        outside: dict[int, int] = {}
        return tuple(
            (
                *self._operation(number),
                self.edges.shardings[number].cuts,
                self.edges.shardings[number].scattered,
                self.program.tasks[number].gradients,
                tuple(
                    self._operand(number, place, operand, inside, outside)
                    for place, operand in enumerate(self.program.tasks[number].operands)
                ),
                tuple(self._result(component, value) for value in self.program.tasks[number].results),
            )
            for number in component.tasks
        )

    def _made(self, component: Component) -> list[int]:
        return [value for number in component.tasks for value in self.program.tasks[number].results]

    def _operation(self, number: int) -> tuple[Hashable, ...]:
        op = self.ops[number]
        assert op is not None
        attributes = tuple(sorted((k, hash(v), v) for k, v in op.attributes.items() if k not in _OF_PLACE))
        properties = tuple(sorted((k, hash(v), v) for k, v in op.properties.items()))
        return op.name, role_of(op), attributes, properties, tuple(op.result_types)

    def _operand(
        self, number: int, place: int, value: int, inside: Mapping[int, int], outside: dict[int, int]
    ) -> Hashable:
        edge = self.edges.reads[self.edges.read_of[number, place]]
        if value in inside:
            # whether it moves depends on its own edge alone
            return ("inside", inside[value], replace(edge, value=0, producer=0, consumer=0))
        segments = self._segments(value)
        if self.is_constant(value):
            return ("constant", self._constant(value), edge.required, segments)
        own = self.program.values[value]
        producer = self.graph.producer[value]
        view = self._operation(producer) if producer is not None and producer in self.views else None
        known = (
            view,
            self.values[value].type,
            value in self.active,
            value in self.fed,
            own.source,
            own.argument,
            own.active,
        )
        return ("outside", outside.setdefault(value, len(outside)), *known, edge.required, segments)

    def _constant(self, value: int) -> Hashable:
        producer = self.graph.producer[value]
        if producer is None or self.ops[producer] is None:
            return self.values[value].type
        task = self.program.tasks[producer]
        return (
            *self._operation(producer),
            task.results.index(value),
            *(self._constant(operand) for operand in task.operands),
        )

    def _result(self, component: Component, value: int) -> Hashable:
        return (
            self._segments(value),
            value == self.loss,
            self.is_read_outside(component, value),
            value in self.constant_gradients,
            self.program.values[value].active,
        )

    def _segments(self, value: int) -> Hashable:
        found, rank = self.program.segments, len(self.program.values[value].shape)
        return tuple(found.get((value, axis), ()) for axis in range(rank)) if found else ()

    @cached_property
    def readers(self) -> Mapping[int, frozenset[int]]:
        """The tasks that read each value."""
        found: dict[int, set[int]] = {}
        for number, task in enumerate(self.program.tasks):
            for operand in task.operands:
                found.setdefault(operand, set()).add(number)
        return {value: frozenset(own) for value, own in found.items()}

    def is_read_outside(self, component: Component, value: int) -> bool:
        """Whether a result is read by others than its component, or returned."""
        return value in self.program.returned or not self.readers.get(value, frozenset()) <= set(component.tasks)

    @cached_property
    def read_outside(self) -> Sequence[tuple[int, ...]]:
        """The results of each component that others read, or that are returned."""
        return [tuple(v for v in self._made(own) if self.is_read_outside(own, v)) for own in self.components]

    @cached_property
    def outside(self) -> Sequence[tuple[int, ...]]:
        """The values that each component is given, constants left out, in the order in which it reads them."""
        found: list[tuple[int, ...]] = []
        for own in self.components:
            inside = set(self._made(own))
            read = dict.fromkeys(value for number in own.tasks for value in self.program.tasks[number].operands)
            found.append(tuple(v for v in read if v not in inside and not self.is_constant(v)))
        return found

    @cached_property
    def edges_to(self) -> Mapping[tuple[int, int], tuple[int, ...]]:
        """The edges by which a component reads a value, by the numbers of the two."""
        found: dict[tuple[int, int], dict[int, None]] = {}
        for component, own in enumerate(self.components):
            for number in own.tasks:
                for place, operand in enumerate(self.program.tasks[number].operands):
                    edge = self.edges.read_of[number, place]
                    found.setdefault((component, operand), {})[edge] = None
        return {key: tuple(edges) for key, edges in found.items()}
