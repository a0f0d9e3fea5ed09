"""
The parts of memory that the values of a lowered program are, and their tensors.

A view is its operand's memory, a slice that is moved is read as a piece of its operand. What is updated is written in
place, and so is a sum into the value that it starts from, and a result over the operand whose scratchpad it takes,
where nothing reads that value later. Scalars, constants and statistics of normalisations have no memory here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import DictionaryAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from npuc.backends.roofline.iteration.parts import MemoryPart, Value, leaves, moved_of, view_of, whole
from npuc.backends.roofline.iteration.rules import STATISTICS
from npuc.backends.roofline.iteration.steps import IterationTensor, TensorKind
from npuc.backends.roofline.lowered.units import Unit
from npuc.dialects.distributed import DistOp
from npuc.dialects.npu import ConstantOp, ContractOp, InterleaveOp, MoveOp, TensorWorkOp, ViewOp
from npuc.dialects.npu.resident import HasResidency
from npuc.dialects.outside import operation_of_kind
from npuc.dialects.provenance import Role, layer_of, role_of
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.signature import ArgumentKind, arguments_of, results_of

ARGUMENTS: dict[ArgumentKind, TensorKind] = {
    ArgumentKind.INPUT: "input",
    ArgumentKind.PARAM: "weight",
    ArgumentKind.STATE: "state",
}
MADE: dict[Role, TensorKind] = {Role.DX: "gradient", Role.DW: "weight_gradient", Role.UPDATE: "state"}


@dataclass
class Memory:
    """
    Parts of memory by value, with a number for each part that a step has accessed.

    `kinds` has the name and the kind of each part, `numbers` and `tensors` what steps have accessed so far.
    """

    func: FuncOp
    float_bytes: int | None
    values: dict[SSAValue, Value] = field(default_factory=dict[SSAValue, Value])
    kinds: dict[MemoryPart, tuple[str, TensorKind]] = field(default_factory=dict[MemoryPart, "tuple[str, TensorKind]"])
    tensors: list[IterationTensor] = field(default_factory=list[IterationTensor])
    numbers: dict[MemoryPart, int] = field(default_factory=dict[MemoryPart, int])

    def __post_init__(self) -> None:
        """Read the signature, and cut what views and slices cut: parts have to be known before any is numbered."""
        block = self.func.body.block
        self.order = {op: number for number, op in enumerate(block.ops)}
        self.updated: dict[SSAValue, SSAValue] = {}
        ending = block.last_op
        if isinstance(ending, ReturnOp):
            for result in results_of(self.func):
                if result.updates is not None:
                    self.updated[ending.operands[result.index]] = block.args[result.updates]
        named = {argument.index: argument for argument in arguments_of(self.func)}
        for index, value in enumerate(block.args):
            argument = named.get(index)
            if argument is not None and argument.kind is ArgumentKind.STAT:
                self.values[value] = ()
                continue
            kind = "input" if argument is None else ARGUMENTS[argument.kind]
            self._new(value, f"arg{index}" if argument is None else argument.name, kind)
        for op in block.ops:
            self._read(op)
        for part, told in list(self.kinds.items()):
            self.kinds.update((leaf, told) for leaf in part.leaves())

    def parts(self, values: Sequence[SSAValue]) -> list[MemoryPart]:
        """The uncut parts of some values, each once."""
        return list(dict.fromkeys(leaf for value in values for leaf in leaves(self.values.get(value, ()))))

    def read_by(self, unit: Unit) -> list[MemoryPart]:
        """The parts that a step reads: of a slice the piece that it copies."""
        if isinstance(unit.main, MoveOp):
            shown = _shown(unit.main, [self.values.get(value, ()) for value in unit.main.operands])
            if shown is not None:
                return list(dict.fromkeys(leaf for value in shown for leaf in leaves(value)))
        return self.parts(unit.reads)

    def numbered(self, parts: Sequence[MemoryPart]) -> tuple[int, ...]:
        """The tensors of some parts, each once."""
        for part in parts:
            if part not in self.numbers:
                name, kind = self.kinds[part]
                self.numbers[part] = len(self.tensors)
                self.tensors.append(IterationTensor(name, part.bytes, kind, part.row_bytes))
        return tuple(dict.fromkeys(self.numbers[part] for part in parts))

    def known(self, values: Sequence[SSAValue]) -> frozenset[int]:
        """The tensors of some values, as far as a step accesses them."""
        return frozenset(self.numbers[part] for part in self.parts(values) if part in self.numbers)

    def _new(self, value: SSAValue, name: str, kind: TensorKind) -> None:
        self.values[value] = parts = whole(value, self.float_bytes)
        self.kinds.update((part, (name, kind)) for part in parts)

    def _read(self, op: Operation) -> None:
        """Give memory to the results of an operation."""
        operands = [self.values.get(value, ()) for value in op.operands]
        match op:
            case ConstantOp():
                self.values.update((result, ()) for result in op.results)
            case ViewOp():
                self.values[op.results[0]] = operands[0]
            case DistOp():
                weight = op.x in self.func.body.block.args
                self.values[op.out], others = moved_of(op, operands[0], cut=not weight)
                received = [part for part in others if part not in leaves(operands[0])]
                self.kinds.update((part, (layer_of(op), "value")) for part in received)
            case _:
                if isinstance(op, MoveOp):
                    _shown(op, operands)
                for number, result in enumerate(op.results):
                    self._make(op, number, result)

    def _make(self, op: Operation, number: int, result: SSAValue) -> None:
        """Give memory to a result of an operation that computes or copies."""
        if number and isinstance(op, TensorWorkOp) and _has_statistics(op):
            self.values[result] = ()
            return
        place = self.updated.get(result)
        if place is None and (free := _place_of(op, number)) is not None and self._ends(free, op):
            place = free
        if place is None:
            self._new(result, layer_of(op), _kind_of(op, number))
        else:
            self.values[result] = self.values[place]

    def _ends(self, value: SSAValue, op: Operation) -> bool:
        """Whether a value is an intermediate one that no operation after `op` uses."""
        if not isinstance(value.owner, Operation) or isinstance(value.owner, ViewOp | DistOp):
            return False
        return all(self.order.get(user, len(self.order)) <= self.order[op] for user in _users(value))


def _users(value: SSAValue) -> Iterator[Operation]:
    """The operations that use a value or a view of it."""
    for use in value.uses:
        yield use.operation
        if isinstance(use.operation, ViewOp):
            yield from _users(use.operation.results[0])


def _place_of(op: Operation, number: int) -> SSAValue | None:
    """The operand in whose place an operation may compute a result."""
    result = op.results[number]
    found: SSAValue | None = None
    if isinstance(op, ContractOp):
        starts = [start for start in op.nest.starts if start is not None]
        start = op.nest.starts[number]
        if start is not None:
            found = op.operands[len(op.nest.ins) + starts.index(start)]
    elif isinstance(op, HasResidency):
        over, results = dict(op.resident.over), op.named_results()
        name = next((name for name in over if results[name] is result), None)
        found = None if name is None else op.named_operands()[over[name]]
    return found if found is not None and found.type == result.type else None


def _kind_of(op: Operation, number: int) -> TensorKind:
    """What a result is: a value, a gradient, the gradient of a weight, or the state of an optimizer."""
    role = role_of(op)
    if role in MADE:
        return MADE[role]
    names = [tensor.name for tensor in op.nest.outs] if isinstance(op, ContractOp) else []
    if role is Role.FORWARD:
        return "value"
    if names:
        return "weight_gradient" if names[number].startswith("dW") else "gradient"
    if isinstance(op, InterleaveOp):
        of = [(one, place) for one in op.contracts for place in range(len(one.results))]
        return _kind_of(*of[number])
    return "gradient"


def _has_statistics(op: TensorWorkOp) -> bool:
    found = operation_of_kind(op.kind)
    return found is not None and issubclass(found, STATISTICS)


def _shown(op: MoveOp, operands: Sequence[Value]) -> list[Value] | None:
    """The parts of its operands that a move copies, where these are pieces of memory; None where it gathers them."""
    kind = operation_of_kind(op.kind)
    if kind is None:
        return None
    block = Block(arg_types=[value.type for value in op.operands])
    shown: TrainOp = kind.create(
        operands=block.args, result_types=op.result_types, properties=DictionaryAttr(dict(op.params)).data
    )
    block.add_op(shown)
    return view_of(shown, operands)
