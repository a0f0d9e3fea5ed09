"""Which values of a block stay in SPM from one operation to the next, by what that is worth."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.elements import BYTE, Bits, contract_widths, widths_on
from npuc.compiler.analysis.programs.reported_costs import Price
from npuc.compiler.analysis.programs.resident import best_staying, moves_once, staying_price, staying_room
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.analysis.timing.epilogue import room_bytes, stream_cycles
from npuc.compiler.analysis.timing.vector_traffic import streamed
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.verify import location_of
from npuc.compiler.layers import get_layer, get_op_class
from npuc.dialects.npu import ContractOp, VectorOp
from npuc.dialects.npu.nest import Schedule
from npuc.dialects.npu.resident import Holder, Resident, SameMemory, bytes_of, memory_of
from npuc.dialects.npu.vector import Fused, fused_with
from npuc.dialects.provenance import layer_of, repeat_of

REACH = 8
"""The most operations that a value passes on its way to the next one that has it."""
ROUNDS = 3
"""How often what was not worth it is tried again, once others stay."""
Able = ContractOp | VectorOp


@dataclass(frozen=True)
class Event:
    """An operation that makes a value or reads it, and where; `name` is that of the tensor there."""

    op: Able
    name: str
    makes: bool = False


@dataclass(frozen=True)
class Link:
    """A value that stays from one operation to the next one that has it."""

    value: SSAValue
    number: int
    """That of the first of the two events of the value."""


Wanted = Callable[[Event, Event], bool]
Chosen = frozenset[Link]


@dataclass(frozen=True)
class Row:
    """What an operation costs, with its schedule if it has one."""

    price: Price
    schedule: Schedule | None = None


class Staying:
    """The operations of a block, the values that may stay, and what each operation costs with those that do."""

    def __init__(self, block: Block, machine: Machine, objective: Objective):
        self.machine = machine
        self.objective: Objective = objective
        self.elements = widths_on(machine)
        self.places: dict[Operation, int] = {op: number for number, op in enumerate(block.ops)}
        self.holders = [op for op in block.ops if isinstance(op, Holder)]
        self.order: dict[Operation, int] = {op: number for number, op in enumerate(self.holders)}
        contracts = [op for op in self.holders if isinstance(op, ContractOp)]
        self.widths: dict[Operation, Bits] = {op: contract_widths(op, machine) for op in contracts}
        self.fused: dict[Operation, tuple[Fused, ...]] = {op: fused for op in contracts if (fused := fused_with(op))}
        self.events: dict[SSAValue, list[Event]] = {}
        self.outside: set[SSAValue] = set()
        """The values that something else uses, which reads them from DRAM."""
        for op in self.holders:
            self._collect(op)
        for value in self.events:
            self.events[value].sort(key=lambda event: (self.places[event.op], not event.makes))
        self.rows: dict[tuple[Operation, frozenset[str], frozenset[str], int], Row | None] = {}
        self.chosen: Chosen = frozenset()
        self.ending: dict[Operation, set[Link]] = {}
        """The links that are tried which begin or end at an operation."""
        self.passing: dict[Operation, set[Link]] = {}
        """Those that pass it."""

    def _able(self, op: Operation) -> bool:
        """Whether a value may stay before or after an operation."""
        if repeat_of(op) > 1:
            return False
        if isinstance(op, ContractOp):
            scheduled = op.schedule_attr is not None and not op.schedule.core_depth
            return scheduled and op in self.places and op not in self.fused
        return isinstance(op, VectorOp) and not op.fused and op in self.places

    def _collect(self, op: Operation) -> None:
        """The values that an operation makes or reads."""
        if not isinstance(op, ContractOp | VectorOp) or not self._able(op):
            return
        for name, value in op.named_results().items():
            self.events.setdefault(value, []).append(Event(op, name, makes=True))
            if any(not self._reads_able(user, number) for user, number in _uses(value)):
                self.outside.add(value)
        for name, value in op.named_operands().items():
            memory = memory_of(value)
            events = self.events.setdefault(memory, [])
            if all(event.op is not op for event in events):
                events.append(Event(op, name))

    def _reads_able(self, user: Operation, number: int) -> bool:
        """Whether a use is one that may find the value in SPM, the first of its operation."""
        if not isinstance(user, ContractOp | VectorOp) or not self._able(user):
            return False
        names = [name for name, v in user.named_operands().items() if memory_of(v) is memory_of(user.operands[number])]
        return len(names) == 1 and (not isinstance(user, ContractOp) or number < len(user.nest.ins))

    def links(self, wanted: Wanted) -> Iterator[Chosen]:
        """The sets of links that are tried: each by itself, and all of one value."""
        for value, events in self.events.items():
            if bytes_of(value, self.elements) > self.machine.spm_bytes:
                continue
            found = [
                self._know(Link(value, number))
                for number, (first, second) in enumerate(pairwise(events))
                if wanted(first, second) and self._near(first.op, second.op)
            ]
            yield from (frozenset({link}) for link in found)
            if len(found) > 1:
                yield frozenset(found)

    def _near(self, first: Operation, second: Operation) -> bool:
        return self.order[second] - self.order[first] <= REACH + 1

    def _know(self, link: Link) -> Link:
        """Remember which operations a link concerns."""
        first, second = (self.order[event.op] for event in self._ends(link))
        for number in (first, second):
            self.ending.setdefault(self.holders[number], set()).add(link)
        for op in self.holders[first + 1 : second]:
            self.passing.setdefault(op, set()).add(link)
        return link

    def choose(self, wanted: Wanted) -> None:
        """Let values stay, those first that are worth most, as long as that gains."""
        tried = [(self._gain(more), number, more) for number, more in enumerate(self.links(wanted))]
        waiting = [entry[2] for entry in sorted(tried, key=lambda entry: (entry[0], -entry[1]), reverse=True)]
        for _ in range(ROUNDS):
            before = self.chosen
            for more in waiting:
                if not more <= self.chosen and self._gain(more) > (0, 0):
                    self.chosen |= more
            if self.chosen == before:
                break

    def _gain(self, more: Chosen) -> tuple[float, float]:
        """How much less the objective is with more that stays, and the traffic; nothing where it does not fit."""
        after = self.chosen | more
        old = new = 0.0
        saved = 0
        for op in self._touched(more):
            before, then = self.row(op, self.chosen), self.row(op, after)
            if then is None or before is None:
                return 0.0, 0.0
            old, new = old + before.price.score(self.objective), new + then.price.score(self.objective)
            saved += before.price.moved - then.price.moved
        return (old - new, saved) if new <= old else (0.0, 0.0)

    def _touched(self, links: Chosen) -> list[Operation]:
        """The operations that may cost something else with these links."""
        found: set[Operation] = set()
        for link in links:
            first, second = (self.order[event.op] for event in self._ends(link))
            found |= {*self.holders[first : second + 1], self.events[link.value][0].op}
        return sorted(found, key=self.order.__getitem__)

    def _ends(self, link: Link) -> tuple[Event, Event]:
        events = self.events[link.value]
        return events[link.number], events[link.number + 1]

    def resident(self, op: Operation, chosen: Chosen) -> Resident:
        """What stays before and after an operation."""
        ins, outs = list[str](), list[str]()
        for link in self.ending.get(op, set()) & chosen:
            first, second = self._ends(link)
            outs += [first.name] if first.op is op else []
            ins += [second.name] if second.op is op else []
        if not isinstance(op, VectorOp):
            return Resident(tuple(sorted(ins)), tuple(sorted(outs)))
        over: list[tuple[str, str]] = []
        values = {**op.named_operands(), **op.named_results()}
        left = [name for name in values if name in ins and name not in outs] if _is_elementwise(op) else []
        for name in [name for name in op.named_results() if name in outs]:
            under = next((other for other in left if values[other].type == values[name].type), None)
            if under is not None:
                left.remove(under)
                over.append((name, under))
        order = list(values).index
        return Resident(tuple(sorted(ins, key=order)), tuple(sorted(outs, key=order)), tuple(over))

    def still(self, op: Able, resident: Resident, chosen: Chosen) -> frozenset[str]:
        """The tensors of an operation of which nothing moves."""
        found = set(resident.ins)
        for name, value in op.named_results().items():
            links = {Link(value, number) for number in range(len(self.events[value]) - 1)}
            if name in resident.outs and value not in self.outside and links <= chosen:
                found.add(name)
        return frozenset(found)

    def row(self, op: Operation, chosen: Chosen) -> Row | None:
        """What an operation costs when these links are there; None where it does not fit."""
        resident = self.resident(op, chosen)
        passing = sum(bytes_of(link.value, self.elements) for link in self.passing.get(op, set()) & chosen)
        still = self.still(op, resident, chosen) if isinstance(op, ContractOp | VectorOp) and resident.names else None
        key = op, still or frozenset[str](), frozenset(resident.names), passing
        if key not in self.rows:
            self.rows[key] = self._row(op, resident, still or frozenset[str](), passing)
        return self.rows[key]

    def _row(self, op: Operation, resident: Resident, still: frozenset[str], beside: int) -> Row | None:
        if isinstance(op, VectorOp):
            taken = self._room(op, resident) + beside
            fits = op.fused or taken <= self.machine.spm_bytes
            return Row(stream_price(op, self.machine, still, resident.names, taken)) if fits else None
        if isinstance(op, ContractOp) and op.schedule_attr is not None and op not in self.fused:
            return self._contract(op, still, frozenset(resident.names) - still, beside)
        return Row(Price(0, 0, 0.0)) if beside == 0 or self._room(op, resident) + beside <= self._budget(op) else None

    def _budget(self, op: Operation) -> int:
        """The bytes that an operation may take whose schedule stays as it is."""
        promised = op.promised() if isinstance(op, Holder) else None
        return self.machine.spm_bytes if promised is None else min(self.machine.spm_bytes, promised)

    def _room(self, op: Operation, resident: Resident) -> int:
        """The bytes of an operation's own blocks, of vector work those that stay."""
        if isinstance(op, VectorOp):
            values, over = {**op.named_operands(), **op.named_results()}, dict(resident.over)
            return sum(bytes_of(values[name], self.elements) for name in resident.names if name not in over)
        own = op.own_room() if isinstance(op, Holder) else 0
        if isinstance(op, ContractOp) and op in self.fused:
            own += room_bytes(op, op.schedule, self.fused[op], self.machine)
        return own

    def _contract(self, op: ContractOp, still: frozenset[str], once: frozenset[str], beside: int) -> Row | None:
        """The best of a contraction: its schedule as it is, where that fits and moves `once` once, and a new one."""
        nest, schedule, widths = op.nest, op.schedule, self.widths[op]
        found: list[Row] = []
        room = staying_room(nest, schedule, widths, still | once)
        if room + beside <= self._budget(op) and moves_once(nest, schedule, once):
            found.append(Row(staying_price(nest, schedule, self.machine, widths, still), schedule))
        if still or once or not found:
            searched = best_staying(nest, self.machine, self.objective, widths, still, once, beside)
            found += [Row(searched[1], searched[0])] if searched is not None else []
        return min(found, key=lambda row: (row.price.score(self.objective), row.price.moved), default=None)

    def write(self) -> None:
        """Write what stays, and the schedules for it."""
        for op in self.holders:
            row = self.row(op, self.chosen)
            if isinstance(op, ContractOp | VectorOp) and row is not None:
                resident = self.resident(op, self.chosen)
                if resident.names:
                    op.resident = resident
                if isinstance(op, ContractOp) and row.schedule is not None and row.schedule != op.schedule:
                    op.schedule = row.schedule


