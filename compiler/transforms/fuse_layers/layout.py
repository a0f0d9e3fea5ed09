"""What is in SPM while a group runs: what passes between its members, what is held, and the schedules beside that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from npuc.compiler.analysis.fusion.problem import summed
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.elements import BYTE
from npuc.compiler.analysis.programs.reported_costs import ReportedCost
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.analysis.timing.epilogue import vector_cycles
from npuc.compiler.transforms.fuse_layers.chain import Chain, ChainStep
from npuc.compiler.transforms.fuse_layers.frame import Frame, FrameValue
from npuc.compiler.transforms.fuse_layers.sized import Placed, Priced, Sized, is_elementwise
from npuc.dialects.npu import ContractOp, VectorOp
from npuc.dialects.npu.widths import elements_of

SHARES = ((0, 1), (1, 2), (7, 8))
"""The shares of the room beside what passes that held operands may take [our choice]."""
TRIES = 6
"""How many values are left to DRAM before a micro-batch is given up."""


class MemberCosts(Protocol):
    """What members cost at a micro-batch, on a machine whose SPM is what a group may use."""

    chain: Chain
    machine: Machine
    objective: Objective

    def of(self, step: ChainStep, micro: int) -> Sized:
        """A kind of operation at a micro-batch."""
        ...

    def cost(self, step: ChainStep, micro: int, placed: Placed) -> Priced | None:
        """The cost of an operation at a micro-batch with what is resident; None where it does not fit."""
        ...


@dataclass(frozen=True)
class Design:
    """A group: its members with what is resident and schedules, its held operands, and the cost of the whole range."""

    cost: ReportedCost
    frame: Frame
    placed: dict[int, Placed]
    schedules: dict[int, Priced]
    held: tuple[FrameValue, ...]


class Layout:
    """What is in SPM while a group runs by a micro-batch."""

    def __init__(self, designs: MemberCosts, frame: Frame, first: int, micro: int):
        self.designs, self.frame, self.micro = designs, frame, micro
        self.steps = {number: designs.chain.steps[first + number] for number in frame.members}
        self.runs = designs.chain.samples // micro
        self.sums = [value for value in frame.values if value.is_sum]
        self.passing = [v for v in frame.values if not v.is_sum and not v.whole and len(v.accesses) > 1]

    def best(self) -> Design | None:
        """The best of the shares of the room that may be held; None where not even the first fits."""
        found = self._fitting()
        if found is None:
            return None
        chosen, best = found
        wholes = sorted((v for v in self.frame.values if v.whole), key=lambda v: -v.bytes)
        if self.runs == 1:
            return best
        free = self.designs.machine.spm_bytes - max(self._taken(n, chosen, ()) for n in self.frame.members)
        tried: set[tuple[FrameValue, ...]] = {()}
        for share, of in SHARES:
            held = tuple(_fitting_in(wholes, free * share // of))
            if held in tried:
                continue
            tried.add(held)
            one = self._design(chosen, held)
            if isinstance(one, Design) and self._score(one) < self._score(best):
                best = one
        return best

    def _score(self, design: Design) -> float:
        return design.cost.score(self.designs.objective)

    def _fitting(self) -> tuple[list[FrameValue], Design] | None:
        """What passes in SPM, as much as fits, with the group that holds no operands."""
        chosen = list(self.passing)
        for _ in range(TRIES):
            found = self._design(chosen, ())
            if isinstance(found, Design):
                return chosen, found
            there = [v for v in chosen if v.accesses[0].step <= found <= v.accesses[-1].step]
            if not there:
                return None
            chosen.remove(max(there, key=lambda value: value.bytes))
        return None

    def _size(self, value: FrameValue) -> int:
        access = value.accesses[0]
        return self.designs.of(self.steps[access.step], self.micro).bytes[access.name]

    def _sum_size(self, value: FrameValue) -> int:
        access = value.accesses[0]
        return self.designs.of(self.steps[access.step], self.micro).sum_bytes[access.name]

    def _beside(self, number: int, chosen: list[FrameValue], held: tuple[FrameValue, ...]) -> int:
        """The bytes in SPM during a member that are none of its own."""
        own = {value for value in (*chosen, *held) if any(access.step == number for access in value.accesses)}
        alive = [v for v in chosen if v not in own and v.accesses[0].step < number < v.accesses[-1].step]
        alive += [v for v in held if v not in own]
        adds = isinstance(self.steps[number].op, ContractOp)
        sums = [v for v in self.sums if not (adds and v.accesses[0].step == number)]
        return sum(map(self._size, alive)) + sum(map(self._sum_size, sums))

    def _taken(self, number: int, chosen: list[FrameValue], held: tuple[FrameValue, ...]) -> int:
        """The bytes in SPM during a member of all that is resident."""
        own = [v for v in (*chosen, *held) if any(access.step == number for access in v.accesses)]
        sums = [v for v in self.sums if v.accesses[0].step == number]
        return self._beside(number, chosen, held) + sum(map(self._size, own)) + sum(map(self._sum_size, sums))

    def _design(self, chosen: list[FrameValue], held: tuple[FrameValue, ...]) -> Design | int:
        """The group with these values in SPM; the first member that does not fit where one does not."""
        placed = {number: self._placed(number, chosen, held) for number in self.frame.members}
        costs: dict[int, Priced] = {}
        for number in self.frame.members:
            cost = self.designs.cost(self.steps[number], self.micro, placed[number])
            if cost is None:
                return number
            costs[number] = cost
        once = summed(cost.cost for cost in costs.values())
        joules = None if once.joules is None else once.joules * self.runs
        all_runs = ReportedCost(once.cycles * self.runs, once.moved * self.runs, joules)
        total = summed([all_runs, *map(self._moved, map(self._size, held)), *map(self._summed, self.sums)])
        return Design(total, self.frame, placed, costs, held)

    def _placed(self, number: int, chosen: list[FrameValue], held: tuple[FrameValue, ...]) -> Placed:
        """What is resident with a member."""
        op = self.steps[number].op
        if not isinstance(op, ContractOp | VectorOp):
            return Placed(reserved=self._beside(number, chosen, held))
        ins: list[str] = []
        outs: list[str] = []
        free: list[str] = []
        for value in (*chosen, *held, *self.sums):
            at = [place for place, access in enumerate(value.accesses) if access.step == number]
            for place in at:
                access = value.accesses[place]
                ends = place == len(value.accesses) - 1 and not value.is_sum and value not in held
                found = not access.defines and (place > 0 or value in held)
                ins += [access.name] if found else []
                outs += [] if ends else [access.name]
                free += [access.name] if found or (access.defines and (value.is_sum or not value.stored)) else []
        order = [*op.named_operands(), *op.named_results()].index
        return Placed(
            tuple(sorted(ins, key=order)),
            tuple(sorted(outs, key=order)),
            self._over(number, ins, outs),
            frozenset(free),
            self._beside(number, chosen, held),
        )

    def _over(self, number: int, ins: list[str], outs: list[str]) -> tuple[tuple[str, str], ...]:
        """The results of elementwise work that take the place of operands that nothing needs any more."""
        op = self.steps[number].op
        if not isinstance(op, VectorOp) or not is_elementwise(op):
            return ()
        operands, results = op.named_operands(), op.named_results()
        dying = [name for name in ins if name not in outs]
        over: list[tuple[str, str]] = []
        for name in outs:
            if name in results:
                under = next((one for one in dying if operands[one].type == results[name].type), None)
                if under is not None:
                    dying.remove(under)
                    over.append((name, under))
        return tuple(over)

    def _moved(self, size: int) -> ReportedCost:
        """The cost of moving a held tensor once, while nothing else happens."""
        machine = self.designs.machine
        joules = None if machine.energy is None else machine.energy.joules(0, size, size)
        return ReportedCost(machine.transfer_cycles(size), BYTE * size, joules)

    def _summed(self, value: FrameValue) -> ReportedCost:
        """The cost of a sum beside what computes it: it is stored once; vector work adds to it each time but once."""
        moved, machine = self._moved(value.bytes), self.designs.machine
        if isinstance(self.steps[value.accesses[0].step].op, ContractOp):
            return moved
        access = value.accesses[0]
        sized = self.designs.of(self.steps[access.step], self.micro)
        return summed([moved, adding_cost(sized, access.name, self.runs, machine)])


def adding_cost(sized: Sized, name: str, runs: int, machine: Machine) -> ReportedCost:
    """What adding a result of vector work to its partial sums costs, in all runs but the first."""
    count = elements_of(sized.tensors[name]) * (runs - 1)
    through = (2 * sized.sum_bytes[name] + sized.bytes[name]) * (runs - 1)
    joules = None if machine.energy is None else machine.energy.joules(0, through, 0)
    return ReportedCost(vector_cycles(count, machine), 0, joules)


def _fitting_in(values: list[FrameValue], room: int) -> Iterator[FrameValue]:
    """The largest of the values that fit, one after another."""
    for value in values:
        if value.bytes <= room:
            room -= value.bytes
            yield value
