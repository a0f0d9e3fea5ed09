"""The least traffic and time of an iteration: equal to all schedules of tiny ones, below every plan of any."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.backends.roofline.iteration.belady import belady_plan
from npuc.backends.roofline.iteration.bounds import least_traffic, tile_bound, time_bound
from npuc.backends.roofline.iteration.cache_plan import plan_of
from npuc.backends.roofline.iteration.intervals import intervals_of
from npuc.backends.roofline.iteration.steps import Iteration, IterationStep, IterationTensor
from npuc.backends.roofline.iteration.trace import trace_of
from tests.iterations import intervals, iterations, schedules

MOST = 11
"""Intervals of iterations whose every schedule is tried."""


@settings(max_examples=150)
@given(iterations(), st.integers(0, 120))
def test_the_least_of_all_schedules(iteration: Iteration, capacity: int) -> None:
    """The integer program's traffic is that of the best schedule there is, and its plan moves as much."""
    found = intervals_of(trace_of(iteration))
    assert len(found.slot) == len(intervals(iteration))
    if len(found.slot) > MOST:
        return
    least = min(schedules(iteration, capacity))
    nothing = np.zeros(len(found.slot), dtype=np.bool_)
    best = least_traffic(found, capacity, nothing)
    assert best.exact
    assert best.bound == least
    assert tile_bound(found, capacity) <= least


@settings(max_examples=100)
@given(iterations(steps=25, tensors=12), st.integers(0, 250), st.booleans(), st.booleans())
def test_no_plan_is_below_the_bounds(iteration: Iteration, capacity: int, retain: bool, bypass: bool) -> None:
    """Belady's plans move no fewer bytes than the least of whole tensors, and that no fewer than that of tiles."""
    trace = trace_of(iteration)
    found = intervals_of(trace)
    plan = belady_plan(trace, np.array([capacity]), retain, bypass)
    kept = plan.cached[found.slot, 0]
    assert found.moved(kept) == int(plan.bytes_in[0] + plan.bytes_out[0])
    assert found.occupancy(kept).max(initial=0) <= capacity
    best = least_traffic(found, capacity, kept)
    assert best.exact
    assert tile_bound(found, capacity) <= best.bound == best.moved <= found.moved(kept)
    assert best.moved == found.moved(best.cached)


@settings(max_examples=60)
@given(iterations(steps=12), st.lists(st.integers(0, 150), min_size=2, max_size=2).map(sorted))
def test_the_least_never_rises_with_the_capacity(iteration: Iteration, capacities: list[int]) -> None:
    found = intervals_of(trace_of(iteration))
    nothing = np.zeros(len(found.slot), dtype=np.bool_)
    small, large = (least_traffic(found, capacity, nothing) for capacity in capacities)
    assert large.moved <= small.moved
    assert tile_bound(found, capacities[1]) <= tile_bound(found, capacities[0])


@settings(max_examples=100)
@given(iterations(steps=25, tensors=12), st.integers(0, 250))
def test_a_plan_made_of_what_is_kept_is_the_walk_s(iteration: Iteration, capacity: int) -> None:
    """A plan made of what Belady's rule keeps moves the same bytes, fits, and streams no more steps."""
    trace = trace_of(iteration)
    walked = belady_plan(trace, np.array([capacity]))
    made = plan_of(trace, walked.capacity, walked.cached)
    assert (made.offload == walked.offload).all()
    assert (made.streams <= walked.streams).all()
    assert made.peak[0] <= capacity


@pytest.mark.parametrize(("capacity", "seconds"), [(7, 10.0), (5, 12.0), (0, 17.0)])
def test_what_is_loaded_ahead_takes_room_beside_what_stays(capacity: int, seconds: float) -> None:
    """One operation and one byte a second: ten seconds of computing hide what is loaded ahead of the second step."""
    tensors = tuple(IterationTensor(name, size, "input", 1) for name, size in (("c", 4), ("b", 3)))
    works = ((0,), 10), ((0, 1), 0)
    steps = tuple(IterationStep("s", "op", "forward", reads, (), 0, ops, ops, False) for reads, ops in works)
    found = intervals_of(trace_of(Iteration(tensors, steps)))
    assert time_bound(found, capacity, 1e-12, 1e-9) == pytest.approx(seconds)
