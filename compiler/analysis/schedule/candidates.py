"""
The best candidate of `space.py`: all candidates are costed at once, and those that do not fit the SPM are dropped.

Traffic and energy are exact, so that the best candidate by them is the best of the space. Time is estimated: the larger
of computation and transfers, plus the first load and last store, plus loads that the free SPM is too small to hide. The
exact pipeline model then times, in the order of the estimates, all candidates whose lower bound is not above the best
time, but for those that need no less of anything than another one: SPM, traffic, array cycles, first load and last
store, and even loads. These needs do not depend on the machine's SPM and bandwidth, so that a larger machine times all
that a smaller one does.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import ceil
from sys import float_info
from typing import Protocol

import numpy as np

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.blocks import touched
from npuc.compiler.analysis.nest.elements import Bits
from npuc.compiler.analysis.schedule.costs import CandidateCosts, Objective
from npuc.compiler.analysis.schedule.exact_cost import exact_cost
from npuc.compiler.analysis.schedule.floors.last_tile import cycles_with, last_cycles, once
from npuc.compiler.analysis.schedule.grid_places import GridSteps
from npuc.compiler.analysis.schedule.least_needs import Candidates, LeastNeeds, lowest
from npuc.compiler.analysis.schedule.loop_orders import ResidencyChoices, all_choices, loop_orders
from npuc.compiler.analysis.schedule.near_ties import NEXT
from npuc.compiler.analysis.schedule.residency_options import ALONE, Beside
from npuc.compiler.analysis.schedule.space import Grid
from npuc.dialects.npu.nest import Nest, Schedule

ALIKE = 1.0001
"""Times within this factor count as equal among programs that run in turn, and that with less traffic wins."""
ROUNDING = 1 + 1e-12
"""A bound that exceeds a score by less may be its own, as both are rounded."""
NEAR_TRIALS = 8
"""The most candidates near the best score that are timed for the next measure."""
PROBED = 32
"""The number of most promising positions, which are costed first to bound all others."""
MOST = float_info.max


@dataclass(frozen=True)
class FoundSchedule:
    """A schedule with the exact value of its objective, and the bits that it moves."""

    schedule: Schedule
    score: float
    moved: float


class Price(Protocol):
    """
    What decides about the times of schedules of a nest, which may be part of what is priced.

    No schedule of the nest takes longer by itself than its price.
    """

    @property
    def counts_rest(self) -> bool:
        """Whether elements of the nest's outputs that no statement touches count."""
        ...

    def of(self, schedule: Schedule, limit: float) -> tuple[float, float]:
        """The time with a schedule of the nest, and the bits that move; above `limit` a lower bound of the time."""
        ...


def best_candidate(
    nest: Nest,
    machine: Machine,
    objective: Objective,
    widths: Bits,
    order: tuple[str, ...],
    *,
    fine: bool,
    limit: float = MOST,
    every_edge: bool = False,
    price: Price | None = None,
) -> FoundSchedule | None:
    """
    The best schedule of the coarse or the fine candidates; None if none fits, or all cost more than `limit`.

    With `every_edge` those that are timed do not depend on the array's edge either (`CandidateCosts`). With a `price`,
    for the objective time, its times decide among the candidates, not those of the nest.
    """
    rest = price is None or price.counts_rest or not has_rest(nest)
    space = space_of(nest, machine, objective, widths, order, fine, every_edge, rest)
    if limit < MOST and space.least > ROUNDING * limit:
        return None
    # A few of the most promising positions first: candidates whose bound exceeds their score are pruned.
    probed = space.candidates(limit, probed=PROBED)
    if not len(probed.row) and len(space.steps.at) <= PROBED:
        return None
    most = limit
    if len(probed.row):
        most = min(limit, ROUNDING * _exact(space, probed, int(probed.score.argmin()), price, limit))
    while True:
        found = space.candidates(most)
        best = _best(space, found, price, limit) if len(found.row) else None
        if best is None or best.score <= most or most == limit:
            return best
        # What was probed is not among those that are timed: its score has pruned too much.
        most = min(limit, ROUNDING * best.score)


@lru_cache(maxsize=4096)
def has_rest(nest: Nest) -> bool:
    """Whether an output of a nest, or its start, has elements that no statement touches."""
    tensors = (*nest.outs, *(start for start in nest.starts if start is not None))
    return any(touched(tensor, nest.sizes) < tensor.elements for tensor in tensors)


