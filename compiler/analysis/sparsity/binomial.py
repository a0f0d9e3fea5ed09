"""The distribution of the nonzeros of a slice whose elements are there independently: binomial, and its maximum."""

from __future__ import annotations

from functools import lru_cache
from math import lgamma, log

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@lru_cache(maxsize=512)
def cumulative(count: int, density: float) -> Floats:
    """P(X <= 0), …, P(X <= count) of the nonzeros X among `count` elements; density above 0 and below 1."""
    ways = [lgamma(count + 1) - lgamma(k + 1) - lgamma(count - k + 1) for k in range(count + 1)]
    k = np.arange(count + 1)
    logs = np.array(ways) + k * log(density) + (count - k) * log(1.0 - density)
    return np.minimum(np.cumsum(np.exp(logs)), 1.0)


def maximum_moments(count: int, density: float, copies: int) -> tuple[float, float]:
    """Mean and standard deviation of the largest of some independent counts, from P(max <= k) = P(X <= k)^copies."""
    below = cumulative(count, density) ** copies
    above = 1.0 - below[:-1]
    mean = float(above.sum())
    # E[M^2] is the sum of (2 k + 1) P(M > k)
    square = float(((2 * np.arange(count) + 1) * above).sum())
    return mean, max(square - mean * mean, 0.0) ** 0.5
