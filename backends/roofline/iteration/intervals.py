"""
What a plan decides: for each interval between two accesses of a value, whether it stays in the cache.

A value is what a step writes, or what memory has at the start. It is read again at the end of each of its intervals.
One that a step wrote is copied to memory once, unless it stays in the cache through all of its intervals; one that
must be in memory at the end is copied in any case.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npuc.backends.roofline.iteration.trace import NEVER, Bools, Ints, Trace


@dataclass(frozen=True)
class Intervals:
    """
    The intervals of a trace, in the order of the slots at which they end.

    `slot` is that slot, `size` in bytes; `start` and `end` are the steps of the two accesses: what stays is resident
    between steps start and start + 1, up to end - 1 and end. `value` is the number of the written value whose copy
    depends on the interval, -1 where none does; `value_size` are the sizes of these values and `value_step` the steps
    that write them. `loads` and `copies` are bytes of each step that move when nothing stays: what is read, and what
    is written that has to be in memory at the end.
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
        """Bytes that move when nothing stays, without the copies that depend on the intervals."""
        return int(self.loads.sum() + self.copies.sum())

    def moved(self, kept: Bools) -> int:
        """Bytes that move when these intervals stay."""
        copied = np.zeros(len(self.value_size), dtype=np.bool_)
        copied[self.value[~kept & (self.value >= 0)]] = True
        return self.fixed - int(self.size[kept].sum()) + int(self.value_size[copied].sum())

    def resident(self, kept: Bools) -> Ints:
        """Bytes that stay between each step and the next, for each step."""
        change = np.zeros(self.trace.steps + 1, dtype=np.int64)
        np.add.at(change, self.start[kept], self.size[kept])
        np.subtract.at(change, self.end[kept], self.size[kept])
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
    """For each slot, the slot that wrote the value that it leaves behind; -1 for what memory has had from the start."""
    origin = np.full(trace.slots, NEVER, dtype=np.int64)
    previous, write = trace.previous.tolist(), trace.write.tolist()
    for slot in range(trace.slots):
        if write[slot]:
            origin[slot] = slot
        elif previous[slot] >= 0:
            origin[slot] = origin[previous[slot]]
    return origin
