"""Plans of many machines at once: as those that the rule takes one after another from the times of all plans."""

from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.backends.roofline.iteration.best import Ladder, ladder_of
from npuc.backends.roofline.iteration.climb import TimedLadder
from npuc.backends.roofline.iteration.steps import Iteration, Transfers, least_rows
from npuc.backends.roofline.iteration.timeline import timeline
from npuc.backends.roofline.iteration.trace import trace_of
from tests.iterations import iterations

TERA, GIGA = 1e-12, 1e-9
"""A machine of one operation and one byte a second."""
random_iterations = iterations(steps=14, tensors=8)
capacities = st.lists(st.integers(0, 150), min_size=1, max_size=3)
Taken = tuple[int, bool]
SPEEDS = st.tuples(st.sampled_from((0.1, 0.5, 1.0, 7.0, 30.0)), st.sampled_from((0.25, 1.0, 4.0)))
TRANSFERS = st.builds(
    Transfers,
    st.booleans(),
    st.sampled_from(("latency", "next-layer", "none")),
    st.sampled_from(("look-ahead", "when-full")),
)


def _by_all_times(ladder: Ladder, capacity: int, tflops: float, gb_per_s: float, transfers: Transfers) -> Taken:
    """The capacity and the rule of the plan that a capacity takes: rung by rung, each plan timed by itself."""
    lanes = [(n, lane) for n, plan in enumerate(ladder.plans) for lane in range(len(plan.capacity))]
    costs: list[tuple[float, int]] = []
    for part, lane in lanes:
        plan = ladder.plans[part].lanes(np.array([lane]))
        moved = int(plan.bytes_in[0] + plan.bytes_out[0])
        costs.append((float(timeline(plan, tflops, gb_per_s, transfers).total[0]), moved))
    best: tuple[tuple[float, int], int, bool] | None = None
    for number, rung in enumerate(ladder.rungs.tolist()):
        if best is not None and rung > capacity:
            break
        own = [(costs[rule * len(ladder.rungs) + number], rung, bypass) for rule, bypass in enumerate(ladder.rules)]
        if best is not None:
            own = [one for one in own if one[0][0] <= best[0][0] and one[0][1] <= best[0][1]]
        best = min(own, key=lambda one: one[0]) if own else best
    assert best is not None
    return min(best[1], capacity), best[2]


@settings(max_examples=25)
@given(random_iterations, capacities, st.booleans(), st.lists(SPEEDS, min_size=1, max_size=4), TRANSFERS, st.randoms())
def test_a_climb_takes_what_the_times_of_all_plans_say(
    iteration: Iteration,
    sizes: list[int],
    retain: bool,
    speeds: list[tuple[float, float]],
    transfers: Transfers,
    random: Random,
) -> None:
    """Whatever else is asked for together with a machine, or was before."""
    trace, floor = trace_of(iteration), least_rows(iteration)[0]
    machines = [(max(size, floor), t * TERA, g * GIGA) for size in sizes for t, g in speeds]
    random.shuffle(machines)
    ladder = ladder_of(trace, max(size for size, _, _ in machines), retain=retain)
    timed, half, found = TimedLadder(ladder, transfers), len(machines) // 2, list[Taken]()
    for some in (machines[:half], machines[half:], machines):
        if some:
            choice = timed.choose(np.array([size for size, _, _ in some]), [(t, g) for _, t, g in some])
            found = list(zip(choice.capacity.tolist(), choice.bypass.tolist(), strict=True))
            assert found == [_by_all_times(ladder, *one, transfers) for one in some]
            made = [(number, size) for number, size in zip(choice.number.tolist(), found, strict=True) if number >= 0]
            lanes = ladder.lanes(np.array([number for number, _ in made], dtype=np.int64))
            assert lanes.capacity.tolist() == [size for _, (size, _) in made]


@settings(max_examples=25)
@given(random_iterations, capacities, st.lists(SPEEDS, min_size=1, max_size=4), TRANSFERS)
def test_lanes_of_several_machines_are_timed_as_one_by_one(
    iteration: Iteration, sizes: list[int], speeds: list[tuple[float, float]], transfers: Transfers
) -> None:
    """To the bit."""
    trace, floor = trace_of(iteration), least_rows(iteration)[0]
    plan = ladder_of(trace, max(*sizes, floor), retain=True).plans[0]
    lanes = np.arange(len(plan.capacity)).repeat(len(speeds))
    tflops, gb_per_s = np.tile(np.array(speeds).T, len(plan.capacity)) * np.array([[TERA], [GIGA]])
    many = timeline(plan.lanes(lanes), tflops, gb_per_s, transfers)
    for number, (t, g) in enumerate(speeds):
        one = timeline(plan, t * TERA, g * GIGA, transfers)
        for name in ("start", "ready", "end", "total"):
            assert (getattr(many, name)[..., number :: len(speeds)] == getattr(one, name)).all()
