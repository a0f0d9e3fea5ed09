"""An iteration under a cache: the plans of many capacities equal a plain walk; invariants of any plan."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler.analysis.iteration.best import choose, everything, ladder_of
from npuc.compiler.analysis.iteration.bounds import time_bound
from npuc.compiler.analysis.iteration.intervals import intervals_of
from npuc.compiler.analysis.iteration.residency import Plan, residency
from npuc.compiler.analysis.iteration.steps import Iteration
from npuc.compiler.analysis.iteration.timeline import timeline
from npuc.compiler.analysis.iteration.trace import Trace, trace_of
from tests.iterations import Walk, iterations

TERA, GIGA = 1e-12, 1e-9
"""A machine of one operation and one byte a second: every time is a whole number."""
random_iterations = iterations(steps=25, tensors=12)
capacities = st.lists(st.integers(0, 250), min_size=1, max_size=5)


@settings(max_examples=200, deadline=None)
@given(random_iterations, capacities, st.booleans(), st.booleans(), st.sampled_from((1.0, 4.0)))
def test_plans_and_times_are_those_of_a_plain_walk(
    iteration: Iteration, sizes: list[int], retain: bool, bypass: bool, throughput: float
) -> None:
    trace = trace_of(iteration)
    plan = residency(trace, np.array(sizes), retain, bypass)
    total = timeline(plan, throughput * TERA, GIGA).total
    for lane, capacity in enumerate(sizes):
        walk = Walk(iteration, capacity, retain, bypass)
        assert plan.streams[:, lane].tolist() == walk.streams
        found = {
            (int(trace.tensor[slot]), int(trace.step[trace.previous[slot]]), int(trace.step[slot]))
            for slot in np.flatnonzero(plan.kept[:, lane]).tolist()
        }
        assert found == walk.stays
        written = [(int(trace.step[slot]), int(trace.tensor[slot])) for slot in np.flatnonzero(plan.offload[:, lane])]
        assert sorted(written) == sorted((n, tensor) for n, some in enumerate(walk.writes()) for tensor in some)
        assert total[lane] == pytest.approx(walk.seconds(throughput, 1.0), rel=1e-12, abs=1e-12)


def check_plan(trace: Trace, plan: Plan, tflops: float, gb_per_s: float) -> None:
    """What holds for every plan, of one lane."""
    iteration, found = trace.iteration, intervals_of(trace)
    capacity, moved = int(plan.capacity[0]), int(plan.bytes_in[0] + plan.bytes_out[0])
    times = timeline(plan, tflops, gb_per_s)
    compute, least = iteration.ops / (tflops * 1e12), moved / (gb_per_s * 1e9)
    assert times.total[0] >= max(compute, least) * (1 - 1e-9)
    bound = time_bound(found, capacity, tflops, gb_per_s)
    assert max(compute, 0.0) * (1 - 1e-9) <= bound <= times.total[0] * (1 + 1e-9)
    assert plan.peak[0] <= capacity
    resident = found.resident(plan.kept[found.slot, 0])
    assert resident.max(initial=0) <= capacity
    assert not plan.kept[trace.previous < 0].any()
    produced: set[int] = set()
    touched: set[int] = set()
    for slot in range(trace.slots):
        tensor = int(trace.tensor[slot])
        if trace.read[slot] and tensor not in touched:
            assert tensor not in produced
            assert not plan.kept[slot, 0]
        touched.add(tensor)
        if trace.write[slot]:
            produced.add(tensor)


@settings(max_examples=100, deadline=None)
@given(random_iterations, st.integers(0, 250), st.booleans(), st.booleans(), st.sampled_from((0.1, 1.0, 30.0)))
def test_invariants(iteration: Iteration, capacity: int, retain: bool, bypass: bool, throughput: float) -> None:
    trace = trace_of(iteration)
    plan = residency(trace, np.array([capacity]), retain, bypass)
    check_plan(trace, plan, throughput * TERA, GIGA)
    again = residency(trace, np.array([capacity]), retain, bypass)
    assert (again.kept == plan.kept).all()
    assert (again.offload == plan.offload).all()


@settings(max_examples=100, deadline=None)
@given(random_iterations, st.booleans(), st.booleans())
def test_where_everything_fits_only_the_compulsory_moves(iteration: Iteration, retain: bool, bypass: bool) -> None:
    """Each tensor that is read before it is written comes in once; what is kept and was written goes out once."""
    trace = trace_of(iteration)
    enough = everything(trace)
    plan = residency(trace, np.array([enough, 10 * enough + 1]), retain, bypass)
    size = [tensor.bytes for tensor in iteration.tensors]
    first: dict[int, bool] = {}
    for step in iteration.steps:
        for tensor in (*step.reads, *step.writes):
            first.setdefault(tensor, tensor in step.reads)
    dead = first_reads_after_overwrites(iteration)
    written = {tensor for step in iteration.steps for tensor in step.writes}
    assert plan.bytes_in.tolist() == [sum(size[t] for t, read in first.items() if read) + dead] * 2
    assert plan.bytes_out.tolist() == [sum(size[t] for t in written & iteration.kept)] * 2


def first_reads_after_overwrites(iteration: Iteration) -> int:
    """Nothing: a value that is overwritten before it is read is never read."""
    return 0


@settings(max_examples=60, deadline=None)
@given(random_iterations, capacities, st.booleans(), st.sampled_from((0.1, 1.0, 30.0)))
def test_the_best_plan_never_gets_worse_with_capacity(
    iteration: Iteration, sizes: list[int], retain: bool, throughput: float
) -> None:
    """Neither bytes nor seconds rise with the capacity, though each is planned by itself."""
    trace = trace_of(iteration)
    before = (np.inf, np.inf)
    for capacity in sorted(sizes):
        lane = np.array([capacity])
        choice = choose(ladder_of(trace, capacity, retain=retain), lane, throughput * TERA, GIGA)
        plan = residency(trace, choice.capacity, retain, choice.bypass)
        assert plan.peak[0] <= capacity
        now = (
            int(plan.bytes_in[0] + plan.bytes_out[0]),
            float(timeline(plan, throughput * TERA, GIGA).total[0]) * (1 - 1e-12),
        )
        assert now[0] <= before[0]
        assert now[1] <= before[1]
        before = (now[0], now[1] * (1 + 2e-12))