class Space:
    """The candidates of a nest, and those that were costed last."""

    def __init__(self, costs: CandidateCosts, order: tuple[str, ...]):
        self.costs, self.order, self.budget = costs, order, costs.machine.spm_bytes
        self._known: tuple[float, Candidates] | None = None
        self._priced: dict[tuple[int, int], tuple[Schedule, float, float]] = {}

    @cached_property
    def least(self) -> float:
        """A lower bound of the score of all candidates; `inf` where none fits."""
        return self.least_beside(ALONE)

    def least_beside(self, beside: Beside) -> float:
        """The bound for a core beside others."""
        nest, groups, found = self.costs.nest, self.costs.groups, self.costs.residencies
        return self.costs.least(loop_orders(nest, groups, found, self.order), self.budget, beside)

    @cached_property
    def choices(self) -> ResidencyChoices:
        """The residency choices in all loop orders."""
        costs = self.costs
        return all_choices(costs.nest, costs.widths, costs.groups, costs.residencies, self.order)

    @cached_property
    def steps(self) -> GridSteps:
        """The positions of the grid where candidates may fit."""
        return self.costs.steps(self.choices, self.budget)

    def priced(
        self, found: Candidates, number: int, price: Price | None, limit: float
    ) -> tuple[Schedule, float, float]:
        """A candidate, its exact score, and the bits that move; of a price above `limit` a lower bound."""
        costs, key = self.costs, (int(found.row[number]), int(found.at[number]))
        if price is not None:
            schedule = self.schedule(found, number)
            return schedule, *price.of(schedule, limit)
        if key not in self._priced:
            schedule = self.schedule(found, number)
            cost = exact_cost(costs.nest, schedule, costs.machine, costs.objective, costs.widths)
            self._priced[key] = schedule, *cost
        return self._priced[key]

    def schedule(self, found: Candidates, number: int) -> Schedule:
        """The schedule of a candidate."""
        return self.costs.schedule(self.choices, int(found.row[number]), int(found.at[number]))

    def ending(self, found: Candidates, number: int) -> float:
        """The least time of a candidate by its loads and its last tile operation, which takes longer than its floor."""
        costs, machine = self.costs, self.costs.machine
        if not machine.double_buffer:
            return 0.0
        cycles = last_cycles(costs.nest, self.schedule(found, number), machine.array) + once(machine.array)
        return cycles_with(cycles, int(found.moved[number]) - ceil(costs.untouched / costs.parts), machine)

    def candidates(self, most: float, *, probed: int | None = None) -> Candidates:
        """The candidates with a bound of at most `most`, or more; of so many positions if they are `probed`."""
        if probed is not None:
            return self.costs.candidates(self.choices, self.steps, most, self.budget, most=probed)
        if self._known is None or self._known[0] < most:
            self._known = most, self.costs.candidates(self.choices, self.steps, most, self.budget)
        return self._known[1]


@lru_cache(maxsize=32)
def space_of(
    nest: Nest,
    machine: Machine,
    objective: Objective,
    widths: Bits,
    order: tuple[str, ...],
    fine: bool,
    every_edge: bool,
    rest: bool,
) -> Space:
    """The candidates of a nest that may fit, before any is costed."""
    costs = CandidateCosts(nest, machine, objective, widths, fine=fine, every_edge=every_edge, rest=rest)
    return Space(costs, order)


def near_candidates(
    nest: Nest,
    machine: Machine,
    objective: Objective,
    widths: Bits,
    order: tuple[str, ...],
    most: float,
    *,
    fine: bool,
    every_edge: bool = False,
) -> Iterator[Schedule]:
    """
    Candidates whose exact score is at most `most`, the best by the estimate of the next measures first.

    Energy and traffic are no estimates, so that where they decide the first is the best.
    """
    space = space_of(nest, machine, objective, widths, order, fine, every_edge, True)
    found = space.candidates(most)
    near = np.flatnonzero(found.score <= most)
    by_name = {"time": found.time, "traffic": found.moved, "energy": found.joules}
    measures = [found.moved, *(by_name[one] for one in reversed(NEXT[objective]))]
    ranked = near[np.lexsort([found.score[near], *(values[near] for values in measures)])]
    seen: set[tuple[float, ...]] = set()
    for number in map(int, ranked):
        alike = tuple(float(values[number]) for values in (found.score, found.time, found.moved, found.bound))
        if alike in seen:
            continue
        if len(seen) == NEAR_TRIALS:
            return
        seen.add(alike)
        if objective == "time" and (found.floor(number) > most or space.ending(found, number) > most):
            continue
        schedule = space.schedule(found, number)
        if exact_cost(nest, schedule, machine, objective, widths)[0] <= most:
            yield schedule
            if NEXT[objective][0] != "time":
                return


