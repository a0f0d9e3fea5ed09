"""Whether limits leave a split of bandwidth, and which of them cannot be met together."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np

from npuc.compiler.analysis.bandwidth.limits import LinearLimit
from npuc.compiler.analysis.bandwidth.program import PURPOSE
from npuc.compiler.analysis.bandwidth.traffic import Floats
from npuc.compiler.analysis.solvers.linear import LinearProgram, solve
from npuc.compiler.core.errors import CapacityError

SLIVER = 1e-6
"""A level that is crossed has at least such a share of all bandwidth."""


def extreme(limits: Sequence[LinearLimit], levels: int, scale: float, cost: Sequence[float]) -> Floats | None:
    """
    The bandwidths that cost least under limits, None where these cannot be met.

    `scale` is a bandwidth of the usual size, and no level has more than a million of it.
    """
    program = LinearProgram()
    bandwidths = program.variables(levels, 1e6, np.array(cost))
    for limit in limits:
        size = max(map(abs, limit.factors), default=0.0) or 1.0
        row = program.rows(1, limit.low / scale / size, limit.high / scale / size)
        program.put(np.repeat(row, levels), bandwidths, np.array(limit.factors) / size)
    found = solve(program, purpose=PURPOSE)
    return None if found is None or found.values is None else found.values[:levels] * scale


def rooms(limits: Sequence[LinearLimit], levels: int, scale: float) -> Floats:
    """The most bandwidth that each level may have under limits that can be met."""
    found = np.zeros(levels)
    for level, one in enumerate(np.eye(levels)):
        most = extreme(limits, levels, scale, (-one).tolist())
        assert most is not None, "the limits can be met"
        found[level] = most[level]
    return found


def inner_split(limits: Sequence[LinearLimit], used: Sequence[bool], scale: float) -> Floats:
    """
    A split that meets limits with bandwidth at every level that is used.

    Raises `CapacityError` where there is none, which names limits that cannot be met together.
    """
    levels = len(used)
    needs = [_some(level, levels, scale) for level in range(levels) if used[level]]
    asked = [*limits, *needs]
    if extreme(asked, levels, scale, np.zeros(levels).tolist()) is None:
        raise _refusal(conflict(asked, levels, scale))
    # the mean of those with most of each level is inside
    corners = [extreme(asked, levels, scale, (-one).tolist()) for one in np.eye(levels)]
    return np.mean([one for one in corners if one is not None], axis=0)


def _some(level: int, levels: int, scale: float) -> LinearLimit:
    factors = tuple(float(one == level) for one in range(levels))
    return LinearLimit(factors, SLIVER * scale, inf, f"b{level + 1} > 0, since bytes cross it")


def conflict(limits: Sequence[LinearLimit], levels: int, scale: float) -> list[LinearLimit]:
    """Limits that cannot be met together, each of which is needed for that: without any one of them, the others can."""
    left = list(limits)
    for one in limits:
        fewer = [other for other in left if other is not one]
        if extreme(fewer, levels, scale, np.zeros(levels).tolist()) is None:
            left = fewer
    return left


def _refusal(limits: Sequence[LinearLimit]) -> CapacityError:
    names = list(dict.fromkeys(one.name for one in limits))
    if len(names) == 1:
        return CapacityError(f"no split of bandwidth meets {names[0]}", hint="bandwidths are 0 or more")
    return CapacityError(
        f"no split of bandwidth meets all of these together: {'; '.join(names)}",
        hint="leave out or loosen one of them; without any one of them the others can be met",
    )
