"""
The decisions of a plan: for each interval between two accesses of a value, whether it is cached.

A value is written by a step or in memory from the start; each of its intervals ends in a read. A value that a step
wrote is copied to memory once, unless it is cached through all of its intervals; one that must be in memory at the end
is copied in any case.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npuc.backends.roofline.iteration.trace import NEVER, Bools, Ints, Trace


@dataclass(frozen=True)
class Intervals:
    """
    The intervals of a trace, in the order of the slots at which they end.

    `slot` is that slot, `size` is in bytes; `start` and `end` are the steps of the two accesses: a cached value
    occupies the cache between steps start and start + 1, up to end - 1 and end. `value` is the number of the written
    value whose copy depends on the interval, -1 where none does; `value_size` are the sizes of these values and
    `value_step` the steps that write them. `loads` and `copies` are the bytes that each step moves when nothing is
    cached: its inputs, and the outputs that must be in memory at the end.
    """

    trace: Trace
    slot: Ints
    size: Ints
    start: Ints
    end: Ints
    value: Ints
    value_size: Ints
    value_step: Ints
    loads: Ints
    copies: Ints

    @property
    def fixed(self) -> int:
        """Bytes that move when nothing is cached, without the copies that depend on the intervals."""
        return int(self.loads.sum() + self.copies.sum())

    def moved(self, cached: Bools) -> int:
        """Bytes that move when these intervals are cached."""
        copied = np.zeros(len(self.value_size), dtype=np.bool_)
        copied[self.value[~cached & (self.value >= 0)]] = True
        return self.fixed - int(self.size[cached].sum()) + int(self.value_size[copied].sum())

    def occupancy(self, cached: Bools) -> Ints:
        """Cached bytes between each step and the next, by step."""
        change = np.zeros(self.trace.steps + 1, dtype=np.int64)
        np.add.at(change, self.start[cached], self.size[cached])
        np.subtract.at(change, self.end[cached], self.size[cached])
        return change.cumsum()[:-1]


def intervals_of(trace: Trace) -> Intervals:
    """The intervals of a trace."""
    slot = np.flatnonzero(trace.previous >= 0)
    origin = _origins(trace)
    source = origin[trace.previous[slot]]  # the slot that wrote the value, -1 if none
    final = np.zeros(trace.slots, dtype=np.bool_)
    final[origin[trace.final & (origin >= 0)]] = True  # writes that must be in memory at the end
    depends = (source >= 0) & ~final[source]
    written, value = np.unique(source[depends], return_inverse=True)
    numbers = np.full(len(slot), NEVER, dtype=np.int64)
    numbers[depends] = value
    loads, copies = (
        np.bincount(trace.step[chosen], trace.size[chosen], trace.steps).astype(np.int64)
        for chosen in (trace.read, final)
    )
    return Intervals(
        trace,
        slot,
        trace.size[slot],
        trace.step[trace.previous[slot]],
        trace.step[slot],
        numbers,
        trace.size[written],
        trace.step[written],
        loads,
        copies,
    )


def _origins(trace: Trace) -> Ints:
    """For each slot, the slot that wrote the value current after it; -1 for a value in memory from the start."""
    origin = np.full(trace.slots, NEVER, dtype=np.int64)
    previous, write = trace.previous.tolist(), trace.write.tolist()
    for slot in range(trace.slots):
        if write[slot]:
            origin[slot] = slot
        elif previous[slot] >= 0:
            origin[slot] = origin[previous[slot]]
    return origin
