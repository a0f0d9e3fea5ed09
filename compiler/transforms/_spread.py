"""
Spreading a forward function over a mesh: the same program on each device's part, with the movement between devices.

Every operation becomes itself on local types; where a value is needed in another form, slices, all-to-alls and
all-gathers bring it there, and addends are summed where they are made. All of it has derivatives, so that autodiff
makes the movement of the backward pass. Of what is known before the step, masks and tables, a device makes its part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from npuc.compiler.analysis.parallel.flows import Flows, Home
from npuc.compiler.analysis.parallel.moves import Form, Move, moves
from npuc.compiler.analysis.parallel.nodes import Network
from npuc.compiler.analysis.parallel.program import Source, Task
from npuc.compiler.analysis.parallel.terms import Pattern, form_of, shared_levels
from npuc.compiler.layers.base import Combine, Cut
from npuc.compiler.layers.dropout import dropout_of_part
from npuc.compiler.transforms._constants import Constants, form_of_result, part_of, sharding_of
from npuc.compiler.transforms._divides import check_divides
from npuc.compiler.transforms._gradient_casts import sum_in_own_type
from npuc.dialects.blocks import gather, loose_argument
from npuc.dialects.dist.collective import AllGatherOp, AllReduceOp, AllToAllOp, CopyOp, DistOp, SliceOp, on_mesh
from npuc.dialects.dist.mesh import MESH, Mesh, MeshAttr
from npuc.dialects.dist.sharding import SHARDING, Sharding, ShardingAttr
from npuc.dialects.provenance import derive
from npuc.dialects.tensors import tensor_of, tensor_type
from npuc.dialects.train.base import TrainOp, ints
from npuc.dialects.train.dropout import DropoutOp
from npuc.dialects.train.signature import results_of

OpT = TypeVar("OpT", bound=Operation)


def spread(func: FuncOp, network: Network, flows: Flows, plan: Sequence[Pattern], mesh: Mesh) -> None:
    """
    Rewrite a forward function for the devices of a mesh, a pattern for each node; `network` is that of `func`.

    Raises `CapacityError` where an axis that is cut does not divide.
    """
    check_divides(func, network, plan, mesh)
    _Spreading(func, network, flows, plan, mesh).rewrite()
    sum_in_own_type(func)


@dataclass
class _Local:
    """A value on a device, and its form."""

    value: SSAValue
    form: Form


@dataclass
class _Spreading:
    """The function under construction: what is known of each value by its number."""

    func: FuncOp
    network: Network
    flows: Flows
    plan: Sequence[Pattern]
    mesh: Mesh
    ops: list[Operation] = field(default_factory=list[Operation])
    local: dict[int, _Local] = field(default_factory=dict[int, _Local])
    read: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])
    constants: Constants = field(init=False)

    def __post_init__(self) -> None:
        self.constants = Constants(self.mesh, self._emit, self._sliced)

    def rewrite(self) -> None:
        block = self.func.body.block
        arguments = [self._argument(number, value) for number, value in enumerate(block.args)]
        sources = iter([op for op in block.ops if not isinstance(op, ReturnOp)])
        last = block.last_op
        assert isinstance(last, ReturnOp)
        numbers: dict[SSAValue, int] = {value: number for number, value in enumerate(block.args)}
        source: Operation = last
        for number, task in enumerate(self.network.program.tasks):
            if task.hub:
                operand = self._fetch(number, 0, source)
                self.local[task.results[0]] = _Local(operand, self._form_made(number, task, 0))
                continue
            source = next(sources)
            numbers.update(zip(source.results, task.results, strict=True))
            assert isinstance(source, TrainOp)
            if all(self.network.program.values[value].source is Source.CONSTANT for value in task.results):
                self.constants.add(task, source)
            else:
                self._do(number, task, source)
        self._finish(arguments, last, [numbers[value] for value in last.operands])

    # ---- forms

    def _pattern(self, node: int | None) -> Pattern:
        return ("whole",) * len(self.mesh.sizes) if node is None else self.plan[node]

    def _home_form(self, home: Home) -> Form:
        return form_of(home.made, self._pattern(home.node))

    def _cuts(self, number: int) -> list[Cut | None]:
        """The cut of a task at each level."""
        task, cut_of = self.network.program.tasks[number], self.network.cuttings.cut_of
        chosen = [cut_of[way][number] for way in self._pattern(self.network.node_of[number])]
        return [None if cut is None else task.cuts[cut] for cut in chosen]

    def _form_made(self, number: int, task: Task, place: int) -> Form:
        """The form in which a task makes a result."""
        return form_of_result(self._cuts(number), place)

    # ---- arguments

    def _argument(self, number: int, value: BlockArgument) -> BlockArgument:
        """The argument on a device: cut as its home is; an input as all who read it need it, if these agree."""
        home = self.flows.homes.get(number)
        form: Form = (None,) * len(self.mesh.sizes)
        readings = [r for r in self.flows.readings if r.value == number]
        if readings and readings[0].maker is None and home is not None and home.node is not None:
            needed = {form_of(r.needed, self._pattern(r.reader)) for r in readings}
            form = needed.pop() if len(needed) == 1 else form
        elif home is not None:
            form = self._home_form(home)
        type = tensor_type(value)
        local = sharding_of(form, len(type.get_shape())).local_shape(self.mesh, type.get_shape())
        argument = loose_argument(tensor_of(type.element_type, local), value.location, value.name_hint or "")
        self.local[number] = _Local(argument, form)
        return argument

    # ---- operations

    def _emit(self, source: Operation, new: OpT) -> OpT:
        self.ops.append(derive(source, new))
        return new

    def _do(self, number: int, task: Task, op: TrainOp) -> None:
        """An operation on a device's parts, and the sums of what it makes addends of."""
        cuts = self._cuts(number)
        if isinstance(op, DropoutOp):
            new = self._emit(op, self._dropout(number, op, cuts))
        else:
            operands = [self._fetch(number, place, op) for place in range(len(task.operands))]
            forms = [self._form_made(number, task, place) for place in range(len(op.results))]
            new = self._emit(op, part_of(op, operands, forms, cuts, self.mesh))
        for place, (value, result) in enumerate(zip(task.results, new.results, strict=True)):
            result.name_hint = op.results[place].name_hint
            summed = self._summed(op, result, cuts, place)
            self.local[value] = _Local(summed, self._form_made(number, task, place))

    def _dropout(self, number: int, op: DropoutOp, cuts: Sequence[Cut | None]) -> DropoutOp:
        """A dropout of a part; positions along axes that are whole are left out."""
        cut = {own.results[0] for own in cuts if own is not None}
        x, step = self._fetch(number, 0, op), self._fetch(number, 1, op)
        places = {axis: 2 + place for place, axis in enumerate(ints(op.axes)) if axis in cut}
        return dropout_of_part(op, x, step, {axis: self._fetch(number, at, op) for axis, at in places.items()})

    def _summed(self, source: Operation, value: SSAValue, cuts: Sequence[Cut | None], place: int) -> SSAValue:
        """A result of which devices have addends, summed."""
        for how in Combine:
            levels = tuple(h for h, cut in enumerate(cuts) if cut is not None and cut.results[place] is how)
            if levels:
                reduced = on_mesh(
                    AllReduceOp, self.mesh, value, over=levels, **({"mean": True} if how is Combine.MEAN else {})
                )
                value = self._emit(source, reduced).out
        return value

    def _fetch(self, number: int, place: int, source: Operation) -> SSAValue:
        """An operand in the form that a task needs it in; tasks of a node that need the same share it."""
        index = self.flows.reading_of[number, place]
        if index not in self.read:
            reading = self.flows.readings[index]
            pattern = self._pattern(reading.reader)
            target = form_of(reading.needed, pattern)
            if reading.value in self.constants:
                self.read[index] = self.constants.part(reading.value, target)
                return self.read[index]
            local = self.local[reading.value]
            value = self._brought(local, target, source, addends=reading.scattered)
            shared = shared_levels(reading.shared, pattern, local.form if reading.scattered else None)
            if shared and reading.active:
                value = self._emit(source, on_mesh(CopyOp, self.mesh, value, over=shared)).out
            self.read[index] = value
        return self.read[index]

    def _sliced(self, value: SSAValue, form: Form, source: Operation) -> SSAValue:
        """The part in some form of a value that every device has whole."""
        return self._brought(_Local(value, (None,) * len(form)), form, source)

    def _brought(self, local: _Local, target: Form, source: Operation, *, addends: bool = False) -> SSAValue:
        """A value in another form; each device may have an addend of the gradient of what is gathered (`addends`)."""
        value, sharding = local.value, sharding_of(local.form, len(tensor_type(local.value).get_shape()))
        for move in moves(local.form, target):
            value = self._emit(source, _moving(move, self.mesh, value, sharding, addends=addends)).out
            sharding = sharding.without(move.level)
            if move.target is not None:
                sharding = sharding.with_cut(move.target, move.level)
        return value

    # ---- the end

    def _finish(self, arguments: list[BlockArgument], last: ReturnOp, returned: Sequence[int]) -> None:
        """Return what the function returns: the loss whole, new values as their arguments are kept."""
        whole: Form = (None,) * len(self.mesh.sizes)
        wanted: dict[int, Form] = {}
        for result in results_of(self.func):
            if result.loss:
                wanted[result.index] = whole
            elif result.updates is not None:
                wanted[result.index] = self.local[result.updates].form
        values: list[SSAValue] = []
        forms: list[Form] = []
        for index, number in enumerate(returned):
            constant = number in self.constants
            local = _Local(self.constants.part(number, whole), whole) if constant else self.local[number]
            form = wanted.get(index, local.form)
            source = local.value.owner if isinstance(local.value.owner, Operation) else last
            values.append(self._brought(local, form, source))
            forms.append(form)
        argument_forms = [self.local[number].form for number in range(len(arguments))]
        body = gather(arguments, [*self.ops, ReturnOp(*values)])
        self.func.body.detach_block(0)
        self.func.body.add_block(body)
        self.func.function_type = FunctionType.from_lists([a.type for a in arguments], [v.type for v in values])
        self.func.arg_attrs = _with_shardings(self.func.arg_attrs, arguments, argument_forms)
        self.func.res_attrs = _with_shardings(self.func.res_attrs, values, forms)
        self.func.attributes[MESH] = MeshAttr(self.mesh)


