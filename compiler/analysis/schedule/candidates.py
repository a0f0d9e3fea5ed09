"""
The best candidate of `space.py`: all candidates are costed at once, and those that do not fit the SPM are dropped.

Traffic and energy are exact, so that the best candidate by them is the best of the space. Time is estimated: the larger
of computation and transfers, plus the first load and last store, plus loads that the free SPM is too small to hide. The
best estimates are then timed by the exact pipeline model, in the order of a lower bound of their time, until no other
candidate can win.
"""

from dataclasses import dataclass
from sys import float_info

import numpy as np

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.elements import Bits
from npuc.compiler.analysis.schedule.costs import CandidateCosts, Candidates, Objective
from npuc.compiler.analysis.schedule.exact_cost import exact_cost
from npuc.compiler.analysis.schedule.loop_orders import ResidencyChoices, all_choices
from npuc.compiler.analysis.schedule.space import Grid
from npuc.dialects.npu.nest import Nest, Schedule

TIMED = 48
"""The number of candidates with the best estimates from which the exact pipeline model chooses."""
TRIALS = 24
"""The largest number of candidates that are timed."""
EFFORT = 1500
"""The largest number of tile operations in flight at a time, summed over the candidates that are timed."""
ALIKE = 1.0001
"""Times within this factor count as equal, and the candidate with less traffic wins."""
PROBED = 32
"""The number of most promising positions, which are costed first to bound all others."""
MOST = float_info.max


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
) -> FoundSchedule | None:
    """The best schedule of the coarse or the fine candidates; None if none fits, or all cost more than `limit`."""
    costs = CandidateCosts(nest, machine, objective, widths, fine=fine)
    budget = machine.spm_bytes
    choices = all_choices(nest, widths, costs.groups, costs.residencies, order)
    steps = costs.steps(choices, budget)
    # A few of the most promising positions first: candidates whose bound exceeds their score are pruned.
    probed = costs.candidates(choices, steps, limit, budget, most=PROBED)
    if not len(probed.row) and len(steps.at) <= PROBED:
        return None
    if len(probed.row):
        limit = min(limit, _exact(costs, choices, probed, int(probed.score.argmin())) * ALIKE)
    found = costs.candidates(choices, steps, limit, budget)
    return _best(costs, choices, found) if len(found.row) else None


def _exact(costs: CandidateCosts, choices: ResidencyChoices, found: Candidates, number: int) -> float:
    """The exact score of a candidate; for traffic and energy the score is exact already."""
    if costs.objective not in ("time", "edp"):
        return float(found.score[number])
    schedule = costs.schedule(choices, int(found.row[number]), int(found.at[number]))
    return exact_cost(costs.nest, schedule, costs.machine, costs.objective, costs.widths)[0]


def _best(costs: CandidateCosts, choices: ResidencyChoices, found: Candidates) -> FoundSchedule:
    """The best candidate by score, then time, traffic, SPM, and position."""
    score, time, bound, moved, room, at = found.score, found.time, found.bound, found.moved, found.room, found.at

    def schedule(number: int) -> Schedule:
        return costs.schedule(choices, int(found.row[number]), int(at[number]))

    few: Grid = np.arange(len(score))
    if len(score) > TIMED:
        few = np.flatnonzero(score <= np.partition(score, TIMED)[TIMED])
    ranked = few[np.lexsort((room[few], moved[few], time[few], score[few]))][:TIMED]
    first = int(ranked[0])
    if costs.objective not in ("time", "edp"):
        return FoundSchedule(schedule(first), float(score[first]), float(moved[first]))
    # In turn the best by the estimate, by the bound, and by traffic among those of the least estimate: either of the
    # first two may mislead, and a cycle is not worth much traffic. Of candidates with equal costs only one is timed.
    cheap = ranked[score[ranked] <= score[first] * ALIKE]
    orders = (ranked, ranked[np.argsort(bound[ranked], kind="stable")], cheap[np.argsort(moved[cheap], kind="stable")])
    turns = [int(order[n]) for n in range(len(ranked)) for order in orders if n < len(order)]
    on_way = costs.tiles(at[ranked]) * np.minimum(1.0, costs.machine.spm_bits / np.maximum(moved[ranked], 1))
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
        exact, _ = exact_cost(costs.nest, schedule(number), costs.machine, costs.objective, costs.widths)
        timed.append((exact, float(moved[number]), int(room[number]), number))
    least = min(timed)[0]
    exact, traffic, _, number = min((t for t in timed if t[0] <= least * ALIKE), key=lambda t: (t[1], t[2], t[0]))
    return FoundSchedule(schedule(number), exact, traffic)
