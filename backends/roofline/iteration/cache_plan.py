"""
Plans of the cache: which tensors are cached between two accesses, by any rule, for many capacities.

The arrays of a plan have a last axis of lanes, one for each capacity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from npuc.backends.roofline.iteration.trace import Bools, Ints, Trace


@dataclass(frozen=True)
class CachePlan:
    """
    Plans for `capacity`, in bytes, one per lane.

    `cached[s, lane]`: the tensor of slot s has been cached since its previous access. `offload[s, lane]`: the result
    that the step of slot s wrote there is copied to memory afterwards. `streams[i, lane]`: step i streams. `peak` is
    the largest occupancy in bytes: the plan is feasible for every capacity of at least that. `oldest`: what was used
    longest ago leaves first, not what is used again last.
    """

    trace: Trace
    capacity: Ints
    cached: Bools
    offload: Bools
    streams: Bools
    peak: Ints
    oldest: bool = False

    @property
    def bytes_in(self) -> Ints:
        """Bytes read from memory, by lane."""
        return _weighted(self.trace.size, ~self.cached & self.trace.read[:, None])

    @property
    def bytes_out(self) -> Ints:
        """Bytes written to memory, by lane."""
        return _weighted(self.trace.size, self.offload)

    def lanes(self, chosen: Ints) -> CachePlan:
        """The plans of some lanes."""
        return CachePlan(
            self.trace,
            self.capacity[chosen],
            self.cached[:, chosen],
            self.offload[:, chosen],
            self.streams[:, chosen],
            self.peak[chosen],
            self.oldest,
        )


def joined(plans: Sequence[CachePlan], order: Ints) -> CachePlan:
    """The lanes of several plans of one trace as one, in an order of their numbers one after another."""
    first = plans[0]
    cached, offload, streams = (
        np.concatenate([getattr(plan, name) for plan in plans], axis=1)[:, order]
        for name in ("cached", "offload", "streams")
    )
    capacity, peak = (np.concatenate([getattr(plan, name) for plan in plans])[order] for name in ("capacity", "peak"))
    return CachePlan(first.trace, capacity, cached, offload, streams, peak, first.oldest)


def _weighted(size: Ints, chosen: Bools) -> Ints:
    """The sum of the sizes of the chosen slots, by lane."""
    return np.einsum("s,sl->l", size, chosen, dtype=np.int64, casting="unsafe")


def plan_of(trace: Trace, capacity: Ints, cached: Bools) -> CachePlan:
    """
    The plan that caches the given tensors, in which a step streams only if its tensors do not fit beside the cached
    ones.

    At most the capacity, in bytes, may be cached between two steps.
    """
    change = np.zeros((trace.steps + 1, len(capacity)), dtype=np.int64)
    ends = np.flatnonzero(trace.previous >= 0)
    cached_bytes = cached[ends] * trace.size[ends, None]
    np.add.at(change, trace.step[trace.previous[ends]], cached_bytes)
    np.subtract.at(change, trace.step[ends], cached_bytes)
    after = change.cumsum(axis=0)[:-1]
    starts = np.zeros_like(after)
    np.add.at(starts, trace.step[trace.previous[ends]], cached_bytes)
    during = after - starts + trace.footprint[:, None]
    streams = during > capacity
    peak = np.maximum(after, np.where(streams, 0, during)).max(axis=0, initial=0)
    return CachePlan(trace, capacity, cached, offloads(trace, cached), streams, peak)


def offloads(trace: Trace, cached: Bools) -> Bools:
    """
    The slots whose values are copied to memory after their step: memory lacks them, and they are not cached until used.
    """
    dirty = np.zeros_like(cached)
    offload = np.zeros_like(cached)
    write, following, previous = trace.write.tolist(), trace.next.tolist(), trace.previous.tolist()
    final = trace.final.tolist()
    for slot in range(trace.slots):
        before = previous[slot]
        if write[slot]:
            dirty[slot] = True
        elif before >= 0:
            dirty[slot] = dirty[before] & cached[slot]
        if final[slot]:
            offload[slot] = dirty[slot]
        elif following[slot] >= 0:
            offload[slot] = dirty[slot] & ~cached[following[slot]]
    return offload