def _moving(move: Move, mesh: Mesh, value: SSAValue, sharding: Sharding, *, addends: bool) -> DistOp:
    """The operation of a move of a value that is spread so."""
    over = (move.level,)

    def beside(axis: int) -> tuple[int, ...]:
        return tuple(h for h in sharding.axes[axis] if h != move.level)

    match move.source, move.target:
        case None, int(axis):
            return on_mesh(SliceOp, mesh, value, axis=axis, over=over, **_within(within=beside(axis)))
        case int(axis), None:
            return on_mesh(
                AllGatherOp, mesh, value, axis=axis, over=over, addends=addends, **_within(within=beside(axis))
            )
        case int(old), int(new):
            within = _within(split_within=beside(new), concat_within=beside(old))
            return on_mesh(AllToAllOp, mesh, value, split=new, concat=old, over=over, **within)
        case _:
            raise AssertionError("a move changes the axis")


def _within(**levels: tuple[int, ...]) -> Mapping[str, tuple[int, ...]]:
    """The properties that list levels, those that list none left out."""
    return {name: own for name, own in levels.items() if own}


def _with_shardings(
    attrs: ArrayAttr[DictionaryAttr] | None, values: Iterable[SSAValue], forms: Iterable[Form]
) -> ArrayAttr[DictionaryAttr]:
    """The attributes of arguments or results with how each is spread; nothing where it is whole."""
    found: list[DictionaryAttr] = []
    for number, (value, form) in enumerate(zip(values, forms, strict=True)):
        own = dict(attrs.data[number].data) if attrs is not None and number < len(attrs.data) else {}
        if any(axis is not None for axis in form):
            own[SHARDING] = ShardingAttr(sharding_of(form, len(tensor_type(value).get_shape())))
        found.append(DictionaryAttr(own))
    return ArrayAttr(found)
