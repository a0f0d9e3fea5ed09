"""
The best of the candidates of `space.py`: they are all priced at once, and what does not fit the SPM is dropped.

Traffic and energy are exact, so the best by them is the best of the space. For time the price is an estimate: the
larger of computation and transfers, plus the first load and last store, plus the loads that the room for data on its
way is too small to hide. The best by it are timed by the exact pipeline, in the order of a lower bound of their time,
until no other can win.
"""

from dataclasses import dataclass
from sys import float_info

import numpy as np

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.elements import Bits
from npuc.compiler.analysis.schedule.costs import Candidates, Objective, Prices
from npuc.compiler.analysis.schedule.exact_cost import price_of
from npuc.compiler.analysis.schedule.loop_orders import Ways, all_ways
from npuc.compiler.analysis.schedule.space import Grid
from npuc.dialects.npu.nest import Nest, Schedule

TIMED = 48
"""The candidates with the best estimates among which the exact pipeline chooses."""
TRIALS = 24
"""The most that are timed."""
EFFORT = 1500
"""The most tile operations on their way at a time, summed up over the candidates that are timed."""
ALIKE = 1.0001
"""Times within this factor are taken for equal, and the one with less traffic wins."""
PROBED = 32
"""The most promising steps of an order, which are priced first for a limit to all others."""
MOST = float_info.max


@dataclass(frozen=True)
class FoundSchedule:
    """A schedule with what is minimised, exactly, and its bits."""

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
) -> FoundSchedule | None:
    """The best schedule of the coarse or the fine candidates; None if none fits, or all cost more than `limit`."""
    prices = Prices(nest, machine, objective, widths, fine=fine)
    budget = machine.spm_bytes
    ways = all_ways(nest, widths, prices.groups, prices.holders, order)
    steps = prices.steps(ways, budget)
    # A few of the most promising steps first, for a limit: what has a bound above it is left out.
    probed = prices.candidates(ways, steps, limit, budget, most=PROBED)
    if not len(probed.row) and len(steps.at) <= PROBED:
        return None
    if len(probed.row):
        limit = min(limit, _exact(prices, ways, probed, int(probed.score.argmin())) * ALIKE)
    found = prices.candidates(ways, steps, limit, budget)
    return _best(prices, ways, found) if len(found.row) else None


def _exact(prices: Prices, ways: Ways, found: Candidates, number: int) -> float:
    """What a candidate costs: of traffic and energy the price is no estimate."""
    if prices.objective not in ("time", "edp"):
        return float(found.score[number])
    schedule = prices.schedule(ways, int(found.row[number]), int(found.at[number]))
    return price_of(prices.nest, schedule, prices.machine, prices.objective, prices.widths)[0]


def _best(prices: Prices, ways: Ways, found: Candidates) -> FoundSchedule:
    """The best candidate: by score, then time, traffic, room, and their order."""
    score, time, bound, moved, room, at = found.score, found.time, found.bound, found.moved, found.room, found.at

    def schedule(number: int) -> Schedule:
        return prices.schedule(ways, int(found.row[number]), int(at[number]))

    few: Grid = np.arange(len(score))
    if len(score) > TIMED:
        few = np.flatnonzero(score <= np.partition(score, TIMED)[TIMED])
    ranked = few[np.lexsort((room[few], moved[few], time[few], score[few]))][:TIMED]
    first = int(ranked[0])
    if prices.objective not in ("time", "edp"):
        return FoundSchedule(schedule(first), float(score[first]), float(moved[first]))
    # By turns the best by the estimate, by the bound, and by traffic of those that cost as little: either of the first
    # two may be misled, and a cycle is not worth much traffic. Of those that all prices take for equal, one.
    cheap = ranked[score[ranked] <= score[first] * ALIKE]
    orders = (ranked, ranked[np.argsort(bound[ranked], kind="stable")], cheap[np.argsort(moved[cheap], kind="stable")])
    turns = [int(order[n]) for n in range(len(ranked)) for order in orders if n < len(order)]
    on_way = prices.tiles(at[ranked]) * np.minimum(1.0, prices.machine.spm_bits / moved[ranked])
    pending = dict(zip(map(int, ranked), map(float, on_way), strict=True))
    quickest = min(turns, key=lambda number: pending[number])
    left = float(EFFORT)
    seen: set[tuple[float, float, float]] = set()
    timed: list[tuple[float, float, int, int]] = []
    for number in dict.fromkeys(turns):
        alike = (float(score[number]), float(bound[number]), float(moved[number]))
        least = min(timed)[0] if timed else MOST
        if timed and (len(timed) == TRIALS or alike in seen or bound[number] > least * ALIKE):
            continue
        if number != quickest and pending[number] > left:
            continue
        left -= pending[number]
        seen.add(alike)
        exact, _ = price_of(prices.nest, schedule(number), prices.machine, prices.objective, prices.widths)
        timed.append((exact, float(moved[number]), int(room[number]), number))
    least = min(timed)[0]
    exact, traffic, _, number = min((t for t in timed if t[0] <= least * ALIKE), key=lambda t: (t[1], t[2], t[0]))
    return FoundSchedule(schedule(number), exact, traffic)
