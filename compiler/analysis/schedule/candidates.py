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
from functools import lru_cache

import numpy as np

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.blocks import touched
from npuc.compiler.analysis.nest.elements import Bits
from npuc.compiler.analysis.schedule.costs import CandidateCosts, Objective
from npuc.compiler.analysis.schedule.exact_cost import exact_cost
from npuc.compiler.analysis.schedule.grid.space import Grid
from npuc.compiler.analysis.schedule.least_needs import Candidates, LeastNeeds, lowest
from npuc.compiler.analysis.schedule.machine_space import MOST, Price, Space, space_of
from npuc.compiler.analysis.schedule.near_ties import NEXT
from npuc.dialects.npu.nest import Nest, Schedule

ALIKE = 1.0001
"""Times within this factor count as equal among programs that run in turn, and that with less traffic wins."""
ROUNDING = 1 + 1e-12
"""A bound that exceeds a score by less may be its own, as both are rounded."""
NEAR_TRIALS = 8
"""The most candidates near the best score that are timed for the next measure."""
PROBED = 32
"""The number of most promising positions, which are costed first to bound all others."""


@dataclass(frozen=True)
class FoundSchedule:
    """A schedule with the exact value of its objective, and the bits that it moves."""

    schedule: Schedule
    score: float
    moved: float


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
    # Candidates are pruned whose bound exceeds the score of a good one.
    most = space.best_before() if price is None else None
    if most is None:
        # A few of the most promising positions first.
        probed = space.candidates(limit, probed=PROBED)
        if not len(probed.row) and len(space.steps.at) <= PROBED:
            return None
        if len(probed.row):
            most = _exact(space, probed, int(probed.score.argmin()), price, limit)
    most = limit if most is None else min(limit, ROUNDING * most)
    while True:
        found = space.candidates(most)
        best = _best(space, found, price, limit) if len(found.row) else None
        if best is None or best.score <= most or most == limit:
            return best
        # What has pruned is not among those that are timed, and its score has pruned too much.
        most = min(limit, ROUNDING * best.score)


@lru_cache(maxsize=4096)
def has_rest(nest: Nest) -> bool:
    """Whether an output of a nest, or its start, has elements that no statement touches."""
    tensors = (*nest.outs, *(start for start in nest.starts if start is not None))
    return any(touched(tensor, nest.sizes) < tensor.elements for tensor in tensors)


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
        space.remember(found, first)
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
    space.remember(found, int(least[-1]))
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
