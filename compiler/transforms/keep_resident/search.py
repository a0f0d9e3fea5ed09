"""
Which values of a block are resident in scratchpad from one operation to another: a greedy search over residency spans.

A span keeps one value resident between two consecutive accesses. A set of spans is worth what it takes off the
objective over all operations that it affects: those at its ends, those between, which lose the room, and the one that
defines the value.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from xdsl.ir import Block, Operation, SSAValue

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.elements import BYTE, Bits, contract_widths, widths_on
from npuc.compiler.analysis.programs.reported_costs import ReportedCost
from npuc.compiler.analysis.programs.resident import (
    are_moved_once,
    best_resident_schedule,
    resident_cost,
    resident_spm_bytes,
)
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.analysis.timing.epilogue import array_cycles, array_passes, room_bytes, stream_cycles
from npuc.compiler.analysis.timing.vector_traffic import streamed
from npuc.compiler.core.frozen import frozen
from npuc.compiler.transforms.keep_resident.patterns import Residency
from npuc.compiler.transforms.keep_resident.spans import (
    Access,
    Span,
    SpanFilter,
    Spans,
    Supported,
    is_elementwise,
    uses_through_views,
)
from npuc.dialects.npu import ContractOp, VectorOp
from npuc.dialects.npu.nest import Schedule
from npuc.dialects.npu.resident import HasResidency, Resident, memory_of
from npuc.dialects.npu.vector import FusedVector, fused_with
from npuc.dialects.npu.widths import bytes_of
from npuc.dialects.provenance import repeat_of
from npuc.dialects.train.signature import writes_of

REACH = 8
"""The most operations between the two accesses of a span."""
ROUNDS = 3
"""How many rounds retry the spans that did not pay off before others were chosen."""


@frozen
class Costed:
    """The cost of an operation, and of a contraction the schedule with that cost."""

    cost: ReportedCost
    schedule: Schedule | None = None


class ResidencySearch:
    """The operations of a block, the spans that their values may be resident in, and the cost of both."""

    def __init__(self, block: Block, machine: Machine, objective: Objective):
        self.machine = machine
        self.objective: Objective = objective
        self.elements = widths_on(machine)
        self.places: dict[Operation, int] = {op: number for number, op in enumerate(block.ops)}
        self.operations = [op for op in block.ops if isinstance(op, HasResidency)]
        self.order: dict[Operation, int] = {op: number for number, op in enumerate(self.operations)}
        contracts = [op for op in self.operations if isinstance(op, ContractOp)]
        self.widths: dict[Operation, Bits] = {op: contract_widths(op, machine) for op in contracts}
        self.fused: dict[Operation, tuple[FusedVector, ...]] = {
            op: fused for op in contracts if (fused := fused_with(op))
        }
        self.accesses: dict[SSAValue, list[Access]] = {}
        self.read_from_dram: set[SSAValue] = set()
        """The values with a use that reads them from DRAM whatever is chosen."""
        for op in self.operations:
            self._collect(op)
        for value in self.accesses:
            self.accesses[value].sort(key=lambda access: (self.places[access.op], not access.defines))
        self.overwritten_by = {value: op for op, values in writes_of(block).items() for value in values}
        """The operation that overwrites an argument in DRAM, of which no copy may be in SPM then."""
        self.costs: dict[tuple[Operation, frozenset[str], frozenset[str], int], Costed | None] = {}
        self.chosen: Spans = frozenset()
        self.ending: dict[Operation, set[Span]] = {}
        """The candidate spans that begin or end at an operation."""
        self.passing: dict[Operation, set[Span]] = {}
        """The candidate spans that an operation lies inside."""

    def _supports_residency(self, op: Operation) -> bool:
        """Whether values may be resident before or after an operation."""
        if repeat_of(op) > 1:
            return False
        if isinstance(op, ContractOp):
            scheduled = op.schedule_attr is not None and not op.schedule.core_depth
            return scheduled and op in self.places and op not in self.fused
        return isinstance(op, VectorOp) and not op.fused and op in self.places

    def _collect(self, op: Operation) -> None:
        """Record the accesses of an operation."""
        if not isinstance(op, ContractOp | VectorOp) or not self._supports_residency(op):
            return
        for name, value in op.named_results().items():
            self.accesses.setdefault(value, []).append(Access(op, name, defines=True))
            if any(not self._may_find(user, number) for user, number in uses_through_views(value)):
                self.read_from_dram.add(value)
        for name, value in op.named_operands().items():
            memory = memory_of(value)
            accesses = self.accesses.setdefault(memory, [])
            if all(access.op is not op for access in accesses):
                accesses.append(Access(op, name))

    def _may_find(self, user: Operation, number: int) -> bool:
        """Whether a use may find its value resident: it is the only use of that value in its operation."""
        if not isinstance(user, ContractOp | VectorOp) or not self._supports_residency(user):
            return False
        names = [name for name, v in user.named_operands().items() if memory_of(v) is memory_of(user.operands[number])]
        return len(names) == 1 and (not isinstance(user, ContractOp) or number < len(user.nest.ins))

    def spans(self, wanted: SpanFilter) -> Iterator[Spans]:
        """The candidate sets of spans: each span by itself, and all spans of one value."""
        for value, accesses in self.accesses.items():
            if bytes_of(value, self.elements) > self.machine.spm_bytes:
                continue
            found = [
                self._register(Span(value, number))
                for number, (first, second) in enumerate(pairwise(accesses))
                if wanted(first, second)
                and self._within_reach(first.op, second.op)
                and not self._overwritten_between(value, first.op, second.op)
            ]
            yield from (frozenset({span}) for span in found)
            if len(found) > 1:
                yield frozenset(found)

    def _overwritten_between(self, value: SSAValue, first: Operation, second: Operation) -> bool:
        """Whether `first`, or an operation between it and `second`, overwrites a value in DRAM."""
        writer = self.overwritten_by.get(value)
        return writer is not None and self.places[first] <= self.places[writer] < self.places[second]

    def _within_reach(self, first: Operation, second: Operation) -> bool:
        return self.order[second] - self.order[first] <= REACH + 1

    def _register(self, span: Span) -> Span:
        """Index a span by the operations at its ends and between them."""
        first, second = (self.order[access.op] for access in self._ends(span))
        for number in (first, second):
            self.ending.setdefault(self.operations[number], set()).add(span)
        for op in self.operations[first + 1 : second]:
            self.passing.setdefault(op, set()).add(span)
        return span

    def choose(self, wanted: SpanFilter) -> int:
        """Greedily make values resident, most beneficial first, while the objective improves: of how many choices."""
        tried = [(self._gain(more), number, more) for number, more in enumerate(self.spans(wanted))]
        waiting = [entry[2] for entry in sorted(tried, key=lambda entry: (entry[0], -entry[1]), reverse=True)]
        for _ in range(ROUNDS):
            before = self.chosen
            for more in waiting:
                if not more <= self.chosen and self._gain(more) > (0, 0):
                    self.chosen |= more
            if self.chosen == before:
                break
        return len(tried)

    def _gain(self, more: Spans) -> tuple[float, float]:
        """The reduction of objective and traffic by more spans; zeros where they do not fit or make it worse."""
        after = self.chosen | more
        old = new = 0.0
        saved = 0
        for op in self._affected(more):
            before, then = self.cost(op, self.chosen), self.cost(op, after)
            if then is None or before is None:
                return 0.0, 0.0
            old, new = old + before.cost.score(self.objective), new + then.cost.score(self.objective)
            saved += before.cost.moved - then.cost.moved
        return (old - new, saved) if new <= old else (0.0, 0.0)

    def _affected(self, spans: Spans) -> list[Operation]:
        """The operations whose cost may change with these spans, in program order."""
        found: set[Operation] = set()
        for span in spans:
            first, second = (self.order[access.op] for access in self._ends(span))
            found |= {*self.operations[first : second + 1], self.accesses[span.value][0].op}
        return sorted(found, key=self.order.__getitem__)

    def _ends(self, span: Span) -> tuple[Access, Access]:
        accesses = self.accesses[span.value]
        return accesses[span.number], accesses[span.number + 1]

    def resident(self, op: Operation, chosen: Spans) -> Resident:
        """The tensors of an operation that are resident before and after it."""
        ins, outs = list[str](), list[str]()
        for span in self.ending.get(op, set()) & chosen:
            first, second = self._ends(span)
            outs += [first.name] if first.op is op else []
            ins += [second.name] if second.op is op else []
        if not isinstance(op, VectorOp):
            return Resident(tuple(sorted(ins)), tuple(sorted(outs)))
        over: list[tuple[str, str]] = []
        values = {**op.named_operands(), **op.named_results()}
        left = [name for name in values if name in ins and name not in outs] if is_elementwise(op) else []
        for name in [name for name in op.named_results() if name in outs]:
            under = next((other for other in left if values[other].type == values[name].type), None)
            if under is not None:
                left.remove(under)
                over.append((name, under))
        order = list(values).index
        return Resident(tuple(sorted(ins, key=order)), tuple(sorted(outs, key=order)), tuple(over))

    def unmoved(self, op: Supported, resident: Resident, chosen: Spans) -> frozenset[str]:
        """The tensors of an operation that cause no DRAM traffic."""
        found = set(resident.ins)
        for name, value in op.named_results().items():
            spans = {Span(value, number) for number in range(len(self.accesses[value]) - 1)}
            if name in resident.outs and value not in self.read_from_dram and spans <= chosen:
                found.add(name)
        return frozenset(found)

    def cost(self, op: Operation, chosen: Spans) -> Costed | None:
        """The cost of an operation under the chosen spans; None where it does not fit."""
        resident = self.resident(op, chosen)
        passing = sum(bytes_of(span.value, self.elements) for span in self.passing.get(op, set()) & chosen)
        unmoved = (
            self.unmoved(op, resident, chosen) if isinstance(op, ContractOp | VectorOp) and resident.names else None
        )
        key = op, unmoved or frozenset[str](), frozenset(resident.names), passing
        if key not in self.costs:
            self.costs[key] = self._cost(op, resident, unmoved or frozenset[str](), passing)
        return self.costs[key]

    def _cost(self, op: Operation, resident: Resident, unmoved: frozenset[str], passing: int) -> Costed | None:
        if isinstance(op, VectorOp):
            reserved = self._own_bytes(op, resident) + passing
            fits = op.fused or reserved <= self.machine.spm_bytes
            return Costed(stream_cost(op, self.machine, unmoved, resident.names, reserved)) if fits else None
        if isinstance(op, ContractOp) and op.schedule_attr is not None and op not in self.fused:
            return self._contract_cost(op, unmoved, frozenset(resident.names) - unmoved, passing)
        fits = passing == 0 or self._own_bytes(op, resident) + passing <= self._budget(op)
        return Costed(ReportedCost(0, 0, 0.0)) if fits else None

    def _budget(self, op: Operation) -> int:
        """The bytes of SPM that an operation may occupy with its present schedule."""
        promised = op.promised_spm() if isinstance(op, HasResidency) else None
        return self.machine.spm_bytes if promised is None else min(self.machine.spm_bytes, promised)

    def _own_bytes(self, op: Operation, resident: Resident) -> int:
        """The bytes of SPM for an operation's blocks, of vector work for its resident tensors."""
        if isinstance(op, VectorOp):
            values, over = {**op.named_operands(), **op.named_results()}, dict(resident.over)
            return sum(bytes_of(values[name], self.elements) for name in resident.names if name not in over)
        own = op.own_spm_bytes() if isinstance(op, HasResidency) else 0
        if isinstance(op, ContractOp) and op in self.fused:
            own += room_bytes(op, op.schedule, self.fused[op], self.machine)
        return own

    def _contract_cost(
        self, op: ContractOp, unmoved: frozenset[str], moved_once: frozenset[str], passing: int
    ) -> Costed | None:
        """The better of the present schedule, where it is feasible, and the best one found."""
        nest, schedule, widths = op.nest, op.schedule, self.widths[op]
        found: list[Costed] = []
        room = resident_spm_bytes(nest, schedule, widths, unmoved | moved_once)
        if room + passing <= self._budget(op) and are_moved_once(nest, schedule, moved_once):
            found.append(Costed(resident_cost(nest, schedule, self.machine, widths, unmoved), schedule))
        if unmoved or moved_once or not found:
            searched = best_resident_schedule(nest, self.machine, self.objective, widths, unmoved, moved_once, passing)
            found += [Costed(searched[1], searched[0])] if searched is not None else []
        return min(found, key=lambda one: (one.cost.score(self.objective), one.cost.moved), default=None)

    def residency(self, op: Supported) -> Residency | None:
        """The chosen residency of an operation, and the schedule that goes with it; None where nothing is chosen."""
        best = self.cost(op, self.chosen) if op in self.order else None
        if best is None:
            return None
        resident = self.resident(op, self.chosen)
        return Residency(resident if resident.names else op.resident, best.schedule)


def stream_cost(
    op: VectorOp, machine: Machine, unmoved: frozenset[str], resident: Sequence[str] = (), reserved: int = 0
) -> ReportedCost:
    """
    The cost of vector work by itself, whose operands and results `unmoved` cause no traffic.

    The tensors `resident` are in SPM before or after it; with what else is resident they occupy `reserved` bytes.
    """
    moving = streamed(op, machine, resident, reserved)
    moved = moving.moved(unmoved)
    kept = moving.moved() - moved
    passes = array_passes(op, machine)
    joules = None if machine.energy is None else machine.energy.joules(passes, 2 * moved + kept, moved)
    return ReportedCost(stream_cycles(op.ops, moved, machine, array_cycles(op, machine)), BYTE * moved, joules)
