"""
The units of a step's work under one plan: which of them are equal, and each of them as operations of one device.

See `work_units.py`. A gradient starts with the contribution of the last reader in the forward order. All others add
theirs, on the value itself (`x`) or, where the value moves to its readers first, on what they get (`y`).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from npuc.compiler.analysis.sharding.cost.cost_terms import TypeSequence, layout_of, rate_of
from npuc.compiler.analysis.sharding.cost.resharding import Layout
from npuc.compiler.transforms.parallelize.constants import Constants
from npuc.compiler.transforms.parallelize.sharded_values import Local, local_type
from npuc.compiler.transforms.parallelize.spmd import OpT, SpmdPartitioner
from npuc.compiler.transforms.parallelize.unit_work import UnitWork
from npuc.compiler.transforms.parallelize.work_units import Units
from npuc.dialects.blocks import loose_argument
from npuc.dialects.distributed.mesh import Mesh
from npuc.dialects.provenance import derive
from npuc.dialects.train.base import TrainOp


@dataclass(frozen=True)
class Given:
    """A value as a component finds it: the number of the value that holds it, its layout, and deferred sums."""

    root: int
    layout: Layout
    addends: tuple[int, ...] = ()


class UnitPartitioner(SpmdPartitioner):
    """Components under a plan, and one at a time as operations."""

    def __init__(self, units: Units, plan: Sequence[TypeSequence], mesh: Mesh):
        super().__init__(units.func, units.graph, units.edges, plan, mesh)
        self.units = units
        self.name = ""
        self.number = 0
        self.own: frozenset[Operation] = frozenset()
        self.work = UnitWork([])
        self._given: dict[int, Given] = {}
        self._moves: dict[int, bool] = {}
        producers = [
            (task, op)
            for task, op in zip(self.graph.program.tasks, units.ops, strict=True)
            if isinstance(op, TrainOp) and all(map(units.is_constant, task.results))
        ]
        self.of_constants = {value: (task, op) for task, op in producers for value in task.results}

    # ---- what is known of values

    def given(self, value: int) -> Given:
        """A value as others find it."""
        if value not in self._given:
            self._given[value] = self._found(value)
        return self._given[value]

    def _found(self, value: int) -> Given:
        producer = self.graph.producer[value]
        if producer is None:
            return Given(value, self._argument_layout(value))
        task = self.graph.program.tasks[producer]
        layout = self._produced_layout(producer, task.results.index(value))
        if task.reshard_point:
            moves = self.moves(self.edges.read_of[producer, 0])
            return Given(value if moves else self.given(task.operands[0]).root, layout)
        own = {
            addends
            for operand in task.operands
            if not self.units.is_constant(operand)
            and self._same_group(operand, producer)
            and (addends := self.given(operand).addends)
        }
        return Given(value, layout, (*(own.pop() if own else ()), *self._deferred_levels(value)))

    def moves(self, edge: int) -> bool:
        """Whether a value is brought into another layout where it is read by an edge."""
        if edge not in self._moves:
            own = self.edges.reads[edge]
            local = self.given(own.value)
            sides = self._sequence(own.producer), self._sequence(own.consumer)
            self._moves[edge] = self.units.edge_moves.moves(edge, *sides, local.layout, local.addends)
        return self._moves[edge]

    @cached_property
    def last(self) -> dict[int, int]:
        """The component whose contribution to the gradient of a value is the first; of a reshard point -1 less it."""
        latest: dict[int, tuple[int, int]] = {}
        units = self.units
        for value, reads in units.reads_of.items():
            root = self.given(value).root
            for task, _, edge in reads:
                if units.ops[task] is None:
                    if not self.moves(edge):
                        continue
                    entry = task, -1 - task
                elif self.moves(edge):
                    first = units.first_read[edge]
                    entry = first, units.component_of[first]
                else:
                    entry = task, units.component_of[task]
                latest[root] = max(latest.get(root, entry), entry)
        return {root: owner for root, (_, owner) in latest.items()}

    @cached_property
    def begun(self) -> frozenset[int]:
        """The values whose gradient is known before the step, with none that move on their way to their readers."""
        return frozenset(
            value
            for value in self.units.constant_gradients
            if not any(self.moves(edge) for _, _, edge in self.units.reads_of.get(value, ()))
        )

    def local_shape(self, value: int, layout: Layout) -> tuple[int, ...]:
        """The shape of a device's part of a value."""
        return self._part(value, layout).get_shape()

    def part_of_argument(self, number: int) -> TensorType[Attribute]:
        """The type of a device's part of an argument."""
        return self._part(number, self.given(number).layout)

    def _part(self, value: int, layout: Layout) -> TensorType[Attribute]:
        return local_type(self.units.values[value], layout, self.mesh)

    def _is_begun(self, root: int, component: int) -> bool:
        return self.last.get(root, component) != component

    # ---- equal components

    def key(self, number: int) -> Hashable:
        """A key of a component that is equal for those that take equal time."""
        units, component = self.units, self.units.components[number]
        return (
            units.kinds[number],
            self._sequence(component.group),
            tuple(self._outside_key(number, value) for value in units.outside[number]),
            tuple(
                (self._is_begun(self.given(value).root, number), value in self.begun)
                for value in units.read_outside[number]
            ),
        )

    def _outside_key(self, number: int, value: int) -> Hashable:
        given = self.given(value)
        begun = self._is_begun(given.root, number)
        edges = tuple(self._edge_key(number, edge) for edge in self.units.edges_to[number, value])
        added = begun and any(edge is not None and edge[0] for edge in edges)
        return begun, edges, self.local_shape(value, given.layout) if added else None, value in self.begun

    def _edge_key(self, number: int, edge: int) -> tuple[bool, bool] | None:
        """None where the value does not move, else whether it does so here, and whether others add before."""
        units = self.units
        if not self.moves(edge):
            return None
        last = units.last_read.get(edge)
        return units.component_of[units.first_read[edge]] == number, (
            last is not None and units.component_of[last] != number
        )

    def additions(self) -> list[tuple[int | None, TensorType[Attribute]]]:
        """Additions of gradients where a reshard point moves a value that others read, too: layer group and type."""
        found: list[tuple[int | None, TensorType[Attribute]]] = []
        for point, beside in self.units.beside.items():
            task, edge = self.graph.program.tasks[point], self.edges.read_of[point, 0]
            (value,) = task.operands
            if not task.gradients[0] or beside is None or not self.moves(edge):
                continue
            given = self.given(value)
            if self.last.get(given.root) != -1 - point:
                found.append((self.graph.group_of[beside], self._part(value, given.layout)))
        return found

    # ---- as operations

    def build(self, number: int, name: str) -> UnitWork:
        """A component's operations, in the layer `name`."""
        component = self.units.components[number]
        self._start(name, number)
        self.own = frozenset(op for task in component.tasks if (op := self.units.ops[task]) is not None)
        for task in component.tasks:
            op = self.units.ops[task]
            assert isinstance(op, TrainOp)
            self._do(task, self.graph.program.tasks[task], op)
        units, work = self.units, self.work
        for value in units.outside[number]:
            if value in self.local:
                self._note_outside(number, value)
        for value in units.read_outside[number]:
            result = self.local[value].value
            work.read.append(result)
            if self._is_begun(self.given(value).root, number):
                work.gradients.append((result, value in self.begun))
            if value == units.loss:
                work.loss = result
        return work

    def constants_unit(self, name: str) -> UnitWork:
        """All that is known before the step, in the layouts in which it is read."""
        self._start(name, -1)
        for index in dict.fromkeys(self.edges.read_of.values()):
            edge = self.edges.reads[index]
            if edge.value in self.of_constants:
                reshard = rate_of(edge).reshard(self._sequence(edge.producer), self._sequence(edge.consumer))
                self.work.read.append(self.constants.part(edge.value, reshard.target))
        return self.work

    def _start(self, name: str, number: int) -> None:
        self.name, self.number = name, number
        self.ops, self.local, self.read = [], {}, {}
        self.constants = Constants(self.mesh, self._emit, self._sliced, self._segments)
        self.constants.producers = self.of_constants
        self.work = UnitWork(self.ops)

    def _note_outside(self, number: int, value: int) -> None:
        """What the backward pass is to know of a value that a component is given."""
        units, work = self.units, self.work
        root = self.given(value).root
        held = [(self.local[value].value, self._is_begun(root, number))]
        for edge in units.edges_to[number, value]:
            known = self._edge_key(number, edge)
            if known is not None and edge in self.read:
                held.append((self.read[edge], known[1]))
        for place, (own, begun) in enumerate(held):
            if begun and all(own is not other for other, _ in work.gradients):
                work.gradients.append((own, value in self.begun and not place))
            self._note_argument(value, own)

    def _note_argument(self, value: int, local: SSAValue) -> None:
        if isinstance(local, BlockArgument):
            self.work.active += [local] * (value in self.units.active)
            self.work.fed += [local] * (value in self.units.fed)
            self.work.wanted += [local] * self.graph.program.values[value].active

    def _emit(self, source: Operation, new: OpT) -> OpT:
        derive(source, new)
        new.attributes["layer"] = StringAttr(self.name if self.number < 0 or source in self.own else "")
        self.ops.append(new)
        return new

    def _made(self, value: int, layout: Layout) -> Local:
        self._know(value)
        return super()._made(value, layout)

    def _addends_of(self, value: int) -> tuple[int, ...]:
        self._know(value)
        return super()._addends_of(value)

    def _know(self, value: int) -> None:
        """Make an argument of a value that others make."""
        if value in self.local or value in self.constants:
            return
        producer = self.graph.producer[value]
        if producer in self.units.views and self.units.component_of[producer] != self.number:
            # what reads a view may look through it
            task, op = self.graph.program.tasks[producer], self.units.ops[producer]
            assert isinstance(op, TrainOp)
            self._do(producer, task, op)
            self._note_argument(task.operands[0], self.ops[-1].operands[0])
            return
        given = self.given(value)
        if given.root != value and given.root in self.local:
            argument = self.local[given.root].value
        else:
            argument = self._argument_for(value, given.layout)
            if given.root != value:
                self.local[given.root] = Local(argument, given.layout, self._segments(given.root))
        self.local[value] = Local(argument, given.layout, self._segments(value), given.addends)

    def _argument_for(self, value: int, layout: Layout) -> BlockArgument:
        argument = loose_argument(self._part(value, layout), self.func.location, "")
        self.work.arguments.append(argument)
        return argument

    def _fetch(self, number: int, place: int, source: Operation) -> SSAValue:
        index = self.edges.read_of[number, place]
        edge = self.edges.reads[index]
        if index not in self.read and edge.value not in self.constants and self._is_moved_elsewhere(index):
            target = layout_of(edge.required, self._sequence(edge.consumer))
            self._know(edge.value)
            self.read[index] = self._argument_for(edge.value, target)
        return super()._fetch(number, place, source)

    def _is_moved_elsewhere(self, edge: int) -> bool:
        first = self.units.first_read[edge]
        return self.units.component_of.get(first) != self.number and self.moves(edge)
