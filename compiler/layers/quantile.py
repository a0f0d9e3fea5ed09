"""
A quantile that is followed while values stream by, with nothing stored but its estimate.

Of two forms. The additive one moves by a fixed amount: up by step q for a value above the estimate, else down by
step (1 - q), so that in balance a share 1 - q is above it. The multiplicative one moves by a share of the estimate, so
that it needs no idea of how large values are: DUMIQUE (Yazidi, Hammer, "Multiplicative update methods for incremental
quantile estimation", 2017), which Procrustes uses for its threshold (both recalled).
"""

from collections.abc import Iterable


def follow_additive(values: Iterable[float], q: float, step: float, estimate: float = 0.0) -> tuple[float, list[bool]]:
    """The estimate of the q-quantile behind the values, and which values were above it when they came."""
    up, down = step * q, step * (1.0 - q)
    above: list[bool] = []
    for value in values:
        above.append(value > estimate)
        estimate += up if value > estimate else -down
    return estimate, above


def follow(values: Iterable[float], q: float, rate: float, estimate: float = 0.0) -> tuple[float, list[bool]]:
    """
    The same in multiplicative form, for values that are not negative.

    An estimate of 0 is one that has seen nothing: the first value that is not 0 takes its place, and is above it.
    """
    up, down = 1.0 + rate * q, 1.0 - rate * (1.0 - q)
    above: list[bool] = []
    for value in values:
        is_above = value > estimate
        above.append(is_above)
        if estimate == 0.0:
            estimate = value
        else:
            estimate *= up if is_above else down
    return estimate, above
