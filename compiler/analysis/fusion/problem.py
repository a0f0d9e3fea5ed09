"""
The problem of fusing layers: which neighbours of a sequence run by micro-batches together, and by which micro-batch.

After DNNFuser (Kao, Huang, Krishna, arXiv 2201.11218): a layer is followed by the next one on chip, for so many samples
at a time, or by a synchronisation with DRAM. Here a group has one micro-batch, and what it costs is an exact price of
the backend's model, asked for group by group (`Prices`); all else is a frozen problem without IR.

A step is an operation. A group is a range of steps, from its first to its last: steps in between that do not run by
micro-batches run before it or after it, and their cost is part of the range's.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, TypeAlias, runtime_checkable

from npuc.compiler.analysis.programs.reported_costs import ReportedCost
from npuc.compiler.analysis.schedule.costs import Objective


@dataclass(frozen=True)
class FusionStep:
    """
    One operation: its layer, whether it may run by micro-batches, and its work on all samples.

    `reads` and `writes` are numbers of values; `sums` are those of `writes` that are sums over samples. `busy` are the
    cycles that the array or the vector unit works on it by itself, without waits for data.
    """

    name: str
    fusible: bool
    macs: int
    vector_ops: int
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    sums: tuple[int, ...] = ()
    busy: int = 0


@dataclass(frozen=True)
class FusionValue:
    """A tensor: its bytes for all samples, whether it has samples (else it is read whole), whether it is a result."""

    bytes: int
    sampled: bool
    leaves: bool = False


@dataclass(frozen=True)
class FusionProblem:
    """
    The steps in their order, their values, the samples and the micro-batches that may be tried.

    `room` are the bytes of SPM that a group may use, `channel` the bytes per cycle between DRAM and SPM, `macs` those
    that the array does in a cycle. All of it describes; what a range costs only `Prices` says.
    """

    steps: tuple[FusionStep, ...]
    values: tuple[FusionValue, ...]
    samples: int
    micro_batches: tuple[int, ...]
    room: int
    objective: Objective
    channel: Fraction
    macs: int


@dataclass(frozen=True)
class FusedGroup:
    """The steps from `first` to `last`, both included, by micro-batches of `micro` samples."""

    first: int
    last: int
    micro: int


FusionPlan: TypeAlias = tuple[FusedGroup, ...]
"""Groups in the order of their steps, none of which share a step; all other steps run as before."""


class Prices(Protocol):
    """What steps cost, exactly as the backend reports it."""

    def alone(self, step: int) -> ReportedCost:
        """The cost of a step by itself."""
        ...

    def group(self, first: int, last: int, micro: int) -> ReportedCost | None:
        """The cost of all steps of a range with a group in it; None where there is no such group."""
        ...

    def ends(self, first: int) -> Iterable[int]:
        """The last steps of the ranges from a first one that may have a group, in ascending order."""
        ...


@runtime_checkable
class Bounded(Prices, Protocol):
    """Prices that also know, at little effort, what a range costs at least, and whether it costs too much."""

    def least(self, first: int, last: int, micro: int) -> ReportedCost:
        """No less than this many cycles, bits and joules each has every group of a range, with the steps around it."""
        ...

    def within(self, first: int, last: int, micro: int, limit: float) -> ReportedCost | None:
        """What `group` says; None where that scores above a limit."""
        ...


Mapper: TypeAlias = Callable[[FusionProblem, Prices], FusionPlan]
"""Answers with a plan. A mapper may propose anything: `improving` keeps what pays off by the exact prices."""


def summed(costs: Iterable[ReportedCost]) -> ReportedCost:
    """The cost of steps one after another."""
    cycles, moved, joules = 0, 0, 0.0
    known = True
    for cost in costs:
        cycles, moved = cycles + cost.cycles, moved + cost.moved
        known = known and cost.joules is not None
        joules += cost.joules or 0.0
    return ReportedCost(cycles, moved, joules if known else None)


def plan_cost(problem: FusionProblem, prices: Prices, plan: FusionPlan) -> ReportedCost | None:
    """The cost of all steps under a plan; None where a group of it is impossible."""
    costs: list[ReportedCost] = []
    step = 0
    for group in plan:
        costs += [prices.alone(number) for number in range(step, group.first)]
        price = prices.group(group.first, group.last, group.micro)
        if price is None:
            return None
        costs.append(price)
        step = group.last + 1
    return summed([*costs, *(prices.alone(number) for number in range(step, len(problem.steps)))])


def improving(problem: FusionProblem, prices: Prices, plan: FusionPlan) -> FusionPlan:
    """The groups of a plan that are possible and make the program better by the objective, taken one by one."""
    kept: FusionPlan = ()
    best = plan_cost(problem, prices, kept)
    assert best is not None
    for group in plan:
        found = plan_cost(problem, prices, (*kept, group))
        if found is not None and found.score(problem.objective) < best.score(problem.objective):
            kept, best = (*kept, group), found
    return kept
