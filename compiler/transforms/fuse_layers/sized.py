"""Operations at a micro-batch: their tensors' bytes, and what they cost with what is resident beside them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from xdsl.ir import Block, Operation, SSAValue

from npuc.compiler.analysis.fusion.axes import sample_dim
from npuc.compiler.analysis.fusion.slices import clipped, nest_of, sliced
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.bounds import compulsory
from npuc.compiler.analysis.nest.elements import Bits, contract_widths
from npuc.compiler.analysis.programs.reported_costs import ReportedCost, scheduled_cost
from npuc.compiler.analysis.programs.resident import (
    are_moved_once,
    best_resident_schedule,
    has_resident_schedule,
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
        self.own: dict[tuple[Names, Names], list[tuple[int, Schedule]]] = {}
        self.prices: dict[tuple[Schedule, Names], Priced] = {}
        self.bounds: dict[Names, ReportedCost] = {}
        """By the tensors that move nothing what it costs at least (`bounds.py`)."""
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

    def reads_whole(self, name: str) -> bool:
        """Whether it reads all elements of an operand wherever that is not resident."""
        return self.nest is None or compulsory(self.nest)[name] == self.nest.tensors[name].elements

    def fits(self, placed: Placed) -> bool:
        """Whether it fits beside what is resident, by its own schedule or by one that a search finds."""
        op, room = self.op, self.machine.spm_bytes - placed.reserved
        if self.nest is not None:
            return any(own <= room for own, _ in self._own(placed)) or self._has_schedule(placed)
        if isinstance(op, VectorOp):
            return self._resident(placed) <= self.machine.spm_bytes
        return room >= 0 or not isinstance(op, MoveOp)

    def cost(self, placed: Placed, objective: Objective, *, search: bool = False) -> Priced | None:
        """
        The cost with what is resident; None where it does not fit.

        A contraction runs by its own schedule, clipped to the micro-batch, or with resident blocks kept whole, whatever
        is cheaper; a schedule is searched where none of these fits, or with `search`.
        """
        found = self.without_search(placed, objective)
        if self.nest is None or (found is not None and not search):
            return found
        both = [*([] if found is None else [found]), *self._searched(placed, objective)]
        return min(both, key=lambda one: (one.cost.score(objective), one.cost.moved), default=None)

    def without_search(self, placed: Placed, objective: Objective) -> Priced | None:
        """The cost, of a contraction by the schedules that need no search; None where none of them fits."""
        op, room = self.op, self.machine.spm_bytes - placed.reserved
        if self.nest is not None:
            costs = [self._by_own(one, placed.unmoved) for own, one in self._own(placed) if own <= room]
            return min(costs, key=lambda one: (one.cost.score(objective), one.cost.moved), default=None)
        if isinstance(op, VectorOp):
            reserved = self._resident(placed)
            if reserved > self.machine.spm_bytes:
                return None
            return Priced(stream_cost(op, self.machine, placed.unmoved, tuple(sorted(placed.names)), reserved))
        if isinstance(op, MoveOp):
            return Priced(stream_cost(op, self.machine)) if room >= 0 else None
        return Priced(NOTHING)

    def _resident(self, placed: Placed) -> int:
        """The bytes of SPM that are taken while vector work runs."""
        over = dict(placed.over)
        return sum(self.bytes[name] for name in placed.names if name not in over) + placed.reserved

    def _own(self, placed: Placed) -> list[tuple[int, Schedule]]:
        """The schedules that need no search, with the bytes of SPM that their blocks need with what is resident."""
        key = placed.names, placed.unmoved
        if key not in self.own:
            nest, bits, schedule = self.nest, self.bits, self.schedule
            assert nest is not None
            assert bits is not None
            assert schedule is not None
            once = placed.names - placed.unmoved
            free = _whole(schedule, placed.unmoved, 0)
            all_own = dict.fromkeys((schedule, free, _whole(free, once, len(schedule.loops))))
            self.own[key] = [
                (resident_spm_bytes(nest, one, bits, placed.names), one)
                for one in all_own
                if are_moved_once(nest, one, once)
            ]
        return self.own[key]

    def _by_own(self, schedule: Schedule, unmoved: Names) -> Priced:
        """The cost by a schedule with tensors that cause no traffic."""
        key = schedule, unmoved
        if key not in self.prices:
            assert self.nest is not None
            assert self.bits is not None
            self.prices[key] = Priced(resident_cost(self.nest, schedule, self.machine, self.bits, unmoved), schedule)
        return self.prices[key]

    def _has_schedule(self, placed: Placed) -> bool:
        """Whether a search finds a schedule."""
        assert self.nest is not None
        assert self.bits is not None
        once = placed.names - placed.unmoved
        return has_resident_schedule(self.nest, self.machine, self.bits, placed.unmoved, once, placed.reserved)

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
