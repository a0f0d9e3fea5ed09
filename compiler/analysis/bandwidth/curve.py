"""The shortest step for any total or price of a network: what a picture draws below all splits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from npuc.compiler.analysis.bandwidth.fastest import fastest_split
from npuc.compiler.analysis.bandwidth.limits import cost_limit
from npuc.compiler.analysis.bandwidth.traffic import StepTraffic


def fastest_curve(
    step: StepTraffic, prices: Sequence[float], least: float, most: float, points: int, also: Sequence[float] = ()
) -> list[tuple[float, float]]:
    """
    Amounts in a range, equal factors apart, and the seconds of the shortest step whose bandwidths cost so much.

    `prices` are those of a byte per second by level, 1 where amounts are totals in bytes per second; `also` are further
    amounts, at which a line through the points is exact.
    """
    amounts = sorted({*np.geomspace(least, most, points).tolist(), *also})
    return [(amount, fastest_split(step, [cost_limit(prices, amount, f"{amount:g}")]).seconds) for amount in amounts]
