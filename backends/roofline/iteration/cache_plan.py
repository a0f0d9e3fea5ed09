"""
The residency plan: which tensors stay in the cache between two accesses, by Belady's rule.

A tensor stays from one access to the next, or leaves: the one whose next use is farthest leaves first (L. A. Belady,
"A study of replacement algorithms for a virtual-storage computer", 1966; here for tensors of unequal size, as in the
study). A step whose tensors do not fit streams: rows of them pass through, each missing input once, and what remains
afterwards is nothing (`flush`) or what is used nearest, as far as it fits (`retain`). A step that would fit may stream
as well rather than let others leave (`bypass`), which is often the better plan.

The next use does not depend on the capacity, so the plans of many capacities, the lanes, are made in one walk: all
arrays have a last axis of lanes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from npuc.backends.roofline.iteration.trace import Bools, Ints, Trace

BLOCK = 64
"""Slots are counted in blocks of so many, and looked at so many in one go when something has to leave."""
FIRST_LOOK = 8
"""Most of what leaves is found among so many slots."""


@dataclass(frozen=True)
class Plan:
    """
    Plans for `capacity`, in bytes: one a lane.

    `kept[s, lane]`: the tensor of slot s was kept since its previous access. `offload[s, lane]`: what the step of
    slot s has written is copied to memory afterwards. `streams[i, lane]`: step i streams. `peak` is the most that is
    resident, in bytes: the plan holds for every capacity from there on.
    """

    trace: Trace
    capacity: Ints
    kept: Bools
    offload: Bools
    streams: Bools
    peak: Ints

    @property
    def bytes_in(self) -> Ints:
        """Bytes read from memory, a lane each."""
        return _weighted(self.trace.size, ~self.kept & self.trace.read[:, None])

    @property
    def bytes_out(self) -> Ints:
        """Bytes written to memory, a lane each."""
        return _weighted(self.trace.size, self.offload)

    def lanes(self, chosen: Ints) -> Plan:
        """The plans of some lanes."""
        return Plan(
            self.trace,
            self.capacity[chosen],
            self.kept[:, chosen],
            self.offload[:, chosen],
            self.streams[:, chosen],
            self.peak[chosen],
        )


def _weighted(size: Ints, chosen: Bools) -> Ints:
    """The sum of sizes of the slots that are chosen, for each lane."""
    return np.einsum("s,sl->l", size, chosen, dtype=np.int64, casting="unsafe")


def residency(trace: Trace, capacity: Ints, retain: bool | Bools = True, bypass: bool | Bools = False) -> Plan:
    """
    Belady's plan for each capacity, in bytes.

    `retain` says, for all or for each, what remains after a step that streams; `bypass` whether steps that fit may
    stream. Time is that of the number of steps and of what leaves, for all capacities together.
    """
    rules = [np.broadcast_to(np.asarray(rule), capacity.shape) for rule in (retain, bypass)]
    return _Walk(trace, capacity, *rules).run()


def plan_of(trace: Trace, capacity: Ints, kept: Bools) -> Plan:
    """
    The plan that keeps these tensors, where a step streams only if its tensors do not fit beside what is kept.

    What is kept between two steps must not exceed the capacity, in bytes.
    """
    change = np.zeros((trace.steps + 1, len(capacity)), dtype=np.int64)
    ends = np.flatnonzero(trace.previous >= 0)
    held = kept[ends] * trace.size[ends, None]
    np.add.at(change, trace.step[trace.previous[ends]], held)
    np.subtract.at(change, trace.step[ends], held)
    after = change.cumsum(axis=0)[:-1]
    starts = np.zeros_like(after)
    np.add.at(starts, trace.step[trace.previous[ends]], held)
    during = after - starts + trace.footprint[:, None]
    streams = during > capacity
    peak = np.maximum(after, np.where(streams, 0, during)).max(axis=0, initial=0)
    return Plan(trace, capacity, kept, _offloads(trace, kept), streams, peak)


class _Walk:
    """The walk over the steps, in all lanes at once."""

    def __init__(self, trace: Trace, capacity: Ints, retain: Bools, bypass: Bools):
        self.trace, self.capacity, self.retain = trace, capacity, retain
        self.bypass = bypass if bypass.any() else None
        lanes = len(capacity)
        self.streams = np.zeros((trace.steps, lanes), dtype=np.bool_)
        self.kept = np.zeros((trace.slots, lanes), dtype=np.bool_)
        self.used = np.zeros(lanes, dtype=np.int64)  # bytes that are resident
        self.peak = np.zeros(lanes, dtype=np.int64)
        self.top = np.full(lanes, -1, dtype=np.int64)  # no slot above it is resident
        self.count = np.zeros((trace.slots // BLOCK + 1, lanes), dtype=np.int64)  # resident slots of each block
        self.smallest = int(capacity.min()) if lanes else 0
        self.place = np.empty(trace.slots, dtype=np.int64)  # of each slot in the order of what is kept first
        self.place[trace.nearest] = np.arange(trace.slots)

    def run(self) -> Plan:
        trace = self.trace
        first, following = trace.first.tolist(), trace.next.tolist()
        size, footprint = trace.size.tolist(), trace.footprint.tolist()
        for step in range(trace.steps):
            start, end = first[step], first[step + 1]
            for slot in range(start, end):
                if trace.previous[slot] >= 0:
                    self.used -= self.kept[slot] * size[slot]
                    self.count[slot // BLOCK] -= self.kept[slot]
            streams = self._make_room(end, footprint[step])
            if streams is not None:
                self.streams[step] = streams
            stays = [(following[slot], size[slot]) for slot in range(start, end) if following[slot] >= 0]
            if streams is None:
                for slot, _ in stays:
                    self.kept[slot] = True
                    self.count[slot // BLOCK] += 1
                    np.maximum(self.top, slot, out=self.top)
                self.used += sum(bytes for _, bytes in stays)
            else:
                self._stay(stays, ~streams)
                self._after_streaming(end, stays, streams)
        return Plan(trace, self.capacity, self.kept, _offloads(trace, self.kept), self.streams, self.peak)

    def _make_room(self, end: int, footprint: int) -> Bools | None:
        """Let others than the step's tensors leave until these fit; where they cannot, None if nowhere."""
        room = self.capacity - footprint
        excess = self.used - room
        streams = room < 0 if footprint > self.smallest else None
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
        """Let slots from the top down to `end` leave in some lanes until so many bytes are free; which, and where."""
        size, kept, gone_from = self.trace.size, self.kept, list[tuple[Ints, Ints]]()
        window = FIRST_LOOK
        while len(lanes):
            down = np.arange(window)[:, None]
            top = self.top[lanes]
            slots = top - down
            inside = np.maximum(slots, end)
            found = kept[inside, lanes] & (slots >= end)
            bytes_of = np.where(found, size[inside], 0)
            freed = bytes_of.cumsum(axis=0)
            leaves = found & (freed - bytes_of < excess)
            rows, columns = np.nonzero(leaves)
            out, where = slots[rows, columns], lanes[columns]
            kept[out, where] = False
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
        """Bring the top of some lanes down to the highest block in which something is resident."""
        block = max(int(self.top[lanes].max()), 0) // BLOCK
        some = self.count[block::-1, lanes] > 0
        highest = block - np.argmax(some, axis=0)
        self.top[lanes] = np.minimum(self.top[lanes], highest * BLOCK + BLOCK - 1)

    def _stay(self, stays: list[tuple[int, int]], where: Bools) -> None:
        """Let tensors of a step stay in some lanes."""
        for slot, bytes in stays:
            self.kept[slot] |= where
            self.count[slot // BLOCK] += where
            self.used += where * bytes
            np.maximum(self.top, slot, out=self.top, where=where)

    def _after_streaming(self, end: int, stays: list[tuple[int, int]], streams: Bools) -> None:
        """What is resident after a step that streams, in the lanes where it does."""
        flushes = np.flatnonzero(streams & ~self.retain)
        if len(flushes):
            self.kept[end:, flushes] = False
            self.count[:, flushes] = 0
            self.used[flushes], self.top[flushes] = 0, end - 1
        retains = streams & self.retain
        if self.bypass is not None:
            crowded = retains & self.bypass
            self._stay(stays, crowded)
            lanes = np.flatnonzero(crowded & (self.used > self.capacity))
            self._refill(self._evict(end, lanes, self.used[lanes] - self.capacity[lanes]))
            np.maximum(self.peak, self.used, out=self.peak, where=crowded)
            retains &= ~self.bypass
        if retains.any():
            self._retain(end, stays, np.flatnonzero(retains))

    def _refill(self, gone: list[tuple[Ints, Ints]]) -> None:
        """Take back what has left and fits all the same, since something larger has left: the nearest use first."""
        if not gone:
            return
        slots, lanes = (np.concatenate(parts) for parts in zip(*gone, strict=True))
        sizes = self.trace.size[slots]
        maybe = self.used[lanes] + sizes <= self.capacity[lanes]
        for slot in np.unique(slots[maybe]).tolist():
            own = lanes[slots == slot]
            own = own[self.used[own] + self.trace.size[slot] <= self.capacity[own]]
            self.kept[slot, own] = True
            self.count[slot // BLOCK, own] += 1
            self.used[own] += self.trace.size[slot]
            self.top[own] = np.maximum(self.top[own], slot)

    def _retain(self, end: int, stays: list[tuple[int, int]], lanes: Ints) -> None:
        """
        Keep what is used nearest as far as it fits, of what was resident and of the step's own tensors.

        Ties as in the reference data: what leaves last elsewhere is kept first here.
        """
        blocks = np.flatnonzero(cast(Bools, self.count[:, lanes].any(axis=1)))
        slots = (blocks[:, None] * BLOCK + np.arange(BLOCK)).ravel()
        own = np.array([slot for slot, _ in stays], dtype=np.int64)
        slots = np.union1d(slots[(slots >= end) & (slots < self.trace.slots)], own)
        slots = slots[np.argsort(self.place[slots])]
        candidates = self.kept[np.ix_(slots, lanes)]
        candidates[np.isin(slots, own)] = True
        room = self.capacity[lanes].copy()
        self.count[:, lanes] = 0
        for row in np.flatnonzero(cast(Bools, candidates.any(axis=1))).tolist():
            bytes = self.trace.size[slots[row]]
            fits: Bools = np.logical_and(candidates[row], room >= bytes)
            candidates[row] = fits
            room -= fits * bytes
            self.count[slots[row] // BLOCK, lanes] += fits
        self.kept[np.ix_(slots, lanes)] = candidates
        self.used[lanes] = self.capacity[lanes] - room
        self.top[lanes] = slots.max(initial=end - 1)
        self.peak[lanes] = np.maximum(self.peak[lanes], self.used[lanes])


def _offloads(trace: Trace, kept: Bools) -> Bools:
    """Which slots' values are copied to memory after their step: those that memory lacks and that leave too early."""
    dirty = np.zeros_like(kept)
    offload = np.zeros_like(kept)
    write, following, previous = trace.write.tolist(), trace.next.tolist(), trace.previous.tolist()
    final = trace.final.tolist()
    for slot in range(trace.slots):
        before = previous[slot]
        if write[slot]:
            dirty[slot] = True
        elif before >= 0:
            dirty[slot] = dirty[before] & kept[slot]
        if final[slot]:
            offload[slot] = dirty[slot]
        elif following[slot] >= 0:
            offload[slot] = dirty[slot] & ~kept[following[slot]]
    return offload