def _exact(space: Space, found: Candidates, number: int, price: Price | None, limit: float) -> float:
    """The exact score of a candidate, or of a price one above `limit`; for traffic and energy it is known already."""
    if space.costs.objective not in ("time", "edp"):
        return float(found.score[number])
    return space.priced(found, number, price, limit)[1]


def _best(space: Space, found: Candidates, price: Price | None, within: float) -> FoundSchedule:
    """
    The best candidate by score, then traffic, SPM, and position; where all prices are above `within` any of them.

    Of time only an estimate is known: all candidates are timed whose bound is not above the best score, but for those
    that need no less of anything than another (`Candidates.needs`).
    """
    costs, score, bound, moved, room = space.costs, found.score, found.bound, found.moved, found.room
    if costs.objective not in ("time", "edp"):
        first = int(np.lexsort((room, found.time, moved, score))[0])
        return FoundSchedule(space.schedule(found, first), float(score[first]), float(moved[first]))
    best: FoundSchedule | None = None
    least: tuple[float, ...] = (MOST,)
    numbers = _within_reach(space, found, price, within)
    near, needs = bound[numbers], found.compared(numbers)
    for number in needs.left(np.lexsort((moved[numbers], near, score[numbers]))):
        equal = needs.take(number)
        if equal is None:
            continue
        for first in _least_by_edge(space.costs, found, numbers[equal]):
            # The whole of which a nest is a part may move less.
            rest = (float(moved[first]), float(room[first]), float(first)) if price is None else ()
            if costs.objective == "time" and (
                (found.floor(first), *rest) >= least or (space.ending(found, first), *rest) >= least
            ):
                continue
            schedule, exact, bits = space.priced(found, first, price, min(within, least[0]))
            entry = exact, float(bits), float(room[first]), float(first)
            if entry < least:
                best, least = FoundSchedule(schedule, exact, bits), entry
                # What needs less than a candidate has no larger bound.
                needs.keep(near <= ROUNDING * exact)
    assert best is not None, "what needs least is among the candidates"
    return best


def _within_reach(space: Space, found: Candidates, price: Price | None, within: float) -> Grid:
    """
    The candidates that may be the best, mostly few: where nothing covers the first by the estimate, those whose bound
    is not above its exact score, and not as large where they move more. What covers a candidate is among them with it.
    """
    bound, moved, room = found.bound, found.moved, found.room
    first = int(lowest((found.score, bound, moved, room))[0])
    some = np.flatnonzero((bound <= bound[first]) & (moved <= moved[first]) & (room <= room[first]))
    equal = found.compared(some).take(int(np.searchsorted(some, first)))
    if equal is None:
        return np.arange(len(found.row))
    timed = _least_by_edge(space.costs, found, some[equal])[0]
    exact = space.priced(found, timed, price, within)[1]
    near = bound <= ROUNDING * max(exact, float(bound[first]))  # A price above `within` may be a bound, and less.
    # Times are whole multiples of a tick: two within the rounding of floats are equal if that is less than a tick.
    if price is None and space.costs.objective == "time" and 4 * (ROUNDING - 1) * exact < space.costs.tick:
        more = (moved > moved[timed]) | ((moved == moved[timed]) & (room > room[timed]))
        near &= ~(more & (bound >= exact / ROUNDING))
    return np.flatnonzero(near)


def _least_by_edge(costs: CandidateCosts, found: Candidates, equal: Grid) -> list[int]:
    """Of candidates of equal needs the first, or the first ones that need least with other edges of the array."""
    if len(equal) == 1 or not costs.ties_by_edge:
        return [int(equal[0])]
    on_edges = found.on_edges(equal)
    if not len(on_edges):
        return [int(equal[0])]
    needs = LeastNeeds(on_edges)
    taken = (needs.take(number) for number in range(len(equal)))
    return [int(equal[one[0]]) for one in taken if one is not None]
