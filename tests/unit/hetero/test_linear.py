"""Shares of units with linear times: equal ends, and what a limit of bandwidth makes of them."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuc.compiler.analysis.hetero.linear import linear_split
from npuc.compiler.core.errors import UsageError

TIMES = st.lists(st.fractions(min_value=Fraction(1, 50), max_value=50, max_denominator=50), min_size=1, max_size=4)


@given(TIMES)
def test_all_units_end_together(times: list[Fraction]) -> None:
    split = linear_split(times, [0] * len(times), None)
    assert split.seconds == 1 / sum(1 / time for time in times)
    assert sum(split.shares) == 1
    assert {share * time for share, time in zip(split.shares, times, strict=True)} == {split.seconds}
    assert split.seconds <= min(times)


@given(TIMES, st.data())
def test_no_grid_of_shares_is_faster_under_a_limit_of_bandwidth(times: list[Fraction], data: st.DataObject) -> None:
    moved = [data.draw(st.integers(0, 40)) for _ in times]
    rate = Fraction(data.draw(st.integers(1, 20)))
    split = linear_split(times, moved, rate)
    assert sum(split.shares) == 1
    assert min(split.shares) >= 0
    assert time_of(split.shares, times, moved, rate) == split.seconds
    for shares in grid(len(times), 6):
        assert split.seconds <= time_of(shares, times, moved, rate)


def test_bandwidth_is_not_counted_twice() -> None:
    """Two like units under a bandwidth that one of them uses up are as fast as one."""
    alone = linear_split([Fraction(1)], [10], Fraction(10))
    both = linear_split([Fraction(1), Fraction(1)], [10, 10], Fraction(10))
    assert alone.seconds == both.seconds == 1


@pytest.mark.parametrize("times", [[], [Fraction(0)]])
def test_a_split_needs_units_with_times(times: list[Fraction]) -> None:
    with pytest.raises(UsageError, match="times above 0"):
        linear_split(times, [0] * len(times), None)


def time_of(shares: tuple[Fraction, ...], times: list[Fraction], moved: list[int], rate: Fraction) -> Fraction:
    ends = max(share * time for share, time in zip(shares, times, strict=True))
    return max(ends, sum((share * one for share, one in zip(shares, moved, strict=True)), Fraction(0)) / rate)


def grid(units: int, parts: int) -> list[tuple[Fraction, ...]]:
    """All shares in parts of one over `parts`."""
    ways: list[tuple[int, ...]] = [()]
    for _ in range(units - 1):
        ways = [(*way, one) for way in ways for one in range(parts - sum(way) + 1)]
    return [tuple(Fraction(one, parts) for one in (*way, parts - sum(way))) for way in ways]
