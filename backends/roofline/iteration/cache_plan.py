"""
The plan of the cache: which tensors are cached between two accesses, by Belady's rule.

A tensor is cached from one access to the next or evicted; the one with the farthest next use is evicted first
(L. A. Belady, "A study of replacement algorithms for a virtual-storage computer", 1966; here for tensors of unequal
size, as in the study). A step whose tensors do not fit streams: their rows pass through the cache, each missing input
is loaded once, and afterwards the cache holds nothing (`flush`) or the tensors with the nearest next use, as far as
they fit (`retain`). A step that would fit may also stream instead of evicting others (`bypass`), which is often better.

The next use does not depend on the capacity, so one walk makes the plans of many capacities, the lanes: all arrays have
a last axis of lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from npuc.backends.roofline.iteration.trace import Bools, Ints, Trace

BLOCK = 64
"""Slots are counted by blocks of so many; evictions search one block at a time."""
FIRST_LOOK = 8
"""Most evictions are found among so many slots."""


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


def belady_plan(trace: Trace, capacity: Ints, retain: bool | Bools = True, bypass: bool | Bools = False) -> CachePlan:
    """
    Belady's plan for each capacity, in bytes.

    `retain` says, for all or for each, what is cached after a streaming step; `bypass` whether steps that fit may
    stream. The time grows with the steps and with the evictions of all capacities together.
    """
    rules = [np.broadcast_to(np.asarray(rule), capacity.shape) for rule in (retain, bypass)]
    return _Walk(trace, capacity, *rules).run()


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


class _Walk:
    """The walk over the steps, in all lanes at once."""

    def __init__(self, trace: Trace, capacity: Ints, retain: Bools, bypass: Bools):
        self.trace, self.capacity, self.retain = trace, capacity, retain
        self.bypass = bypass if bypass.any() else None
        lanes = len(capacity)
        self.streams = np.zeros((trace.steps, lanes), dtype=np.bool_)
        self.cached = np.zeros((trace.slots, lanes), dtype=np.bool_)
        self.used = np.zeros(lanes, dtype=np.int64)  # cached bytes
        self.peak = np.zeros(lanes, dtype=np.int64)
        self.top = np.full(lanes, -1, dtype=np.int64)  # no slot above it is cached
        self.count = np.zeros((trace.slots // BLOCK + 1, lanes), dtype=np.int64)  # cached slots of each block
        self.smallest = int(capacity.min()) if lanes else 0
        self.place = np.empty(trace.slots, dtype=np.int64)  # of each slot in the order in which `retain` caches
        self.place[trace.nearest] = np.arange(trace.slots)

    def run(self) -> CachePlan:
        trace = self.trace
        first, following = trace.first.tolist(), trace.next.tolist()
        size, footprint = trace.size.tolist(), trace.footprint.tolist()
        for step in range(trace.steps):
            start, end = first[step], first[step + 1]
            for slot in range(start, end):
                if trace.previous[slot] >= 0:
                    self.used -= self.cached[slot] * size[slot]
                    self.count[slot // BLOCK] -= self.cached[slot]
            streams = self._evict_until_fits(end, footprint[step])
            if streams is not None:
                self.streams[step] = streams
            reused = [(following[slot], size[slot]) for slot in range(start, end) if following[slot] >= 0]
            if streams is None:
                for slot, _ in reused:
                    self.cached[slot] = True
                    self.count[slot // BLOCK] += 1
                    np.maximum(self.top, slot, out=self.top)
                self.used += sum(bytes for _, bytes in reused)
            else:
                self._cache(reused, ~streams)
                self._after_streaming(end, reused, streams)
        return CachePlan(trace, self.capacity, self.cached, offloads(trace, self.cached), self.streams, self.peak)

    def _evict_until_fits(self, end: int, footprint: int) -> Bools | None:
        """Evict tensors until those of the step fit; returns the lanes in which they cannot, None if there are none."""
        free = self.capacity - footprint
        excess = self.used - free
        streams = free < 0 if footprint > self.smallest else None
        if self.bypass is not None:
            crowded = self.bypass & (excess > 0)
            streams = crowded if streams is None else streams | crowded
        if streams is not None:
            excess[streams] = 0
        lanes = np.flatnonzero(excess > 0)
        if len(lanes):
            self._evict(end, lanes, excess[lanes])
        now = self.used + footprint
        if streams is not None:
            now[streams] = 0
        np.maximum(self.peak, now, out=self.peak)
        return streams if streams is not None and streams.any() else None

    def _evict(self, end: int, lanes: Ints, excess: Ints) -> list[tuple[Ints, Ints]]:
        """
        Evict slots from the top down to `end` in some lanes until `excess` bytes are free; returns the slots and lanes.
        """
        size, cached, gone_from = self.trace.size, self.cached, list[tuple[Ints, Ints]]()
        window = FIRST_LOOK
        while len(lanes):
            down = np.arange(window)[:, None]
            top = self.top[lanes]
            slots = top - down
            inside = np.maximum(slots, end)
            found = cached[inside, lanes] & (slots >= end)
            bytes_of = np.where(found, size[inside], 0)
            freed = bytes_of.cumsum(axis=0)
            leaves = found & (freed - bytes_of < excess)
            rows, columns = np.nonzero(leaves)
            out, where = slots[rows, columns], lanes[columns]
            cached[out, where] = False
            np.subtract.at(self.count, (out // BLOCK, where), 1)
            gone_from.append((out, where))
            gone = np.where(leaves, bytes_of, 0).sum(axis=0)
            self.used[lanes] -= gone
            done = gone >= excess
            last = np.where(done, np.argmax(freed >= excess, axis=0), window - 1)
            window = BLOCK
            self.top[lanes] = top - last - 1
            lanes, excess = lanes[~done], (excess - gone)[~done]
            if len(lanes):
                self._skip(lanes)
        return gone_from

    def _skip(self, lanes: Ints) -> None:
        """Lower the top of some lanes to the highest block that has a cached tensor."""
        block = max(int(self.top[lanes].max()), 0) // BLOCK
        some = self.count[block::-1, lanes] > 0
        highest = block - np.argmax(some, axis=0)
        self.top[lanes] = np.minimum(self.top[lanes], highest * BLOCK + BLOCK - 1)

    def _cache(self, reused: list[tuple[int, int]], where: Bools) -> None:
        """Cache tensors of a step in some lanes."""
        for slot, bytes in reused:
            self.cached[slot] |= where
            self.count[slot // BLOCK] += where
            self.used += where * bytes
            np.maximum(self.top, slot, out=self.top, where=where)

    def _after_streaming(self, end: int, reused: list[tuple[int, int]], streams: Bools) -> None:
        """Update the cache after a streaming step, in the lanes where it streams."""
        flushes = np.flatnonzero(streams & ~self.retain)
        if len(flushes):
            self.cached[end:, flushes] = False
            self.count[:, flushes] = 0
            self.used[flushes], self.top[flushes] = 0, end - 1
        retains = streams & self.retain
        if self.bypass is not None:
            crowded = retains & self.bypass
            self._cache(reused, crowded)
            lanes = np.flatnonzero(crowded & (self.used > self.capacity))
            self._refill(self._evict(end, lanes, self.used[lanes] - self.capacity[lanes]))
            np.maximum(self.peak, self.used, out=self.peak, where=crowded)
            retains &= ~self.bypass
        if retains.any():
            self._retain(end, reused, np.flatnonzero(retains))

    def _refill(self, gone: list[tuple[Ints, Ints]]) -> None:
        """Restore evicted tensors that still fit because a larger one was evicted: the nearest next use first."""
        if not gone:
            return
        slots, lanes = (np.concatenate(parts) for parts in zip(*gone, strict=True))
        sizes = self.trace.size[slots]
        maybe = self.used[lanes] + sizes <= self.capacity[lanes]
        for slot in np.unique(slots[maybe]).tolist():
            own = lanes[slots == slot]
            own = own[self.used[own] + self.trace.size[slot] <= self.capacity[own]]
            self.cached[slot, own] = True
            self.count[slot // BLOCK, own] += 1
            self.used[own] += self.trace.size[slot]
            self.top[own] = np.maximum(self.top[own], slot)

    def _retain(self, end: int, reused: list[tuple[int, int]], lanes: Ints) -> None:
        """
        Cache the tensors with the nearest next use, as far as they fit, among the cached ones and the step's own.

        Ties are broken as in the reference data: what is evicted last elsewhere is cached first here.
        """
        blocks = np.flatnonzero(cast(Bools, self.count[:, lanes].any(axis=1)))
        slots = (blocks[:, None] * BLOCK + np.arange(BLOCK)).ravel()
        own = np.array([slot for slot, _ in reused], dtype=np.int64)
        slots = np.union1d(slots[(slots >= end) & (slots < self.trace.slots)], own)
        slots = slots[np.argsort(self.place[slots])]
        candidates = self.cached[np.ix_(slots, lanes)]
        candidates[np.isin(slots, own)] = True
        free = self.capacity[lanes].copy()
        self.count[:, lanes] = 0
        for row in np.flatnonzero(cast(Bools, candidates.any(axis=1))).tolist():
            bytes = self.trace.size[slots[row]]
            fits: Bools = np.logical_and(candidates[row], free >= bytes)
            candidates[row] = fits
            free -= fits * bytes
            self.count[slots[row] // BLOCK, lanes] += fits
        self.cached[np.ix_(slots, lanes)] = candidates
        self.used[lanes] = self.capacity[lanes] - free
        self.top[lanes] = slots.max(initial=end - 1)
        self.peak[lanes] = np.maximum(self.peak[lanes], self.used[lanes])


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
