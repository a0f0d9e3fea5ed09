"""How much of the dense work is carried out: an expected value, with what is known of its error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
import numpy.typing as npt

Work = npt.NDArray[np.int64]


@dataclass(frozen=True)
class WorkFactor:
    """
    The expected share of the dense work, in (0, 1].

    `spread` is the standard deviation of the share of one unit (a pass of columns, a stream of rows), so that the mean
    of n independent units deviates by spread / sqrt(n). `error` is the standard error of `mean` itself: 0 where it is
    exact.
    """

    mean: float
    spread: float = 0.0
    error: float = 0.0

    @property
    def speed_up(self) -> float:
        """How many times as fast as dense work."""
        return 1.0 / self.mean

    def deviation(self, units: int) -> float:
        """The standard deviation by which the counted share of so many independent units differs from `mean`."""
        return sqrt(self.spread**2 / units + self.error**2)


DENSE = WorkFactor(1.0)
"""The factor of operands without zeros."""


def sampled(shares: Sequence[float] | npt.NDArray[np.float64], least: float) -> WorkFactor:
    """
    The factor of sampled units, never below what no average of any number of units is below.

    The mean of a sample may be a little below `least`, of which we know that it is a bound: then it is the bound.
    """
    values = np.asarray(shares, np.float64)
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return WorkFactor(min(1.0, max(least, float(values.mean()))), spread, spread / sqrt(len(values)))