def stream_price(
    op: VectorOp, machine: Machine, still: frozenset[str], whole: Sequence[str] = (), taken: int = 0
) -> Price:
    """
    The price of vector work by itself; nothing moves of the operands and results `still`.

    Those of `whole` are in SPM, before or after it, and take `taken` bytes with what else stays there.
    """
    moving = streamed(op, machine, whole, taken)
    moved = moving.moved(still)
    kept = moving.moved() - moved
    joules = None if machine.energy is None else machine.energy.joules(0, 2 * moved + kept, moved)
    return Price(stream_cycles(op.ops, moved, machine), BYTE * moved, joules)


def _is_elementwise(op: VectorOp) -> bool:
    kind = get_op_class(op.kind)
    return kind is not None and get_layer(kind).elementwise


def _uses(value: SSAValue) -> Iterator[tuple[Operation, int]]:
    """The operations that read the memory of a value, through views too, with the operand's number."""
    for use in value.uses:
        if isinstance(use.operation, SameMemory):
            yield from _uses(use.operation.results[0])
        else:
            yield use.operation, use.index


def refuse_staying(module: ModuleOp, name: str) -> None:
    """Raise, at its place, for an operation with what stays in SPM, which the pass of that name does not know."""
    for op in module.walk():
        if isinstance(op, Holder) and op.resident.names:
            raise UsageError(
                f"{name}: {op.resident} of layer {layer_of(op)}: the pass does not know values that stay in SPM",
                location=location_of(op),
                hint=f"leave out the pass keep-resident, or run it after {name}",
            )
