"""
What the cache holds at a step, for many capacities at once, so that no question about it looks at all of it.

A tensor stands at the slot of its next access, and the arrays have a last axis of lanes. Its bytes are summed over
blocks of slots and over blocks of these blocks, so that the tensor with the farthest next use, and the first one that
no longer fits, are found by looking at one block of each kind. What is removed was cached once before: the work of a
walk grows with its accesses, not with accesses times what is cached.
"""

from __future__ import annotations

import numpy as np

from npuc.backends.roofline.iteration.trace import Bools, Ints, Trace

BLOCK = 64
"""The slots of a block, and the blocks of a block of blocks."""


class Held:
    """
    What is cached, by lane; `cached` and `used` may be read.

    `cached[s, lane]`: the tensor of slot s is cached, or was when its step came. `used` are the cached bytes.
    """

    def __init__(self, trace: Trace, lanes: int):
        wide = trace.slots // BLOCK**2 + 1
        self.slots, self.end = trace.slots, 0
        self.cached = np.zeros((wide * BLOCK**2, lanes), dtype=np.bool_)
        self.used = np.zeros(lanes, dtype=np.int64)
        self.size = np.zeros(wide * BLOCK**2, dtype=np.int64)
        self.size[: trace.slots] = trace.size
        self.bytes_of = self.size.tolist()
        self.blocks = np.zeros((wide * BLOCK, lanes), dtype=np.int64)
        self.wide = np.zeros((wide, lanes), dtype=np.int64)
        self.first_equal, self.last_equal = _equals(trace)

    def reach(self, start: int, end: int) -> None:
        """Come to the step of these slots: what was cached for it is no longer counted."""
        self.end = end
        for block in range(start // BLOCK, -(-end // BLOCK)):
            low, high = max(start, block * BLOCK), min(end, (block + 1) * BLOCK)
            bytes = self.size[low:high] @ self.cached[low:high]
            self.used -= bytes
            self.blocks[block] -= bytes
            self.wide[block // BLOCK] -= bytes

    def add(self, slots: list[int], where: Bools | None = None) -> None:
        """Cache the tensors of slots in some lanes, or in all."""
        for slot in slots:
            bytes = self.bytes_of[slot] if where is None else where * self.bytes_of[slot]
            self.cached[slot] = True if where is None else where
            self.used += bytes
            self.blocks[slot // BLOCK] += bytes
            self.wide[slot // BLOCK**2] += bytes

    def clear(self, lanes: Ints) -> None:
        """Hold nothing in some lanes."""
        wide, of = np.nonzero(self.wide[:, lanes])
        blocks, of = self._inside(wide, lanes[of], self.blocks)
        slots, where = self._inside(blocks, of, self.cached)
        self._remove(slots[slots >= self.end], where[slots >= self.end])

    def leave(self, lanes: Ints, most: Ints) -> None:
        """Evict those with the farthest next use until no more than so many bytes are cached in some lanes."""
        excess = self.used[lanes] - most
        lanes, excess = lanes[excess > 0], excess[excess > 0]
        while len(lanes):
            last = self._last_block(lanes)
            slots = last * BLOCK + np.arange(BLOCK)[::-1, None]
            found = self.cached[slots, lanes] & (slots >= self.end)
            bytes = np.where(found, self.size[slots], 0)
            freed = bytes.cumsum(axis=0)
            rows, columns = np.nonzero(found & (freed - bytes < excess))
            self._remove(slots[rows, columns], lanes[columns])
            more = freed[-1] < excess
            lanes, excess = lanes[more], (excess - freed[-1])[more]

    def fit(self, lanes: Ints, most: Ints, last_of_equal: Bools) -> None:
        """
        Hold in some lanes, of what is cached, the nearest next use first, what fits into so many bytes.

        Of equally large tensors of one step the first slots are held, or the last ones (`last_of_equal`).
        """
        while True:
            over = self.used[lanes] > most
            if not over.any():
                return
            lanes, most, last_of_equal = lanes[over], most[over], last_of_equal[over]
            slot = self._first_beyond(lanes, most)
            start, end = self.first_equal[slot], self.last_equal[slot] + 1
            slots = start + np.arange(int((end - start).max()))[:, None]
            inside = np.minimum(slots, self.slots - 1)
            found = self.cached[inside, lanes] & (slots < end)
            gone = (found & (slots >= slot)).sum(axis=0)
            leaves = found & np.where(last_of_equal, found.cumsum(axis=0) <= gone, slots >= slot)
            rows, columns = np.nonzero(leaves)
            self._remove(slots[rows, columns], lanes[columns])

    def _remove(self, slots: Ints, lanes: Ints) -> None:
        """Hold the tensors of slots no longer, each in its lane."""
        bytes = self.size[slots]
        self.cached[slots, lanes] = False
        np.subtract.at(self.used, lanes, bytes)
        np.subtract.at(self.blocks, (slots // BLOCK, lanes), bytes)
        np.subtract.at(self.wide, (slots // BLOCK**2, lanes), bytes)

    def _last_block(self, lanes: Ints) -> Ints:
        """The last block that holds bytes, by lane."""
        wide = len(self.wide) - 1 - np.argmax(self.wide[::-1, lanes] > 0, axis=0)
        blocks = wide * BLOCK + np.arange(BLOCK)[::-1, None]
        return wide * BLOCK + BLOCK - 1 - np.argmax(self.blocks[blocks, lanes] > 0, axis=0)

    def _first_beyond(self, lanes: Ints, most: Ints) -> Ints:
        """The first slot up to which more than so many bytes are cached, by lane; there is one."""
        inside = np.arange(BLOCK)[:, None]
        wide, most = _first_above(self.wide[:, lanes], most)
        blocks = wide * BLOCK + inside
        block, most = _first_above(self.blocks[blocks, lanes], most)
        slots = (wide * BLOCK + block) * BLOCK + inside
        held = np.where(self.cached[slots, lanes] & (slots >= self.end), self.size[slots], 0)
        return slots[0] + _first_above(held, most)[0]

    def _inside(self, blocks: Ints, lanes: Ints, parts: Ints | Bools) -> tuple[Ints, Ints]:
        """The parts of blocks that hold something, each in its lane: their numbers, and the lanes."""
        rows = blocks * BLOCK + np.arange(BLOCK)[:, None]
        at, of = np.nonzero(parts[rows, lanes])
        return rows[at, of], lanes[of]


def _first_above(bytes: Ints, most: Ints) -> tuple[Ints, Ints]:
    """The first row up to which there are more than `most` bytes, by column; and `most` less those of rows before."""
    sums = bytes.cumsum(axis=0)
    row = np.argmax(sums > most, axis=0)
    columns = np.arange(len(row))
    return row, most - (sums - bytes)[row, columns]


def _equals(trace: Trace) -> tuple[Ints, Ints]:
    """The first and the last of the slots of each slot's step whose tensors are as large."""
    numbers = np.arange(trace.slots)
    differs = (np.diff(trace.step) != 0) | (np.diff(trace.size) != 0)
    first = np.maximum.accumulate(np.where(np.concatenate(([True], differs)), numbers, 0)) if len(numbers) else numbers
    last = np.where(np.concatenate((differs, [True])), numbers, trace.slots)[: len(numbers)]
    return first, np.minimum.accumulate(last[::-1])[::-1]
