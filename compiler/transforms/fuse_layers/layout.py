"""What is in SPM while a group runs: what passes between its members, what is held, and the schedules beside that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import Protocol

from npuc.compiler.analysis.fusion.problem import summed
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.elements import BYTE
from npuc.compiler.analysis.programs.reported_costs import ReportedCost
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.analysis.timing.epilogue import vector_cycles
from npuc.compiler.transforms.fuse_layers.bounds import least_of_member
from npuc.compiler.transforms.fuse_layers.chain import Chain, ChainStep
from npuc.compiler.transforms.fuse_layers.frame import Frame, FrameValue
from npuc.compiler.transforms.fuse_layers.sized import Placed, Priced, Sized, is_elementwise
from npuc.dialects.npu import ContractOp, VectorOp
from npuc.dialects.npu.groups.walk import RowWalk
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

    def fitting(self, step: ChainStep, micro: int, placed: Placed) -> Placed | None:
        """What is resident with an operation at a micro-batch, as it is costed; None where it does not fit."""
        ...

    def cost(self, step: ChainStep, micro: int, placed: Placed, *, search: bool) -> Priced | None:
        """The cost of an operation beside what fits; None where only a search tells, which there is none of."""
        ...


@dataclass(frozen=True)
class Design:
    """A group: its members with what is resident and schedules, its held operands, and the cost of the whole range."""

    cost: ReportedCost
    frame: Frame
    placed: dict[int, Placed]
    schedules: dict[int, Priced]
    held: tuple[FrameValue, ...]
    walk: RowWalk | None = None
    kept: tuple[FrameValue, ...] = ()
    """Of a group that walks rows the bands, and the sliced operands whose rows stay as long as bands read them."""


@dataclass(frozen=True)
class Option:
    """One way to run a group: its held operands, what is resident with members, and the same as it is costed."""

    held: tuple[FrameValue, ...]
    placed: dict[int, Placed]
    fitting: dict[int, Placed]


class Layout:
    """What is in SPM while a group runs by a micro-batch."""

    def __init__(self, designs: MemberCosts, frame: Frame, first: int, micro: int):
        self.designs, self.frame, self.micro = designs, frame, micro
        self.steps = {number: designs.chain.steps[first + number] for number in frame.members}
        self.runs = designs.chain.samples // micro
        self.sums = [value for value in frame.values if value.is_sum]
        self.passing = [v for v in frame.values if not v.is_sum and not v.whole and len(v.accesses) > 1]

    def best(self, limit: float = inf) -> Design | None:
        """The best of the shares of the room that may be held; None where it scores above a limit, or none fits."""
        found = self._fitting()
        if found is None:
            return None
        best: tuple[float, int, Design] | None = None
        options = [(self._score(self._total(one, {})), number, one) for number, one in enumerate(self._options(*found))]
        for bound, number, option in sorted(options, key=lambda one: one[:2]):
            design = self._design(option, limit) if bound <= limit else None
            if design is not None:
                score = self._score(design.cost)
                if score <= limit and (best is None or (score, number) < best[:2]):
                    best = score, number, design
                    limit = score
        return None if best is None else best[2]

    def holds_all(self) -> bool:
        """Whether all that passes between members fits in SPM."""
        found = self._fitting()
        return found is not None and len(found[0]) == len(self.passing)

    def _score(self, cost: ReportedCost) -> float:
        return cost.score(self.designs.objective)

    def _options(self, chosen: list[FrameValue], first: Option) -> Iterator[Option]:
        """With what passes in SPM, the options that hold no operands and those that hold some, of those that fit."""
        yield first
        if self.runs == 1:
            return
        wholes = sorted((v for v in self.frame.values if v.whole), key=lambda v: -v.bytes)
        free = self.designs.machine.spm_bytes - max(self._taken(n, chosen, ()) for n in self.frame.members)
        tried: set[tuple[FrameValue, ...]] = {()}
        for share, of in SHARES:
            held = tuple(fitting_in(wholes, free * share // of))
            if held not in tried:
                tried.add(held)
                one = self._option(chosen, held)
                if isinstance(one, Option):
                    yield one

    def _fitting(self) -> tuple[list[FrameValue], Option] | None:
        """What passes in SPM, as much as fits, with the option that holds no operands."""
        chosen = list(self.passing)
        for _ in range(TRIES):
            found = self._option(chosen, ())
            if isinstance(found, Option):
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

    def _option(self, chosen: list[FrameValue], held: tuple[FrameValue, ...]) -> Option | int:
        """The option with these values in SPM; the first member that does not fit where one does not."""
        placed: dict[int, Placed] = {}
        fitting: dict[int, Placed] = {}
        for number, step in self.steps.items():
            placed[number] = self._placed(number, chosen, held)
            fits = self.designs.fitting(step, self.micro, placed[number])
            if fits is None:
                return number
            fitting[number] = fits
        return Option(held, placed, fitting)

    def _design(self, option: Option, limit: float) -> Design | None:
        """The group of an option; None where it scores above a limit, mostly at less effort than to cost it."""
        costs: dict[int, Priced] = {}
        for search in (False, True):
            for number, step in self.steps.items():
                if number in costs:
                    continue
                if self._score(self._total(option, costs)) > limit:
                    return None
                cost = self.designs.cost(step, self.micro, option.fitting[number], search=search)
                if cost is not None:
                    costs[number] = cost
                elif search:
                    return None
        schedules = {number: costs[number] for number in self.frame.members}
        return Design(self._total(option, costs), self.frame, option.placed, schedules, option.held)

    def _total(self, option: Option, costs: Mapping[int, Priced]) -> ReportedCost:
        """The cost of an option; a lower bound of it where costs of members are not known."""
        once = summed(
            costs[number].cost
            if number in costs
            else least_of_member(self.designs.of(step, self.micro), option.fitting[number].unmoved)
            for number, step in self.steps.items()
        )
        joules = None if once.joules is None else once.joules * self.runs
        all_runs = ReportedCost(once.cycles * self.runs, once.moved * self.runs, joules)
        return summed([all_runs, *map(self._moved, map(self._size, option.held)), *map(self._summed, self.sums)])

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


def fitting_in(values: list[FrameValue], room: int) -> Iterator[FrameValue]:
    """The largest of the values that fit, one after another."""
    for value in values:
        if value.bytes <= room:
            room -= value.bytes
            yield value
