"""What reuse saves is what a plain walk saves that keeps just that, for every choice of what is kept."""

from dataclasses import replace
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.backends.roofline.iteration.belady import belady_plan
from npuc.backends.roofline.iteration.reuse import SCOPES, Reuse, reuse_of, sufficient_capacity
from npuc.backends.roofline.iteration.steps import Iteration
from npuc.backends.roofline.iteration.trace import Bools, trace_of
from npuc.backends.roofline.rows import compulsory_bytes
from tests.iterations import Interval, intervals, iterations, moved, touched

LARGE = 10**9


@st.composite
def whole(draw: st.DrawFn, steps: int = 12, tensors: int = 6) -> Iteration:
    """A random iteration with a forward, a backward, in which forward steps may run again, and updates."""
    found = draw(iterations(steps=steps, tensors=tensors))
    count = len(found.steps)
    turn, end = sorted((draw(st.integers(0, count)), draw(st.integers(0, count))))
    again = draw(st.sets(st.integers(turn, end)))
    made = [
        replace(
            step,
            name=f"s{n % 3}",
            phase="forward" if n < turn or (n < end and n in again) else "dxdw" if n < end else "update",
            recomputed=turn <= n < end and n in again,
        )
        for n, step in enumerate(found.steps)
    ]
    return replace(found, steps=tuple(made))


def scope_of(iteration: Iteration, one: Interval) -> str:
    """The scope of an interval, said once more."""
    tensor, start, end = one
    steps = iteration.steps
    turn = next((n for n, step in enumerate(steps) if step.recomputed or step.phase != "forward"), LARGE)
    if steps[end].phase == "update":
        return "update"
    if start < turn <= end:
        return "forward-backward"
    weight = iteration.tensors[tensor].kind in ("weight", "weight_gradient")
    one_layer = steps[start].name == steps[end].name and steps[start].recomputed
    if weight and not one_layer:
        return "recurrent"
    return "adjacent" if end - start == 1 else "block"


def traffic(iteration: Iteration, stays: set[Interval]) -> int:
    """Bytes that a walk moves that keeps some intervals."""
    found = moved(iteration, stays, LARGE)
    assert found is not None
    return sum(found)


def listed(reuse: Reuse) -> list[Interval]:
    """The intervals in their order."""
    found = reuse.intervals
    tensors = found.trace.tensor[found.slot]
    return list(zip(tensors.tolist(), found.start.tolist(), found.end.tolist(), strict=True))


def column(chosen: list[bool]) -> Bools:
    return np.array(chosen, dtype=np.bool_).reshape(-1, 1)


@settings(max_examples=200)
@given(whole())
def test_every_interval_has_its_scope(iteration: Iteration) -> None:
    reuse = reuse_of(trace_of(iteration))
    every = listed(reuse)
    assert sorted(every) == sorted(intervals(iteration))
    assert [SCOPES[n] for n in reuse.scope.tolist()] == [scope_of(iteration, one) for one in every]


@settings(max_examples=200)
@given(whole())
def test_the_scopes_add_up(iteration: Iteration) -> None:
    """All save what lies between no reuse and compulsory traffic; those up to any one what keeping them saves."""
    trace = trace_of(iteration)
    reuse = reuse_of(trace)
    every = listed(reuse)
    all_saved = reuse.saved(column([True] * len(every)))[:, 0]
    assert reuse.without == traffic(iteration, set())
    assert reuse.without - int(compulsory_bytes(trace).sum()) == all_saved.sum()
    for number in range(len(SCOPES)):
        kept = {one for one, scope in zip(every, reuse.scope.tolist(), strict=True) if scope <= number}
        assert reuse.without - traffic(iteration, kept) == all_saved[: number + 1].sum()


@settings(max_examples=200)
@given(whole(), st.randoms(use_true_random=False), st.integers(0, 150))
def test_what_is_kept_is_what_is_saved(iteration: Iteration, random: Random, capacity: int) -> None:
    """For any choice of intervals, and for the plan of a capacity."""
    trace = trace_of(iteration)
    reuse = reuse_of(trace)
    every = listed(reuse)
    chosen = [random.random() < 0.7 for _ in every]
    kept = {one for one, stays in zip(every, chosen, strict=True) if stays}
    assert reuse.saved(column(chosen)).sum() == reuse.without - traffic(iteration, kept)
    plan = belady_plan(trace, np.array([capacity, 2 * capacity]))
    saved = reuse.saved(plan.cached[reuse.intervals.slot]).sum(axis=0)
    assert (saved == reuse.without - plan.bytes_in - plan.bytes_out).all()


@settings(max_examples=200)
@given(whole(), st.integers(0, len(SCOPES) - 1))
def test_enough_holds_what_a_scope_keeps(iteration: Iteration, number: int) -> None:
    """The most of a step's tensors and what is kept across it, of the steps that the scope's intervals touch."""
    reuse = reuse_of(trace_of(iteration))
    chosen = reuse.scope == number
    kept = [one for one, stays in zip(listed(reuse), chosen.tolist(), strict=True) if stays]
    most = 0
    for n, step in enumerate(iteration.steps):
        over = [one for one in kept if one[1] <= n <= one[2]]
        inside = {tensor for tensor, _, _ in over} | touched(step)
        if over:
            most = max(most, sum(iteration.tensors[tensor].bytes for tensor in inside))
    assert sufficient_capacity(reuse.intervals, chosen) == most
