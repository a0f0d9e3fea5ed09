"""
The split with the least product of the step's time and the bandwidths' cost.

The product is not convex, but the pairs of cost and time that splits reach, and all above them, are a convex set: its
border is approached from outside by lines

    time + weight x cost >= least of it over all splits

each of which is a convex search. A product on a line is concave, so that below all lines it is least where two of them
meet; the line with the slope of the product there cuts that corner off (outer approximation in the space of outcomes;
Benson, "An outcome space branch and bound-outer approximation algorithm for convex multiplicative programming", Journal
of Global Optimization 15, 1999). The least corner is a bound for all splits, so that no other start could do better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from npuc.compiler.analysis.bandwidth.fastest import (
    PATIENCE,
    BandwidthSplit,
    checked_rooms,
    fastest_split,
    usual_bandwidth,
)
from npuc.compiler.analysis.bandwidth.feasible import extreme, inner_split
from npuc.compiler.analysis.bandwidth.limits import LinearLimit
from npuc.compiler.analysis.bandwidth.program import CutProgram
from npuc.compiler.analysis.bandwidth.traffic import Floats, StepTraffic
from npuc.compiler.core.errors import CapacityError

GAP = 1e-8
"""The share above its bound at which a product counts as the least."""
LINES = 40
"""Lines that are drawn at most."""
ROUNDS = 30
"""Linear programs for each line at most."""
Line = tuple[float, float]
"""The least of time + weight x cost, and the weight."""


@dataclass
class _Outcomes:
    """The search: lines below all outcomes, and the best split so far."""

    cuts: CutProgram
    prices: Floats
    cheapest: float
    best: Floats
    lines: list[Line] = field(default_factory=list[Line])

    def product(self, bandwidths: Floats) -> float:
        """Seconds times cost."""
        return float(self.cuts.step.seconds(bandwidths)) * float(self.prices @ bandwidths)

    def draw(self, weight: float) -> None:
        """Add the line of a weight."""
        step, cuts, low, high, gaps = self.cuts.step, self.cuts, -np.inf, np.inf, list[float]()
        for _ in range(ROUNDS):
            found = cuts.solve(self.prices, weight)
            if found is None or found.values is None:
                return
            bandwidths = found.values[: step.levels] * cuts.unit
            low = max(low, found.bound * cuts.slowest)
            high = min(high, float(step.seconds(bandwidths)) + weight * float(self.prices @ bandwidths))
            self.best = min(self.best, bandwidths, key=self.product)
            gaps.append(high - low)
            if gaps[-1] <= GAP / 10 * low or gaps[-1] >= min(gaps[:-PATIENCE], default=np.inf):
                break
            cuts.cut(bandwidths)
        self.lines.append((low, weight))

    def least_corner(self) -> tuple[float, float]:
        """Cost and time of the least product that is below no line, at costs of splits."""
        lines = sorted(self.lines, key=lambda line: line[1])
        costs = {self.cheapest}
        for number, (height, weight) in enumerate(lines):
            for other, slope in lines[number + 1 :]:
                if slope > weight:
                    costs.add((other - height) / (slope - weight))
        corners = [(cost, self._time(cost)) for cost in costs if cost >= self.cheapest]
        return min(corners, key=lambda corner: corner[0] * corner[1])

    def _time(self, cost: float) -> float:
        """The time that no split of this cost is below."""
        return max(height - weight * cost for height, weight in self.lines)


def least_product(
    step: StepTraffic, limits: Sequence[LinearLimit], prices: Sequence[float], others: Sequence[Floats] = ()
) -> BandwidthSplit:
    """
    The split with the least product of seconds and cost at `prices`; of `others`, those that meet the limits have none
    that is less.

    Raises `CapacityError` where no split meets the limits, or where they leave bandwidth of any size or for nothing.
    """
    costs, scale = np.array(prices), usual_bandwidth(limits)
    start = inner_split(limits, (step.sent > 0).tolist(), scale)
    room = checked_rooms(step, limits, scale)
    least = extreme(limits, step.levels, scale, prices)
    cheapest = 0.0 if least is None else float(costs @ least)
    if cheapest <= 0:
        raise CapacityError(
            "time x cost has no least value: any bandwidth may be given up, or costs nothing",
            hint="a total of all levels, and a price of each level, fix what there is to share",
        )
    fast = np.array(fastest_split(step, limits, others).bandwidths)
    known = [start, fast, *(one for one in others if all(limit.holds(one) for limit in limits))]
    best = min(known, key=lambda one: float(step.seconds(one)) * float(costs @ one))
    slowest = float(step.seconds(best)) * float(costs @ best) / cheapest
    search = _Outcomes(CutProgram(step, limits, start, room, slowest), costs, cheapest, best)
    search.draw(0.0)
    search.draw(float(step.seconds(best)) / float(costs @ best))
    bound, gaps = -np.inf, list[float]()
    for _ in range(LINES):
        cost, time = search.least_corner()
        bound = max(bound, cost * time)
        gaps.append(search.product(search.best) - bound)
        if gaps[-1] <= GAP * bound or gaps[-1] >= min(gaps[:-PATIENCE], default=np.inf) or time <= 0:
            break
        search.draw(time / cost)
    value = search.product(search.best)
    seconds = float(step.seconds(search.best))
    return BandwidthSplit(tuple(search.best.tolist()), seconds, value, min(bound, value), "outcome space")
