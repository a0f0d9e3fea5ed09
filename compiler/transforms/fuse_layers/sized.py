"""Operations at a micro-batch: their tensors' bytes, and what they cost with what is resident beside them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from xdsl.ir import Block, Operation, SSAValue

from npuc.compiler.analysis.fusion.axes import sample_dim
from npuc.compiler.analysis.fusion.slices import clipped, nest_of, sliced
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.elements import Bits, contract_widths
from npuc.compiler.analysis.programs.reported_costs import ReportedCost, scheduled_cost
from npuc.compiler.analysis.programs.resident import (
    are_moved_once,
    best_resident_schedule,
    resident_cost,
    resident_spm_bytes,
)
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.analysis.timing.epilogue import stream_cycles
from npuc.compiler.analysis.timing.vector_traffic import streamed
from npuc.compiler.layers import get_layer
from npuc.compiler.transforms.fuse_layers.chain import ChainStep
from npuc.dialects.npu import ContractOp, MoveOp, TensorWorkOp, VectorOp
from npuc.dialects.npu.groups.batches import resized
from npuc.dialects.npu.nest import Nest, Schedule
from npuc.dialects.npu.widths import BYTE, Widths, bytes_of, sum_bytes_of
from npuc.dialects.outside import operation_of_kind

NOTHING = ReportedCost(0, 0, 0.0)
Names = frozenset[str]


@dataclass(frozen=True)
class Placed:
    """
    What is resident with an operation: tensors before and after, those of them that cause no traffic, and those that
    move once; `over` are results over operands. `reserved` are the bytes of all else that is in SPM.
    """

    ins: tuple[str, ...] = ()
    outs: tuple[str, ...] = ()
    over: tuple[tuple[str, str], ...] = ()
    unmoved: Names = frozenset()
    reserved: int = 0

    @property
    def names(self) -> Names:
        """All resident tensors."""
        return frozenset((*self.ins, *self.outs))


@dataclass(frozen=True)
class Priced:
    """What an operation costs once, and of a contraction the schedule that costs it."""

    cost: ReportedCost
    schedule: Schedule | None = None


class Sized:
    """One kind of operation on so many samples."""

    def __init__(self, step: ChainStep, now: int, then: int, machine: Machine, widths: Widths):
        assert step.axes is not None
        op, axes = step.op, step.axes
        types = [resized(v.type, axis, now, then) for v, axis in zip(op.operands, axes.operands, strict=True)]
        args = Block(arg_types=types).args
        arguments: dict[SSAValue, SSAValue] = {}
        for value, arg in zip(op.operands, args, strict=True):
            arguments.setdefault(value, arg)
        self.op = sliced(op, [arguments[value] for value in op.operands], axes, now, then)
        self.machine, self.element = machine, widths
        self.nest: Nest | None = None
        self.bits: Bits | None = None
        self.schedule: Schedule | None = None
        if isinstance(op, ContractOp) and isinstance(self.op, ContractOp):
            dim = _sample_dim(op, axes.operands)
            self.nest = nest_of(op.nest, dim, axes, now, then)
            clip = clipped(op.schedule, dim, self.nest.sizes[dim])
            self.schedule = replace(clip, spm=machine.spm_bytes)
            self.bits = contract_widths(self.op, machine)

    @cached_property
    def tensors(self) -> Mapping[str, SSAValue]:
        """The operands and results that may be resident, by name."""
        op = self.op
        return {**op.named_operands(), **op.named_results()} if isinstance(op, ContractOp | VectorOp) else {}

    @cached_property
    def bytes(self) -> Mapping[str, int]:
        """The bytes of each of these tensors, complete."""
        return {name: bytes_of(value, self.element) for name, value in self.tensors.items()}

    @cached_property
    def sum_bytes(self) -> Mapping[str, int]:
        """The bytes of each of them as partial sums."""
        return {name: sum_bytes_of(value, self.element) for name, value in self.tensors.items()}

    def cost(self, placed: Placed, objective: Objective, *, search: bool = False) -> Priced | None:
        """
        The cost with what is resident; None where it does not fit.

        A contraction runs by its own schedule, clipped to the micro-batch, or with resident blocks kept whole, whatever
        is cheaper; a schedule is searched where none of these fits, or with `search`.
        """
        op = self.op
        if self.nest is not None and self.bits is not None:
            found = self._clipped(placed)
            if search or not found:
                found += self._searched(placed, objective)
            return min(found, key=lambda one: (one.cost.score(objective), one.cost.moved), default=None)
        if isinstance(op, VectorOp):
            over = dict(placed.over)
            reserved = sum(self.bytes[name] for name in placed.names if name not in over) + placed.reserved
            if reserved > self.machine.spm_bytes:
                return None
            return Priced(stream_cost(op, self.machine, placed.unmoved, tuple(sorted(placed.names)), reserved))
        if isinstance(op, MoveOp):
            return Priced(stream_cost(op, self.machine)) if placed.reserved <= self.machine.spm_bytes else None
        return Priced(NOTHING)

    def _clipped(self, placed: Placed) -> list[Priced]:
        """The costs of the schedules that need no search, of those that fit."""
        nest, bits, schedule = self.nest, self.bits, self.schedule
        assert nest is not None
        assert bits is not None
        assert schedule is not None
        once = placed.names - placed.unmoved
        free = _whole(schedule, placed.unmoved, 0)
        found: list[Priced] = []
        for one in dict.fromkeys((schedule, free, _whole(free, once, len(schedule.loops)))):
            room = resident_spm_bytes(nest, one, bits, placed.names)
            if room + placed.reserved <= self.machine.spm_bytes and are_moved_once(nest, one, once):
                found.append(Priced(resident_cost(nest, one, self.machine, bits, placed.unmoved), one))
        return found

    def _searched(self, placed: Placed, objective: Objective) -> list[Priced]:
        """The cost of the best schedule that a search finds, if any fits."""
        assert self.nest is not None
        assert self.bits is not None
        once = placed.names - placed.unmoved
        found = best_resident_schedule(
            self.nest, self.machine, objective, self.bits, placed.unmoved, once, placed.reserved
        )
        return [] if found is None else [Priced(found[1], found[0])]


def _whole(schedule: Schedule, names: Names, depth: int) -> Schedule:
    """A schedule with tensors kept over the `depth` innermost loops."""
    keep = [(name, own) for name, own in schedule.keep if name not in names]
    return replace(schedule, keep=(*keep, *((name, depth) for name in sorted(names) if depth)))


def stream_cost(
    op: TensorWorkOp, machine: Machine, unmoved: Names = frozenset(), resident: tuple[str, ...] = (), reserved: int = 0
) -> ReportedCost:
    """The cost of vector work or a move as the backend reports it, with resident tensors and the bytes of all such."""
    moving = streamed(op, machine, resident, reserved)
    moved = moving.moved(unmoved)
    kept = moving.moved() - moved
    vector = isinstance(op, VectorOp)
    through = moved * (2 if vector else 1) + kept
    joules = None if machine.energy is None else machine.energy.joules(0, through, moved)
    return ReportedCost(stream_cycles(op.ops if isinstance(op, VectorOp) else 0, moved, machine), BYTE * moved, joules)


def alone_cost(op: Operation, machine: Machine) -> ReportedCost:
    """The cost of an operation by itself on all samples, as it is scheduled; nothing for what this pass never moves."""
    if isinstance(op, ContractOp) and op.schedule_attr is not None:
        return scheduled_cost(op.nest, op.schedule, machine, contract_widths(op, machine))
    return stream_cost(op, machine) if isinstance(op, VectorOp | MoveOp) else NOTHING


def is_elementwise(op: TensorWorkOp) -> bool:
    """Whether a result may be written over an operand."""
    kind = operation_of_kind(op.kind)
    return kind is not None and get_layer(kind).elementwise


def _sample_dim(op: ContractOp, axes: tuple[int, ...]) -> str:
    dim = sample_dim(op.nest_attr.data, axes)
    assert dim is not None
    return dim
