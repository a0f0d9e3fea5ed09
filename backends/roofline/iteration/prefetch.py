"""
Latency-aware prefetch: when the loads of a plan are issued.

A miss is loaded early enough that the layers before it hide it: from its step back, the compute time of steps is added
up until it covers the load, as far as the tensor fits beside what is resident meanwhile, and not beyond the tensor's
last access. Where no step is reached it is loaded on demand; so are the inputs of a step that streams. What leaves the
cache before it is needed again leaves right after its last use, so it takes no room in between.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from npuc.backends.roofline.iteration.cache_plan import Plan
from npuc.backends.roofline.iteration.trace import Ints, Trace

Floats = npt.NDArray[np.float64]
ON_DEMAND = -1


def prefetches(plan: Plan, compute: Floats, gb_per_s: float) -> Ints:
    """
    The step at which the load of each slot is issued in each lane, -1 for on demand and where nothing is loaded.

    `compute` is the compute time of each step in seconds; `gb_per_s` the bandwidth in 10^9 bytes a second.
    """
    trace, capacity = plan.trace, plan.capacity
    issue = np.full(plan.kept.shape, ON_DEMAND, dtype=np.int64)
    room = capacity - occupancy(plan)
    earliest = _earliest(trace, compute, gb_per_s)
    fitting = ~plan.streams
    missed = (trace.read[:, None] & ~plan.kept & fitting[trace.step]).any(axis=1)
    missed &= earliest < trace.step
    steps, size = trace.step.tolist(), trace.size.tolist()
    for slot in trace.listed[missed[trace.listed]].tolist():
        step, low, bytes = steps[slot], int(earliest[slot]), size[slot]
        window = room[low:step]
        fits = window >= bytes
        # from the step back, as long as there is room
        reached = np.logical_and.accumulate(fits[::-1], axis=0)[::-1]
        reached &= ~plan.kept[slot] & fitting[step]
        window -= reached * bytes
        count = reached.sum(axis=0)
        issue[slot] = np.where(count > 0, step - count, ON_DEMAND)
    return issue


def occupancy(plan: Plan) -> Ints:
    """Bytes in the cache during each step in each lane: the step's tensors and those that are kept across it."""
    trace = plan.trace
    change = np.zeros((trace.steps + 1, len(plan.capacity)), dtype=np.int64)
    for slot in np.flatnonzero(plan.kept.any(axis=1)).tolist():
        held = plan.kept[slot] * trace.size[slot]
        change[trace.step[trace.previous[slot]] + 1] += held
        change[trace.step[slot]] -= held
    across = change.cumsum(axis=0)[:-1]
    # a step that streams takes what is left, were it but rows
    own = np.where(plan.streams, plan.capacity - across, trace.footprint[:, None])
    return across + own


def _earliest(trace: Trace, compute: Floats, gb_per_s: float) -> Ints:
    """The step that hides the load of each slot, or the first after the tensor's last access."""
    before = np.concatenate(([0.0], np.cumsum(compute)))
    start = before[trace.step] - trace.size / (gb_per_s * 1e9)
    # the last step from which on the compute time is enough
    step = np.searchsorted(before, start, side="right") - 1
    last = np.where(trace.previous >= 0, trace.step[trace.previous], -1)
    return np.maximum(np.maximum(step, 0), last + 1)
