"""The best points of a sweep whose points are not kept."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from npuc.compiler.explore.sweep import front as fronts
from npuc.compiler.explore.sweep.compare import ENERGY, TIME, TRAFFIC
from npuc.compiler.explore.sweep.front import Front, front_notes
from npuc.compiler.explore.sweep.grid import Axis, Grid
from npuc.compiler.explore.sweep.point import SweepPoint
from npuc.compiler.explore.sweep.table import print_front
from npuc.compiler.report import Totals

GRID = Grid((Axis("a", "hardware", "a", tuple(range(60))),))
COSTS = st.tuples(st.integers(1, 5), st.integers(0, 5), st.none() | st.integers(0, 5))
Cost = tuple[int, int, int | None]


def point_of(index: int, cost: Cost | None) -> SweepPoint:
    """A point of so many seconds, bytes and joules; one that failed without."""
    if cost is None:
        return SweepPoint(index, {"a": index}, None, "too large")
    seconds, moved, joules = cost
    totals = Totals(
        cycles=None,
        seconds=float(seconds),
        macs=1,
        vector_ops=0,
        dram_read_bytes=moved,
        dram_write_bytes=0,
        energy_j=None if joules is None else float(joules),
        utilization=None,
        lower_bound_seconds=None,
        lower_bound_bytes=None,
        seconds_by_phase={},
        seconds_by_kind={},
    )
    return SweepPoint(index, {"a": index}, totals)


def is_better(one: Cost, other: Cost) -> bool:
    """Whether one is as good in everything; what is not known is the worst."""
    return all(b is None or (a is not None and a <= b) for a, b in zip(one, other, strict=True))


@settings(max_examples=100)
@given(st.lists(st.none() | COSTS, min_size=1, max_size=40), st.randoms())
def test_a_front_is_what_nothing_keeps_up_with(costs: list[Cost | None], random: Random) -> None:
    """In whatever order points come, but that of equal ones the first stays."""
    order = list(range(len(costs)))
    random.shuffle(order)
    front = Front(GRID, "time")
    for number in order:
        front.add(point_of(number, costs[number]))
    known = [(number, cost) for number in order if (cost := costs[number]) is not None]
    best = [
        number
        for place, (number, cost) in enumerate(known)
        if not any(
            is_better(other, cost) and (other != cost or at < place)
            for at, (_, other) in enumerate(known)
            if at != place
        )
    ]
    assert sorted(point.index for point in front.points) == sorted(best)
    assert (front.failed, front.lost) == (costs.count(None), 0)
    seconds = [point.totals.seconds for point in front.ranked() if point.totals is not None]
    assert seconds == sorted(seconds, key=lambda one: one or 0.0)


@settings(max_examples=50)
@given(st.permutations(range(30)))
def test_of_a_large_front_the_least_stays(order: list[int]) -> None:
    """And it is said how many were left out."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(fronts, "MOST_KEPT", 4)
        front = Front(GRID, "time")
        for number in order:
            front.add(point_of(number, (number + 1, 30 - number, None)))
    assert len(front.points) == 4
    assert front.ranked()[0].index == 0
    assert front.lost == 26
    assert "26 more points were as good" in list(front_notes(front))[1]
    assert front.quantities == (TIME, TRAFFIC, ENERGY)


def test_a_sweep_where_nothing_fits_says_so() -> None:
    front = Front(GRID, "time")
    for number in range(60):
        front.add(point_of(number, None))
    console = Console(width=100)
    with console.capture() as captured:
        print_front("net", front, console, backend="cycle")
    assert "60 of 60 points, the first at a=0: too large" in captured.get()
    assert "No point fits." in captured.get()
