"""LRU, prefetch and offload against plain walks, and what must hold between them."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.backends.roofline.iteration.belady import belady_plan
from npuc.backends.roofline.iteration.lru_plan import lru_plan
from npuc.backends.roofline.iteration.offload import leaving
from npuc.backends.roofline.iteration.prefetch import Rates, prefetches
from npuc.backends.roofline.iteration.steps import Iteration, IterationStep, IterationTensor, Transfers
from npuc.backends.roofline.iteration.timeline import timeline
from npuc.backends.roofline.iteration.trace import Trace, trace_of
from tests.iterations import Walk, iterations, moved, schedules
from tests.transfers import Bus, LruWalk

TERA, GIGA = 1e-12, 1e-9
"""A machine of one operation and one byte a second."""
random_iterations = iterations(steps=25, tensors=12)
tiny_iterations = iterations(steps=6, tensors=4)
capacities = st.lists(st.integers(0, 250), min_size=1, max_size=4)
ahead = st.sampled_from(("latency", "next-layer", "none"))
offloads = st.sampled_from(("look-ahead", "when-full"))


@settings(max_examples=200)
@given(random_iterations, capacities, st.booleans())
def test_lru_is_a_plain_walk(iteration: Iteration, sizes: list[int], retain: bool) -> None:
    trace = trace_of(iteration)
    plan = lru_plan(trace, np.array(sizes), retain=retain)
    for lane, capacity in enumerate(sizes):
        walk = LruWalk(iteration, capacity, retain)
        assert plan.streams[:, lane].tolist() == walk.streams
        found = {
            (int(trace.tensor[slot]), int(trace.step[trace.previous[slot]]), int(trace.step[slot]))
            for slot in np.flatnonzero(plan.cached[:, lane]).tolist()
        }
        assert found == walk.stays
        bytes = moved(iteration, walk.stays, capacity)
        assert bytes == (int(plan.bytes_in[lane]), int(plan.bytes_out[lane]))
        assert plan.peak[lane] <= capacity


@settings(max_examples=300)
@given(
    random_iterations,
    capacities,
    st.booleans(),
    st.sampled_from(("belady", "bypass", "lru")),
    st.builds(Transfers, st.booleans(), ahead, offloads),
    st.sampled_from((0.5, 1.0, 4.0)),
)
def test_times_are_those_of_a_plain_bus(
    iteration: Iteration, sizes: list[int], retain: bool, policy: str, transfers: Transfers, throughput: float
) -> None:
    trace = trace_of(iteration)
    if policy == "lru":
        plan = lru_plan(trace, np.array(sizes), retain=retain)
    else:
        plan = belady_plan(trace, np.array(sizes), retain, policy == "bypass")
    total = timeline(plan, throughput * TERA, GIGA, transfers).total
    for lane, capacity in enumerate(sizes):
        if policy == "lru":
            walk = LruWalk(iteration, capacity, retain)
        else:
            walk = Walk(iteration, capacity, retain, policy == "bypass")
        bus = Bus(walk, transfers.prefetch, transfers.offload)
        assert total[lane] == pytest.approx(bus.seconds(throughput, 1.0, transfers.overlap), rel=1e-12, abs=1e-12)
        least = int(plan.bytes_in[lane] + plan.bytes_out[lane])
        assert total[lane] >= max(least, iteration.ops / throughput) * (1 - 1e-12)


@settings(max_examples=150)
@given(random_iterations, st.integers(0, 250), st.booleans(), st.booleans())
def test_what_leaves_fits_until_then(iteration: Iteration, capacity: int, retain: bool, lru: bool) -> None:
    """What lingers, stays cached and is touched fits; each value leaves once, after its last use, before its next."""
    trace = trace_of(iteration)
    sizes = np.array([capacity])
    plan = lru_plan(trace, sizes, retain=retain) if lru else belady_plan(trace, sizes, retain)
    leaves = leaving(plan)[:, 0]
    held = np.zeros(trace.steps, dtype=np.int64)
    for slot in range(trace.slots):
        step, after = int(trace.step[slot]), int(trace.next[slot])
        if after >= 0 and plan.cached[after, 0]:
            assert leaves[slot] == -1
            held[step + 1 : trace.step[after]] += trace.size[slot]
        elif after >= 0 or plan.offload[slot, 0]:
            assert step <= leaves[slot] <= (trace.step[after] if after >= 0 else trace.steps)
            held[step + 1 : leaves[slot]] += trace.size[slot]
        else:
            assert leaves[slot] == -1
    assert (held + np.where(plan.streams[:, 0], 0, trace.footprint) <= capacity).all()


def test_what_belady_and_lru_evict_leaves_when_they_evict_it() -> None:
    """Steps a, b, c, d, a, b, c in a cache of two: what is used last again leaves, or what was used longest ago."""
    trace = _reads([0, 1, 2, 3, 0, 1, 2])
    two = np.array([2])
    # d is read once, so that after it both caches have room
    assert leaving(belady_plan(trace, two))[:, 0].tolist()[:3] == [-1, 2, 3]
    assert leaving(lru_plan(trace, two))[:, 0].tolist()[:3] == [2, 3, -1]


def test_what_just_fits_is_loaded_ahead() -> None:
    """Steps of a byte each: beside one of them a cache of two bytes has room for the next."""
    transfers = Transfers(True, "next-layer", "look-ahead")
    for capacity, issued in ((2, 0), (1, -1)):
        plan = lru_plan(_reads([0, 1]), np.array([capacity]))
        assert prefetches(plan, Rates.of(1.0, 1.0), transfers, None)[:, 0].tolist()[1] == issued


def _reads(tensors: list[int], dirty: bool = False) -> Trace:
    """A step for each access to one of some tensors of one byte."""
    steps = [
        IterationStep(f"s{number}", "op", "forward", (tensor,), (tensor,) if dirty else (), 0, 0, 0, False)
        for number, tensor in enumerate(tensors)
    ]
    found = [IterationTensor(f"t{number}", 1, "value", 1) for number in range(max(tensors) + 1)]
    return trace_of(Iteration(tuple(found), tuple(steps), frozenset(), 1))


@settings(max_examples=150)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=9), st.integers(1, 4))
def test_belady_loads_least_of_equal_tensors(tensors: list[int], capacity: int) -> None:
    """Tensors of one size that are only read: no schedule loads less than Belady's, LRU included."""
    trace = _reads(tensors)
    size = np.array([capacity])
    best, last = belady_plan(trace, size), lru_plan(trace, size)
    least = min(_loads(tensors, keep, capacity) for keep in _keeps(len(tensors)))
    assert best.bytes_in[0] == least <= last.bytes_in[0]


