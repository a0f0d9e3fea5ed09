"""
The plan of a cache that looks back: the tensor that was used longest ago is evicted first (LRU).

It is what a cache without knowledge of the program would keep, here for whole tensors and with the rules of the other
policies around it, so that a difference to them is one of replacement alone: values that nobody reads again leave for
nothing, steps larger than the cache stream, and of the tensors of one step the largest leaves first. After a streaming
step the cache holds nothing (`flush`) or what was used last, as far as it fits (`retain`). The rule is that of
R. L. Mattson et al., "Evaluation techniques for storage hierarchies" (1970); with tensors of unequal size it has not
the inclusion property of pages, so that more capacity may move more bytes.
"""

from __future__ import annotations

import numpy as np

from npuc.backends.roofline.iteration.cache_plan import CachePlan, offloads
from npuc.backends.roofline.iteration.trace import Bools, Ints, Trace


def lru_plan(trace: Trace, capacity: Ints, *, retain: bool = True) -> CachePlan:
    """The plan by LRU for each capacity, in bytes; `retain` says what is cached after a streaming step."""
    lanes = len(capacity)
    cached = np.zeros((trace.slots, lanes), dtype=np.bool_)
    streams = np.zeros((trace.steps, lanes), dtype=np.bool_)
    peak = np.zeros(lanes, dtype=np.int64)
    for lane, size in enumerate(capacity.tolist()):
        cached[:, lane], streams[:, lane], peak[lane] = _walk(trace, size, retain=retain)
    return CachePlan(trace, capacity, cached, offloads(trace, cached), streams, peak, oldest=True)


def _walk(trace: Trace, capacity: int, *, retain: bool) -> tuple[Bools, Bools, int]:
    """What is cached by slot, which steps stream, and the peak occupancy in bytes, of one lane."""
    first, following, previous = trace.first.tolist(), trace.next.tolist(), trace.previous.tolist()
    size, footprint = trace.size.tolist(), trace.footprint.tolist()
    cached = np.zeros(trace.slots, dtype=np.bool_)
    streams = np.zeros(trace.steps, dtype=np.bool_)
    held: dict[int, int] = {}  # bytes by the slot of the last access, the oldest first
    used = peak = 0
    for step in range(trace.steps):
        slots = range(first[step], first[step + 1])
        for slot in slots:
            found = held.pop(previous[slot], None)
            if found is not None:
                cached[slot] = True
                used -= found
        # the last slot of a step is that of its largest tensor, which leaves first
        own = [slot for slot in reversed(slots) if following[slot] >= 0]
        if footprint[step] > capacity:
            streams[step] = True
            newest = [*reversed([*held, *own])] if retain else []
            held, used = _fitting(newest, size, capacity)
            peak = max(peak, used)
            continue
        while used + footprint[step] > capacity:
            used -= held.pop(next(iter(held)))
        peak = max(peak, used + footprint[step])
        held.update((slot, size[slot]) for slot in own)
        used += sum(size[slot] for slot in own)
    return cached, streams, peak


def _fitting(newest: list[int], size: list[int], capacity: int) -> tuple[dict[int, int], int]:
    """The slots that fit, the newest first, in the order in which they leave, and their bytes."""
    used, kept = 0, list[int]()
    for slot in newest:
        if used + size[slot] <= capacity:
            kept.append(slot)
            used += size[slot]
    return {slot: size[slot] for slot in reversed(kept)}, used
