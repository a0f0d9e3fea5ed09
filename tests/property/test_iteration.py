"""An iteration under a cache: the plans of many capacities equal a plain walk; invariants of any plan."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.backends.roofline.backend import RooflineBackend
from npuc.backends.roofline.iteration.belady import belady_plan, held
from npuc.backends.roofline.iteration.best import capacity_without_eviction, ladder_of
from npuc.backends.roofline.iteration.bounds import time_bound
from npuc.backends.roofline.iteration.cache_plan import CachePlan
from npuc.backends.roofline.iteration.climb import choose
from npuc.backends.roofline.iteration.intervals import intervals_of
from npuc.backends.roofline.iteration.steps import Iteration, Transfers, least_rows
from npuc.backends.roofline.iteration.timeline import timeline
from npuc.backends.roofline.iteration.trace import Trace, trace_of
from npuc.compiler.report import Report
from npuc.frontends import read_source
from npuc.hardware import Hardware, load_hardware
from tests.iterations import Walk, iterations

TERA, GIGA = 1e-12, 1e-9
"""A machine of one operation and one byte a second: every time is a whole number."""
random_iterations = iterations(steps=25, tensors=12)
capacities = st.lists(st.integers(0, 250), min_size=1, max_size=5)


@settings(max_examples=200)
@given(
    random_iterations,
    capacities,
    *[st.booleans()] * 3,
    st.sampled_from((1.0, 4.0)),
    st.sampled_from((2, 3, held.BLOCK)),
)
def test_plans_and_times_are_those_of_a_plain_walk(
    iteration: Iteration, sizes: list[int], retain: bool, bypass: bool, overlap: bool, throughput: float, block: int
) -> None:
    trace = trace_of(iteration)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(held, "BLOCK", block)  # so few accesses are in many blocks
        plan = belady_plan(trace, np.array(sizes), retain, bypass)
    total = timeline(plan, throughput * TERA, GIGA, Transfers(overlap=overlap)).total
    for lane, capacity in enumerate(sizes):
        walk = Walk(iteration, capacity, retain, bypass)
        assert plan.streams[:, lane].tolist() == walk.streams
        found = {
            (int(trace.tensor[slot]), int(trace.step[trace.previous[slot]]), int(trace.step[slot]))
            for slot in np.flatnonzero(plan.cached[:, lane]).tolist()
        }
        assert found == walk.stays
        written = [(int(trace.step[slot]), int(trace.tensor[slot])) for slot in np.flatnonzero(plan.offload[:, lane])]
        assert sorted(written) == sorted((n, tensor) for n, some in enumerate(walk.writes()) for tensor in some)
        assert total[lane] == pytest.approx(walk.seconds(throughput, 1.0, overlap), rel=1e-12, abs=1e-12)


def check_plan(trace: Trace, plan: CachePlan, tflops: float, gb_per_s: float, *, overlap: bool) -> None:
    """What holds for every plan, of one lane."""
    iteration, found = trace.iteration, intervals_of(trace)
    capacity, moved = int(plan.capacity[0]), int(plan.bytes_in[0] + plan.bytes_out[0])
    times = timeline(plan, tflops, gb_per_s, Transfers(overlap=overlap))
    compute, least = iteration.ops / (tflops * 1e12), moved / (gb_per_s * 1e9)
    assert times.total[0] >= max(compute, least) * (1 - 1e-9)
    bound = time_bound(found, capacity, tflops, gb_per_s)
    assert max(compute, 0.0) * (1 - 1e-9) <= bound <= times.total[0] * (1 + 1e-9)
    assert plan.peak[0] <= capacity
    resident = found.occupancy(plan.cached[found.slot, 0])
    assert resident.max(initial=0) <= capacity
    assert not plan.cached[trace.previous < 0].any()
    produced: set[int] = set()
    touched: set[int] = set()
    for slot in range(trace.slots):
        tensor = int(trace.tensor[slot])
        if trace.read[slot] and tensor not in touched:
            assert tensor not in produced
            assert not plan.cached[slot, 0]
        touched.add(tensor)
        if trace.write[slot]:
            produced.add(tensor)


@settings(max_examples=100)
@given(random_iterations, st.integers(0, 250), *[st.booleans()] * 3, st.sampled_from((0.1, 1.0, 30.0)))
def test_invariants(
    iteration: Iteration, capacity: int, retain: bool, bypass: bool, overlap: bool, throughput: float
) -> None:
    trace = trace_of(iteration)
    plan = belady_plan(trace, np.array([capacity]), retain, bypass)
    check_plan(trace, plan, throughput * TERA, GIGA, overlap=overlap)
    again = belady_plan(trace, np.array([capacity]), retain, bypass)
    assert (again.cached == plan.cached).all()
    assert (again.offload == plan.offload).all()


@settings(max_examples=60)
@given(
    random_iterations, st.lists(st.tuples(st.integers(0, 250), st.booleans(), st.booleans()), min_size=2, max_size=5)
)
def test_lanes_of_unlike_rules_are_those_of_each_alone(
    iteration: Iteration, lanes: list[tuple[int, bool, bool]]
) -> None:
    trace = trace_of(iteration)
    sizes, retain, bypass = (np.array(some) for some in zip(*lanes, strict=True))
    plan = belady_plan(trace, sizes, retain, bypass)
    for lane in range(len(lanes)):
        alone = belady_plan(trace, sizes[[lane]], retain[[lane]], bypass[[lane]])
        for name in ("cached", "offload", "streams", "peak"):
            assert (getattr(plan, name)[..., lane] == getattr(alone, name)[..., 0]).all()


@settings(max_examples=100)
@given(random_iterations, st.booleans(), st.booleans())
def test_where_everything_fits_only_the_compulsory_moves(iteration: Iteration, retain: bool, bypass: bool) -> None:
    """Each tensor that is read before it is written comes in once; what is kept and was written goes out once."""
    trace = trace_of(iteration)
    enough = capacity_without_eviction(trace)
    plan = belady_plan(trace, np.array([enough, 10 * enough + 1]), retain, bypass)
    size = [tensor.bytes for tensor in iteration.tensors]
    first: dict[int, bool] = {}
    for step in iteration.steps:
        for tensor in (*step.reads, *step.writes):
            first.setdefault(tensor, tensor in step.reads)
    written = {tensor for step in iteration.steps for tensor in step.writes}
    assert plan.bytes_in.tolist() == [sum(size[t] for t, read in first.items() if read)] * 2
    assert plan.bytes_out.tolist() == [sum(size[t] for t in written & iteration.live_out)] * 2


@settings(max_examples=60)
@given(random_iterations, capacities, st.booleans(), st.sampled_from((0.1, 1.0, 30.0)))
def test_the_best_plan_never_gets_worse_with_capacity(
    iteration: Iteration, sizes: list[int], retain: bool, throughput: float
) -> None:
    """Neither bytes nor seconds rise with the capacity, though each is planned by itself."""
    trace = trace_of(iteration)
    before = (np.inf, np.inf)
    floor = least_rows(iteration)[0]
    for capacity in sorted({max(size, floor) for size in sizes}):
        lane = np.array([capacity])
        choice = choose(ladder_of(trace, capacity, retain=retain), lane, throughput * TERA, GIGA)
        plan = belady_plan(trace, choice.capacity, retain, choice.bypass)
        assert plan.peak[0] <= capacity
        now = (
            int(plan.bytes_in[0] + plan.bytes_out[0]),
            float(timeline(plan, throughput * TERA, GIGA).total[0]) * (1 - 1e-12),
        )
        assert now[0] <= before[0]
        assert now[1] <= before[1]
        before = (now[0], now[1] * (1 + 2e-12))


@settings(max_examples=150)
@given(random_iterations, st.data(), st.sampled_from((0.1, 1.0, 30.0)))
def test_a_step_that_fits_is_never_slower_than_one_that_streams(
    iteration: Iteration, data: st.DataObject, throughput: float
) -> None:
    """The same loads on demand and the same copies: the fewer steps stream, the earlier the iteration ends."""
    trace = trace_of(iteration)
    plan = belady_plan(trace, np.array([0]), data.draw(st.booleans()))
    some = st.lists(st.booleans(), min_size=trace.steps, max_size=trace.steps)
    few, others = (np.array(data.draw(some), dtype=np.bool_) for _ in range(2))
    # nothing is loaded ahead in a cache of no bytes
    times = [
        timeline(replace(plan, streams=streams[:, None]), throughput * TERA, GIGA)
        for streams in (few, few | others, few | True)
    ]
    totals = [float(found.total[0]) for found in times]
    assert totals == sorted(totals)
    for found, after in pairwise(times):
        assert (found.end <= after.end).all()


@settings(max_examples=60)
@given(random_iterations, st.integers(0, 250), st.sampled_from((0.1, 1.0, 30.0)))
def test_overlapping_never_takes_longer(iteration: Iteration, capacity: int, throughput: float) -> None:
    """A step whose loads are beside its work ends no later than one that loads and then works."""
    plan = belady_plan(trace_of(iteration), np.array([capacity]))
    beside, behind = (timeline(plan, throughput * TERA, GIGA, Transfers(overlap=overlap)) for overlap in (True, False))
    assert (beside.end <= behind.end * (1 + 1e-12)).all()
    assert beside.total[0] <= behind.total[0] * (1 + 1e-12)


@st.composite
def networks(draw: st.DrawFn) -> str:
    """A few layers, some of which read the result of an earlier one, or share a weight."""
    width = 4 * draw(st.integers(1, 8))
    lines = [f"network net(batch={draw(st.integers(1, 16))}) {{", f"  input x: f32[batch, {width}]"]
    lines += ["  h0 = linear(x, WIDTH)", "  w = param([WIDTH, WIDTH])"]
    count = draw(st.integers(0, 6))
    for number in range(count):
        kind = draw(
            st.sampled_from(("linear(h{0}, WIDTH)", "relu(h{0})", "h{0} + h{1}", "tanh(h{0})", "matmul(h{0}, w)"))
        )
        earlier = draw(st.integers(0, number))
        lines.append(f"  h{number + 1} = " + kind.format(number, earlier))
    return "\n".join([*lines, f"  loss mean(matmul(h{count}, w) ** 2)", "  optimizer adam(lr=0.01)", "}"]).replace(
        "WIDTH", str(width)
    )


def machine(kib: float, keys: dict[str, Any]) -> Hardware:
    found = {"name": "m", "memory.cache_mib": kib / 1024, "compute.tflops": 0.01, "dram.gb_per_s": 2.0}
    return load_hardware(found | {"roofline.bound": True} | keys)


def moved(report: Report) -> int:
    return (report.totals.dram_read_bytes or 0) + (report.totals.dram_write_bytes or 0)


def number(report: Report, name: str) -> float:
    value = report.native[name]
    assert isinstance(value, int | float)
    return value


POLICIES: list[dict[str, Any]] = [
    {"roofline.policy": "optimal"},
    {},
    {"roofline.overlap": False},
    {"roofline.plan": "single"},
    {"roofline.plan": "single", "roofline.oversize": "flush"},
    {"roofline.profile": "thesis"},
    {"roofline.policy": "lru", "roofline.prefetch": "next-layer"},
    {"roofline.policy": "lru", "roofline.prefetch": "none", "roofline.oversize": "flush"},
    {"roofline.offload": "when-full", "roofline.overlap": False},
]
SIZES = (1.0, 2.0, 3.5, 6.0, 9.0, 14.0, 40.0)


@settings(max_examples=12)
@given(networks(), st.lists(st.sampled_from(SIZES), min_size=1, max_size=2, unique=True).map(sorted))
def test_reports_of_networks(text: str, sizes: list[float]) -> None:
    """Rows add up to the totals, the same among many machines; no policy is below the bounds or the optimum."""
    module = read_source(text, filename="net.dsl")
    machines = [machine(kib, keys) for keys in POLICIES for kib in sizes]
    found: list[Report] = []
    for hardware, many in zip(machines, RooflineBackend().score_many(module, machines), strict=True):
        assert isinstance(many, Report)
        report = RooflineBackend().score(module, hardware)
        assert many.totals == report.totals
        assert many.native == report.native
        assert moved(report) == sum((row.dram_read_bytes or 0) + (row.dram_write_bytes or 0) for row in report.ops)
        assert report.totals.seconds == pytest.approx(sum(row.seconds or 0.0 for row in report.ops), rel=1e-12)
        assert report.native["traffic_bound_exact"]
        assert number(report, "tile_bound_bytes") <= number(report, "traffic_bound_bytes") <= moved(report)
        assert number(report, "time_ratio") >= 1 - 1e-9
        found.append(report)
    optimal, best, behind, *others = (found[i : i + len(sizes)] for i in range(0, len(found), len(sizes)))
    for lane in range(len(sizes)):
        assert moved(optimal[lane]) == optimal[lane].native["traffic_bound_bytes"]
        assert moved(optimal[lane]) <= min(moved(plans[lane]) for plans in (best, behind, *others[:2], *others[3:]))
    assert moved(optimal[-1]) <= moved(optimal[0])
    for plans in (best, behind, others[-1]):
        assert moved(plans[-1]) <= moved(plans[0])
        assert (plans[-1].totals.seconds or 0.0) <= (plans[0].totals.seconds or 0.0) * (1 + 1e-12)