def _keeps(count: int) -> list[tuple[bool, ...]]:
    return [tuple(bool(number >> n & 1) for n in range(count)) for number in range(1 << count)]


def _loads(tensors: list[int], keep: tuple[bool, ...], capacity: int) -> float:
    """The loads of a cache that keeps a tensor after the accesses told, infinite where that is too much."""
    inside: set[int] = set()
    loads = 0
    for tensor, stays in zip(tensors, keep, strict=True):
        loads += tensor not in inside
        inside.add(tensor)
        if len(inside) > capacity:
            return float("inf")
        if not stays:
            inside.discard(tensor)
    return loads


@settings(max_examples=60)
@given(tiny_iterations, st.integers(0, 120), st.booleans())
def test_no_policy_moves_less_than_the_best_schedule(iteration: Iteration, capacity: int, retain: bool) -> None:
    trace, size = trace_of(iteration), np.array([capacity])
    least = min(schedules(iteration, capacity))
    for plan in (belady_plan(trace, size, retain), lru_plan(trace, size, retain=retain)):
        assert least <= plan.bytes_in[0] + plan.bytes_out[0]


@settings(max_examples=200)
@given(random_iterations, st.integers(0, 250), st.booleans(), st.booleans(), st.sampled_from((0.3, 1.0, 4.0, 30.0)))
def test_loading_ahead_and_copying_ahead_pay(
    iteration: Iteration, capacity: int, retain: bool, lru: bool, throughput: float
) -> None:
    """
    Where steps load and then compute, no prefetch is slower than loads on demand; without prefetch no copy ahead is
    slower than one when the cache is full. What is moved earlier delays the rest by its own time at most, and that
    time is saved where it was due.
    """
    trace, size = trace_of(iteration), np.array([capacity])
    plan = lru_plan(trace, size, retain=retain) if lru else belady_plan(trace, size, retain)

    def total(**keys: Any) -> float:
        return float(timeline(plan, throughput * TERA, GIGA, replace(Transfers(overlap=False), **keys)).total[0])

    none = total(prefetch="none")
    assert total(prefetch="latency") <= none * (1 + 1e-12)
    assert total(prefetch="next-layer") <= none * (1 + 1e-12)
    late = total(prefetch="none", offload="when-full")
    assert none <= late * (1 + 1e-12)
    assert total(prefetch="latency", offload="when-full") <= late * (1 + 1e-12)


@pytest.mark.parametrize("lru", [False, True])
def test_where_nothing_leaves_nothing_waits(lru: bool) -> None:
    """In a cache that holds all, what is wanted at the end is copied then."""
    trace = _reads([0, 1, 0, 1], dirty=True)
    size = np.array([4])
    plan = lru_plan(trace, size) if lru else belady_plan(trace, size)
    assert leaving(plan).max() == -1
    assert timeline(plan, TERA, GIGA, Transfers(offload="when-full")).total == timeline(plan, TERA, GIGA).total
