"""
The split of bandwidth that makes a step shortest, with what proves it.

Where a closed form holds it is taken. With one limit, that the bandwidths b at prices p (1 for a total) cost R:

    one collective, levels at the same time     b = m R / sum of p m              seconds = sum of p m / R
    stages one after the other, in series       b = sqrt(m / p) R / sum of sqrt(p m)

with m the bytes of a level. In all other cases linear programs (`program.py`) approach it from below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from npuc.compiler.analysis.bandwidth.feasible import inner_split, rooms
from npuc.compiler.analysis.bandwidth.limits import LinearLimit
from npuc.compiler.analysis.bandwidth.program import CutProgram
from npuc.compiler.analysis.bandwidth.traffic import Floats, StepTraffic
from npuc.compiler.core.errors import CapacityError

GAP = 1e-9
"""The share above its bound at which a split counts as the best."""
ROUNDS = 100
"""Linear programs that are solved at most."""
PATIENCE = 5
"""Linear programs after which the search ends if the gap has not become smaller: the solver can say no more."""


@dataclass(frozen=True)
class BandwidthSplit:
    """
    A split: the bandwidth of each level, the seconds of the step, and what no split takes less than.

    `value` is what was minimised and `bound` what it is never below; `method` says how it was found.
    """

    bandwidths: tuple[float, ...]
    seconds: float
    value: float
    bound: float
    method: str

    @property
    def gap(self) -> float:
        """By what share the value is above its bound."""
        return max(0.0, self.value / self.bound - 1) if self.bound > 0 else 0.0 if self.value <= 0 else np.inf


def fastest_split(step: StepTraffic, limits: Sequence[LinearLimit], others: Sequence[Floats] = ()) -> BandwidthSplit:
    """
    The split with the shortest step. Of `others`, those that meet the limits are not shorter.

    Raises `CapacityError` where no split meets the limits, or where they leave a level any bandwidth.
    """
    known = [one for one in others if all(limit.holds(one) for limit in limits)]
    closed = closed_form(step, limits)
    if closed is not None:
        # another one is shorter by rounding at most
        best = min([np.array(closed.bandwidths), *known], key=lambda one: float(step.seconds(one)))
        seconds = float(step.seconds(best))
        return replace(closed, bandwidths=tuple(best.tolist()), seconds=seconds, value=seconds, bound=seconds)
    scale = usual_bandwidth(limits)
    start = inner_split(limits, (step.sent > 0).tolist(), scale)
    best = min([start, *known], key=lambda one: float(step.seconds(one)))
    cuts = CutProgram(step, limits, start, checked_rooms(step, limits, scale), float(step.seconds(best)))
    bound, seconds, gaps = -np.inf, float(step.seconds(best)), list[float]()
    for _ in range(ROUNDS):
        found = cuts.solve()
        if found is None or found.values is None:
            break
        bandwidths = found.values[: step.levels] * cuts.unit
        bound = max(bound, found.bound * cuts.slowest)
        best = min(best, bandwidths, key=lambda one: float(step.seconds(one)))
        seconds = float(step.seconds(best))
        gaps.append(seconds - bound)
        if gaps[-1] <= GAP * bound or gaps[-1] >= min(gaps[:-PATIENCE], default=np.inf):
            break
        cuts.cut(bandwidths)
    return BandwidthSplit(tuple(best.tolist()), seconds, seconds, min(bound, seconds), "outer approximation")


def usual_bandwidth(limits: Sequence[LinearLimit]) -> float:
    """A bandwidth of the usual size: the most that one limit leaves a level, else the largest that limits speak of."""
    most = np.full(max(len(limit.factors) for limit in limits), np.inf)
    for limit in limits:
        factors = np.array(limit.factors)
        for sign, side in ((1, limit.high), (-1, -limit.low)):
            if side > 0 and (sign * factors >= 0).all():
                most = np.minimum(most, np.divide(side, sign * factors, out=most.copy(), where=factors != 0))
    if np.isfinite(most).any():
        return float(most[np.isfinite(most)].max())
    sizes = [
        abs(side) / max(map(abs, limit.factors))
        for limit in limits
        for side in (limit.low, limit.high)
        if np.isfinite(side) and side and any(limit.factors)
    ]
    return max(sizes, default=1.0)


UNLIMITED = 1e5
"""How many times the usual bandwidth a level may have that nothing limits."""


def checked_rooms(step: StepTraffic, limits: Sequence[LinearLimit], scale: float) -> Floats:
    """The most bandwidth of each level. Raises `CapacityError` for one that sends and has no limit."""
    found = rooms(limits, step.levels, scale)
    for level in np.flatnonzero((step.sent > 0) & (found >= UNLIMITED * scale)):
        raise CapacityError(
            f"nothing limits the bandwidth of b{level + 1}",
            hint=f"give a total of all levels, a price of each, or a limit of this one, 'b{level + 1} <= 1000'",
        )
    return found


def closed_form(step: StepTraffic, limits: Sequence[LinearLimit]) -> BandwidthSplit | None:
    """The best split where a formula says it, None elsewhere."""
    if len(limits) != 1 or step.moments is not None or not np.isfinite(limits[0].high) or limits[0].high <= 0:
        return None
    prices, sent, used = np.array(limits[0].factors), step.sent, step.sent > 0
    if not used.any() or (prices[used] <= 0).any() or (prices < 0).any():
        return None
    if not step.pipelined:
        shares = np.sqrt(np.where(used, sent, 0.0) / np.where(used, prices, 1.0))
    elif len({tuple(row / row.sum()) for row in step.table if row.any()}) == 1:
        shares = sent
    else:
        return None
    split = shares * limits[0].high / float(prices @ shares)
    seconds = float(step.seconds(split))
    return BandwidthSplit(tuple(split.tolist()), seconds, seconds, seconds, "closed form")
