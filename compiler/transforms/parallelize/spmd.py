"""
SPMD partitioning of a forward function over a mesh: one program for all devices, each on its part of the data.

Every operation is rewritten to local types. Where a value is required in another layout, slices, all-to-alls and
all-gathers reshard it, and partial sums are reduced where they are produced. All of these have derivatives, so that
autodiff derives the communication of the backward pass. Constants such as masks and tables are computed in parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from xdsl.dialects.builtin import FunctionType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from npuc.compiler.analysis.sharding.cost.cost_terms import TypeSequence, layout_of, levels_where, rate_of
from npuc.compiler.analysis.sharding.cost.resharding import Layout, Reshard, reshard_steps
from npuc.compiler.analysis.sharding.graph.edges import TYPE_NUMBER, PlanEdges, Reduction
from npuc.compiler.analysis.sharding.graph.layer_groups import PlanGraph
from npuc.compiler.analysis.sharding.graph.placement import Placement
from npuc.compiler.analysis.sharding.graph.tasks import Source, Task
from npuc.compiler.layers.base import Combine, Cut
from npuc.compiler.layers.dropout import dropout_of_part
from npuc.compiler.transforms.parallelize.constants import Constants, layout_of_result, part_of
from npuc.compiler.transforms.parallelize.divisible import check_divides
from npuc.compiler.transforms.parallelize.sharded_values import (
    Local,
    Segments,
    local_type,
    reshard_op,
    scatters,
    with_shardings,
)
from npuc.dialects.blocks import gather, loose_argument
from npuc.dialects.distributed import (
    AddendOp,
    AllReduceOp,
    on_mesh,
)
from npuc.dialects.distributed.mesh import MESH, Mesh, MeshAttr
from npuc.dialects.distributed.sharding import Sharding
from npuc.dialects.provenance import derive
from npuc.dialects.train.arithmetic import AddOp, SubOp
from npuc.dialects.train.base import TrainOp, ints
from npuc.dialects.train.dropout import DropoutOp
from npuc.dialects.train.signature import results_of

OpT = TypeVar("OpT", bound=Operation)


def partition_spmd(func: FuncOp, graph: PlanGraph, edges: PlanEdges, plan: Sequence[TypeSequence], mesh: Mesh) -> None:
    """
    Rewrite a forward function for the devices of a mesh, a type sequence for each layer group; `graph` is that of
    `func`.

    Raises `CapacityError` where an axis that is cut does not divide.
    """
    check_divides(func, graph, plan, mesh)
    SpmdPartitioner(func, graph, edges, plan, mesh).rewrite()


@dataclass
class SpmdPartitioner:
    """The function under construction: what is known of each value by its number."""

    func: FuncOp
    graph: PlanGraph
    edges: PlanEdges
    plan: Sequence[TypeSequence]
    mesh: Mesh
    ops: list[Operation] = field(default_factory=list[Operation])
    local: dict[int, Local] = field(default_factory=dict[int, Local])
    read: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])
    reductions: dict[int, Reduction] = field(default_factory=dict[int, Reduction])
    constants: Constants = field(init=False)

    def __post_init__(self) -> None:
        self.reductions = {own.value: own for own in self.edges.reductions}
        self.constants = Constants(self.mesh, self._emit, self._sliced, self._segments)

    def rewrite(self) -> None:
        """Give the function its new body."""
        block = self.func.body.block
        arguments = [self._argument(number, value) for number, value in enumerate(block.args)]
        sources = iter([op for op in block.ops if not isinstance(op, ReturnOp)])
        last = block.last_op
        assert isinstance(last, ReturnOp)
        numbers: dict[SSAValue, int] = {value: number for number, value in enumerate(block.args)}
        made: dict[int, Operation] = {}
        source = next(sources, None)
        for number, task in enumerate(self.graph.program.tasks):
            if task.reshard_point:
                # the producer of a value stands before its reshard point, the first consumer of weights after it
                beside = made.get(task.operands[0], source)
                operand = self._fetch(number, 0, beside or last)
                layout = self._produced_layout(number, 0)
                self.local[task.results[0]] = Local(operand, layout, self._segments(task.results[0]))
                continue
            assert source is not None
            numbers.update(zip(source.results, task.results, strict=True))
            made.update(dict.fromkeys(task.results, source))
            assert isinstance(source, TrainOp)
            if all(self.graph.program.values[value].source is Source.CONSTANT for value in task.results):
                self.constants.add(task, source)
            else:
                self._do(number, task, source)
            source = next(sources, None)
        self._finish(arguments, last, [numbers[value] for value in last.operands])

    # ---- forms

    def _sequence(self, group: int | None) -> TypeSequence:
        return ("whole",) * len(self.mesh.sizes) if group is None else self.plan[group]

    def _placed_layout(self, placement: Placement) -> Layout:
        return layout_of(placement.produced, self._sequence(placement.group))

    def _cuts(self, number: int) -> list[Cut | None]:
        """The cut of a task at each level."""
        sharding = self.edges.shardings[number]
        return [sharding.cuts[TYPE_NUMBER[type]] for type in self._sequence(sharding.group)]

    def _produced_layout(self, number: int, place: int) -> Layout:
        """The form in which a task makes a result, partial sums reduced or scattered."""
        sharding = self.edges.shardings[number]
        return layout_of(sharding.produced(place), self._sequence(sharding.group))

    def _scattered_levels(self, number: int, place: int) -> tuple[int, ...]:
        """The levels at which devices get parts of the sum of their partial sums, innermost first."""
        sharding = self.edges.shardings[number]
        scattered = layout_of(sharding.scatters(place), self._sequence(sharding.group))
        return tuple(h for h in reversed(self.mesh.levels) if scattered[h] is not None)

    def _segments(self, value: int) -> Segments:
        """The segments of a value's axes."""
        found, rank = self.graph.program.segments, len(self.graph.program.values[value].shape)
        own = tuple(found.get((value, axis), ()) for axis in range(rank))
        return own if any(own) else ()

    # ---- arguments

    def _argument(self, number: int, value: BlockArgument) -> BlockArgument:
        """The argument on a device."""
        layout = self._argument_layout(number)
        argument = loose_argument(local_type(value, layout, self.mesh), value.location, value.name_hint or "")
        self.local[number] = Local(argument, layout, self._segments(number))
        return argument

    def _argument_layout(self, number: int) -> Layout:
        """The layout of an argument's placement; of an input that of its consumers if they agree."""
        placement = self.edges.placements.get(number)
        reads = self.edges.reads_by_value.get(number, ())
        if reads and reads[0].producer is None and placement is not None and placement.group is not None:
            needed = {layout_of(r.required, self._sequence(r.consumer)) for r in reads}
            return needed.pop() if len(needed) == 1 else (None,) * len(self.mesh.sizes)
        return (None,) * len(self.mesh.sizes) if placement is None else self._placed_layout(placement)

    # ---- operations

    def _emit(self, source: Operation, new: OpT) -> OpT:
        self.ops.append(derive(source, new))
        return new

    def _do(self, number: int, task: Task, op: TrainOp) -> None:
        """An operation on a device's parts, and the reductions of its partial sums."""
        cuts = self._cuts(number)
        addends = self._addends(number, task)
        if isinstance(op, DropoutOp):
            new = self._emit(op, self._dropout(number, op, cuts))
        else:
            operands = [self._fetch(number, place, op) for place in range(len(task.operands))]
            if addends and isinstance(op, AddOp | SubOp):
                operands = [
                    value if self._addends_of(own) else self._as_addend(op, value, addends)
                    for own, value in zip(task.operands, operands, strict=True)
                ]
            layouts = [layout_of_result(cuts, place) for place in range(len(op.results))]
            new = self._emit(op, part_of(op, operands, layouts, cuts, self.mesh))
        for place, (value, result) in enumerate(zip(task.results, new.results, strict=True)):
            result.name_hint = op.results[place].name_hint
            deferred = self._deferred_levels(value)
            layout = self._produced_layout(number, place)
            scattered = self._scattered_levels(number, place)
            summed = self._summed(op, result, cuts, place, (*deferred, *scattered))
            for scatter in scatters(self.mesh, summed, layout, scattered):
                summed = self._emit(op, scatter).out
            self.local[value] = Local(summed, layout, self._segments(value), (*addends, *deferred))

    def _dropout(self, number: int, op: DropoutOp, cuts: Sequence[Cut | None]) -> DropoutOp:
        """A dropout of a part; positions along axes that are whole are left out."""
        cut = {own.results[0] for own in cuts if own is not None}
        x, step = self._fetch(number, 0, op), self._fetch(number, 1, op)
        places = {axis: 2 + place for place, axis in enumerate(ints(op.axes)) if axis in cut}
        return dropout_of_part(op, x, step, {axis: self._fetch(number, at, op) for axis, at in places.items()})

    def _addends(self, number: int, task: Task) -> tuple[int, ...]:
        """The levels at which a task works on partial sums whose reduction is deferred to another layer group."""
        found = {
            own for operand in task.operands if (own := self._addends_of(operand)) and self._same_group(operand, number)
        }
        return found.pop() if found else ()

    def _addends_of(self, value: int) -> tuple[int, ...]:
        """The levels at which devices have partial sums of a value."""
        return () if value in self.constants else self.local[value].addends

    def _same_group(self, value: int, task: int) -> bool:
        producer, group_of = self.graph.producer[value], self.graph.group_of
        return producer is not None and group_of[producer] == group_of[task]

    def _deferred_levels(self, value: int) -> tuple[int, ...]:
        """The levels at which the reduction of a value is deferred to another layer group."""
        own = self.reductions.get(value)
        if own is None or own.deferred_to is None:
            return ()
        sequence, consumer = self._sequence(own.group), self._sequence(own.deferred_to)
        takes = levels_where(own.deferred, consumer)
        return tuple(h for h in takes if own.adds[TYPE_NUMBER[sequence[h]]] is not None)

    def _summed(
        self, source: Operation, value: SSAValue, cuts: Sequence[Cut | None], place: int, others: tuple[int, ...]
    ) -> SSAValue:
        """A result with its partial sums reduced, except at other levels, at which that is deferred or a scatter."""
        for how in Combine:
            levels = tuple(
                h for h, cut in enumerate(cuts) if cut is not None and cut.results[place] is how and h not in others
            )
            if levels:
                reduced = on_mesh(
                    AllReduceOp, self.mesh, value, over=levels, **({"mean": True} if how is Combine.MEAN else {})
                )
                value = self._emit(source, reduced).out
        return value

    def _as_addend(self, source: Operation, value: SSAValue, levels: tuple[int, ...]) -> SSAValue:
        return self._emit(source, on_mesh(AddendOp, self.mesh, value, over=levels)).out

    def _fetch(self, number: int, place: int, source: Operation) -> SSAValue:
        """An operand in the layout that a task requires; tasks of a group with the same requirement share it."""
        index = self.edges.read_of[number, place]
        if index not in self.read:
            edge = self.edges.reads[index]
            producer, consumer = self._sequence(edge.producer), self._sequence(edge.consumer)
            reshard = rate_of(edge).reshard(producer, consumer)
            local = self._made(edge.value, reshard.target)
            # an input may be given in the required layout, and partial sums may be taken as they are
            reshard = replace(
                reshard,
                source=local.layout,
                partial_value=tuple(h for h in reshard.partial_value if h not in local.addends),
            )
            self.read[index] = self._resharded(local, reshard, source)
        return self.read[index]

    def _made(self, value: int, layout: Layout) -> Local:
        """A value as a device has it; of what is known before the step the part in that form."""
        if value in self.constants:
            return Local(self.constants.part(value, layout), layout, self._segments(value))
        return self.local[value]

    def _sliced(self, value: SSAValue, layout: Layout, segments: Segments, source: Operation) -> SSAValue:
        """The part in some form of a value that every device has whole."""
        whole: Layout = (None,) * len(layout)
        return self._resharded(Local(value, whole, segments), Reshard(whole, layout), source)

    def _resharded(self, local: Local, reshard: Reshard, source: Operation) -> SSAValue:
        """A value in another form."""
        value, sharding = local.value, local.sharding
        for step in reshard_steps(reshard):
            value = self._emit(source, reshard_op(step, self.mesh, value, sharding)).out
            if step.source is not None or step.target is not None:
                sharding = sharding.without(step.level)
            if step.target is not None:
                sharding = sharding.with_cut(step.target, step.level)
        return value

    # ---- the end

    def _finish(self, arguments: list[BlockArgument], last: ReturnOp, returned: Sequence[int]) -> None:
        """Return what the function returns: the loss whole, new values as their arguments are kept."""
        whole: Layout = (None,) * len(self.mesh.sizes)
        wanted: dict[int, Layout] = {}
        for result in results_of(self.func):
            if result.loss:
                wanted[result.index] = whole
            elif result.updates is not None:
                wanted[result.index] = self.local[result.updates].layout
        values: list[SSAValue] = []
        shardings: list[Sharding] = []
        for index, number in enumerate(returned):
            local = self._made(number, whole)
            layout = wanted.get(index, local.layout)
            source = local.value.owner if isinstance(local.value.owner, Operation) else last
            values.append(self._resharded(local, Reshard(local.layout, layout), source))
            shardings.append(replace(local, layout=layout).sharding)
        argument_shardings = [self.local[number].sharding for number in range(len(arguments))]
        body = gather(arguments, [*self.ops, ReturnOp(*values)])
        self.func.body.detach_block(0)
        self.func.body.add_block(body)
        self.func.function_type = FunctionType.from_lists([a.type for a in arguments], [v.type for v in values])
        self.func.arg_attrs = with_shardings(self.func.arg_attrs, argument_shardings)
        self.func.res_attrs = with_shardings(self.func.res_attrs, shardings)
        self.func.attributes[MESH] = MeshAttr(self.mesh)
