"""
A product shared by units whose times and bytes are proportional to their shares, exactly.

    linear_split([Fraction(1), Fraction(3)], [0, 0], None).seconds      # 3/4: shares 3/4 and 1/4

Without a limit of bandwidth shares are as 1 / t, so that all end together: T = 1 / sum(1 / t). All units together have
the machine's bandwidth: no split is faster than the bytes of its shares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from npuc.compiler.core.errors import UsageError


@dataclass(frozen=True)
class LinearSplit:
    """The shares of units, which are 1 together, and the time."""

    shares: tuple[Fraction, ...]
    seconds: Fraction


def linear_split(
    times: Sequence[Fraction], moved: Sequence[Fraction | int], bytes_per_second: Fraction | None
) -> LinearSplit:
    """
    The shares of the least time: `times` are seconds and `moved` bytes of the whole product on each unit.

    A unit with less to move gets as much as it has time for before others do, so that at any time the bytes are the
    least that are possible; the least time is then where bytes and bandwidth meet, or where no unit has time left.
    Raises `UsageError` without a unit, and for times that are not above 0.
    """
    if not times or min(times) <= 0:
        raise UsageError("a product is shared by units with times above 0", hint="at least one unit")
    together = 1 / sum((1 / time for time in times), Fraction(0))
    if bytes_per_second is None:
        return LinearSplit(tuple(together / time for time in times), together)
    order = sorted(range(len(times)), key=lambda unit: (moved[unit], unit))
    seconds = max(together, _least_by_bytes(times, moved, bytes_per_second, order))
    return LinearSplit(_filled(times, seconds, order), seconds)


def _least_by_bytes(
    times: Sequence[Fraction], moved: Sequence[Fraction | int], rate: Fraction, order: Sequence[int]
) -> Fraction:
    """The least time in which the bytes pass where units are filled in an order, whatever time the units have."""
    full, bytes_full = Fraction(0), Fraction(0)
    for unit in order:
        # `full` and `bytes_full` are of a second of all units before this one, which takes what they leave
        seconds = moved[unit] / (rate + full * moved[unit] - bytes_full)
        full, bytes_full = full + 1 / times[unit], bytes_full + moved[unit] / times[unit]
        if full * seconds >= 1:
            return seconds
    return Fraction(0)


def _filled(times: Sequence[Fraction], seconds: Fraction, order: Sequence[int]) -> tuple[Fraction, ...]:
    """The shares in a time, units filled in an order."""
    shares, left = [Fraction(0)] * len(times), Fraction(1)
    for unit in order:
        shares[unit] = min(left, seconds / times[unit])
        left -= shares[unit]
    return tuple(shares)
