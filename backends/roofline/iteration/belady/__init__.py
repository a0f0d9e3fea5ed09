"""
The plan of the cache by Belady's rule.

A tensor is cached from one access to the next or evicted; the one with the farthest next use is evicted first
(L. A. Belady, "A study of replacement algorithms for a virtual-storage computer", 1966; here for tensors of unequal
size, as in the study). A step whose tensors do not fit streams: their rows pass through the cache, each missing input
is loaded once, and afterwards the cache holds nothing (`flush`) or the tensors with the nearest next use, as far as
they fit (`retain`). A step that would fit may also stream instead of evicting others (`bypass`), which is often better.

The next use does not depend on the capacity, so one walk makes the plans of many capacities, the lanes: all arrays have
a last axis of lanes.
"""

from __future__ import annotations

import numpy as np

from npuc.backends.roofline.iteration.belady.held import Held
from npuc.backends.roofline.iteration.cache_plan import CachePlan, offloads
from npuc.backends.roofline.iteration.trace import Bools, Ints, Trace


def belady_plan(trace: Trace, capacity: Ints, retain: bool | Bools = True, bypass: bool | Bools = False) -> CachePlan:
    """
    Belady's plan for each capacity, in bytes.

    `retain` says, for all or for each, what is cached after a streaming step; `bypass` whether steps that fit may
    stream. The time grows with the steps and with the evictions of the capacities.
    """
    rules = [np.broadcast_to(np.asarray(rule), capacity.shape) for rule in (retain, bypass)]
    return _Walk(trace, capacity, *rules).run()


class _Walk:
    """The walk over the steps, in all lanes at once."""

    def __init__(self, trace: Trace, capacity: Ints, retain: Bools, bypass: Bools):
        self.trace, self.capacity, self.retain = trace, capacity, retain
        self.bypass = bypass if bypass.any() else None
        self.last_of_equal = ~bypass  # ties are broken as in the reference data
        lanes = len(capacity)
        self.streams = np.zeros((trace.steps, lanes), dtype=np.bool_)
        self.held = Held(trace, lanes)
        self.peak = np.zeros(lanes, dtype=np.int64)
        self.smallest = int(capacity.min()) if lanes else 0

    def run(self) -> CachePlan:
        trace = self.trace
        first, following, footprint = trace.first.tolist(), trace.next.tolist(), trace.footprint.tolist()
        for step in range(trace.steps):
            start, end = first[step], first[step + 1]
            self.held.reach(start, end)
            streams = self._evict_until_fits(footprint[step])
            reused = [slot for slot in following[start:end] if slot >= 0]
            if streams is None:
                self.held.add(reused)
            else:
                self.streams[step] = streams
                self.held.add(reused, ~streams | self.retain)
                self._after_streaming(streams)
        cached = self.held.cached[: trace.slots]
        return CachePlan(trace, self.capacity, cached, offloads(trace, cached), self.streams, self.peak)

    def _evict_until_fits(self, footprint: int) -> Bools | None:
        """Evict tensors until those of the step fit; returns the lanes in which they cannot, None if there are none."""
        free = self.capacity - footprint
        excess = self.held.used > free
        streams = free < 0 if footprint > self.smallest else None
        if self.bypass is not None:
            crowded = self.bypass & excess
            streams = crowded if streams is None else streams | crowded
        if streams is not None:
            excess[streams] = False
        lanes = np.flatnonzero(excess)
        if len(lanes):
            self.held.leave(lanes, free[lanes])
        now = self.held.used + footprint
        if streams is not None:
            now[streams] = 0
        np.maximum(self.peak, now, out=self.peak)
        return streams if streams is not None and streams.any() else None

    def _after_streaming(self, streams: Bools) -> None:
        """Update the cache after a streaming step, which cached its own where something is retained."""
        flushes = np.flatnonzero(streams & ~self.retain)
        if len(flushes):
            self.held.clear(flushes)
        lanes = np.flatnonzero(streams & self.retain)
        if len(lanes):
            self.held.fit(lanes, self.capacity[lanes], self.last_of_equal[lanes])
            self.peak[lanes] = np.maximum(self.peak[lanes], self.held.used[lanes])
