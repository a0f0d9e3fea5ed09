"""
Offload: when a value that the plan evicts, or that must be in memory at the end, leaves the cache.

The study looks ahead: the plan is made before the timeline, so what is evicted before its next use is known at its last
one, leaves right after it, and takes no capacity in between. `when-full` is the write-back of a cache without this
knowledge (derived here): what the plan does not cache lingers until a step needs its place, in the order of the policy,
what nobody reads again before all else; a streaming step takes all of the place. What leaves is copied before the loads
of that step, which waits for it, and cannot be loaded again earlier. What still lingers at the end is copied then.

Under the policies `belady` and `lru` values leave at the steps at which these policies evict them.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from npuc.backends.roofline.iteration.cache_plan import CachePlan
from npuc.backends.roofline.iteration.trace import NEVER, Bools, Ints, Trace

Order = tuple[int, int, int]
"""What leaves first has the least of these."""


def leaving(plan: CachePlan) -> Ints:
    """
    The step at whose start the value of each slot leaves a full cache, by lane: the slot's own for one that leaves with
    it, the number of steps for one that stays to the end, -1 for one that stays cached or that nobody wants.
    """
    found = np.full(plan.cached.shape, NEVER, dtype=np.int64)
    for lane in range(len(plan.capacity)):
        found[:, lane] = _walk(plan, lane)
    return found


def lingering(plan: CachePlan, leaves: Ints) -> Ints:
    """Bytes during each step, by lane, of values that linger and that memory lacks."""
    trace, lanes = plan.trace, len(plan.capacity)
    change = np.zeros((trace.steps + 2, lanes), dtype=np.int64)
    for slot in np.flatnonzero(plan.offload.any(axis=1)).tolist():
        here = np.flatnonzero(plan.offload[slot] & (leaves[slot] > trace.step[slot]))
        change[trace.step[slot] + 1, here] += trace.size[slot]
        change[leaves[slot, here], here] -= trace.size[slot]
    return change.cumsum(axis=0)[: trace.steps]


def _walk(plan: CachePlan, lane: int) -> list[int]:
    """`leaving` of one lane."""
    trace = plan.trace
    first, previous, size = trace.first.tolist(), trace.previous.tolist(), trace.size.tolist()
    cached, streams = plan.cached[:, lane].tolist(), plan.streams[:, lane].tolist()
    following, offload = trace.next.tolist(), plan.offload[:, lane].tolist()
    free = (plan.capacity[lane] - trace.footprint - _across(trace, plan.cached[:, lane])).tolist()
    leaves = [NEVER] * trace.slots
    waiting: list[tuple[Order, int]] = []
    bytes = 0
    for step in range(trace.steps):
        slots = range(first[step], first[step + 1])
        for slot in slots:
            before = previous[slot]
            if before >= 0 and not cached[slot] and leaves[before] == NEVER:
                leaves[before] = step
                bytes -= size[before]
        while waiting and (streams[step] or bytes > free[step]):
            _, slot = heappop(waiting)
            if leaves[slot] == NEVER:
                leaves[slot] = step
                bytes -= size[slot]
        for slot in slots:
            later = following[slot]
            if not cached[later] if later >= 0 else offload[slot]:
                if streams[step]:
                    leaves[slot] = step
                else:
                    heappush(waiting, (_order(plan.oldest, later, step, slot), slot))
                    bytes += size[slot]
    for _, slot in waiting:
        if leaves[slot] == NEVER:
            leaves[slot] = trace.steps
    return leaves


def _order(oldest: bool, later: int, step: int, slot: int) -> Order:
    """The order in which values leave, by the slot of the next use and the step and slot of the last."""
    if later < 0:
        return 0, step, -slot
    return (1, step, -slot) if oldest else (1, -later, 0)


def _across(trace: Trace, cached: Bools) -> Ints:
    """Bytes cached across each step, of tensors that it does not touch."""
    ends = np.flatnonzero(cached)
    change = np.zeros(trace.steps + 1, dtype=np.int64)
    np.add.at(change, trace.step[trace.previous[ends]] + 1, trace.size[ends])
    np.subtract.at(change, trace.step[ends], trace.size[ends])
    return change.cumsum()[:-1]
