"""
The best plan of any capacity up to the given one.

Belady's plan for whole tensors can be worse with more capacity. Here each rule makes a plan for every rung of a fixed
ladder of capacities. A rung takes one of its own plans only if that moves no more bytes and takes no more time than the
plan of the rung below, which is feasible there as well; so neither bytes nor time ever rise with the capacity. A
capacity between two rungs uses the lower one (`climb.py`). The ladder depends on the network alone; its rungs are
within 1.6 % of each other, or within 6.3 % for iterations of many thousand accesses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from npuc.backends.roofline.iteration.belady import belady_plan
from npuc.backends.roofline.iteration.cache_plan import CachePlan, joined
from npuc.backends.roofline.iteration.steps import least_rows
from npuc.backends.roofline.iteration.trace import Bools, Ints, Trace

RUNGS = ((4096, 64, 8), (16384, 32, 7))
"""Per limit of accesses: the rungs per octave, and the number of octaves below the capacity without evictions that have
so many; lower octaves have COARSE_RUNGS."""
FEWEST_RUNGS = (16, 6)
COARSE_RUNGS = 2
COARSE_OCTAVES = 24
"""The octaves of the ladder. It starts no lower than where one row of each tensor of a step fits."""
AHEAD_RUNGS = 8
"""Rungs per octave above the capacity without evictions, where a larger cache can still prefetch earlier."""
ENTRIES = 1 << 23
"""The most accesses times capacities that one walk covers, which bounds memory."""


@dataclass(frozen=True)
class Ladder:
    """
    Plans of a network for rungs of capacity, in bytes, ascending: first all rungs by one rule, then by the next.

    A rule is whether steps that fit may stream.
    """

    rungs: Ints
    rules: tuple[bool, ...]
    plans: tuple[CachePlan, ...]

    @cached_property
    def moved(self) -> Ints:
        """Bytes that each plan moves; a row per rule."""
        found = np.concatenate([plan.bytes_in + plan.bytes_out for plan in self.plans])
        return found.reshape(len(self.rules), -1)

    def lanes(self, numbers: Ints) -> CachePlan:
        """The plans of some numbers: rule by rule, of each its rungs."""
        if len(self.plans) == 1:
            return self.plans[0].lanes(numbers)
        ends = np.cumsum([len(plan.capacity) for plan in self.plans])
        part = np.searchsorted(ends, numbers, side="right")
        parts = [plan.lanes(numbers[part == n] - (ends[n] - len(plan.capacity))) for n, plan in enumerate(self.plans)]
        return joined(parts, np.argsort(np.argsort(part, kind="stable"), kind="stable"))


@dataclass(frozen=True)
class PlanChoice:
    """
    The plan chosen for each of several capacities: the capacity it was made for, whether steps that fit may stream, and
    its number among the plans of the ladder; -1 where it is none of them.
    """

    capacity: Ints
    bypass: Bools
    number: Ints


def in_chunks(trace: Trace, count: int, entries: int = ENTRIES) -> Iterator[slice]:
    """Slices of `count` capacities, each small enough for one walk: of so many accesses times capacities at most."""
    size = max(1, entries // max(trace.slots, 1))
    return (slice(first, min(first + size, count)) for first in range(0, count, size))


def capacity_without_eviction(trace: Trace) -> int:
    """
    The least capacity, in bytes, at which nothing is evicted: the largest sum of a step's tensors and those used later.
    """
    cached = np.flatnonzero(trace.previous >= 0)
    cached = cached[trace.next[trace.previous[cached]] == cached]
    change = np.zeros(trace.steps + 1, dtype=np.int64)
    np.add.at(change, trace.step[trace.previous[cached]] + 1, trace.size[cached])
    np.subtract.at(change, trace.step[cached], trace.size[cached])
    return int((trace.footprint + change.cumsum()[:-1]).max(initial=0))


def capacity_for_prefetch(trace: Trace) -> int:
    """The least capacity, in bytes, at which every load can also be issued arbitrarily early."""
    return capacity_without_eviction(trace) + int(trace.size[trace.read & (trace.previous < 0)].sum())


def rungs_of(trace: Trace, most: int) -> Ints:
    """
    The rungs of a network's ladder up to a capacity, in bytes, ascending; at least one.

    The highest rungs are the capacity without evictions and, above it, those with space for earlier prefetches.
    """
    top, floor, ahead = capacity_without_eviction(trace), least_rows(trace.iteration)[0], capacity_for_prefetch(trace)
    fine, octaves = next(((rungs, far) for slots, rungs, far in RUNGS if trace.slots <= slots), FEWEST_RUNGS)
    rungs = {floor, top}
    for octave in range(max(top.bit_length() - COARSE_OCTAVES, 0), top.bit_length()):
        low = 1 << octave
        count = fine if 2 * low > top >> octaves else COARSE_RUNGS
        rungs.update(low + low * i // count for i in range(count))
    rungs = {rung for rung in rungs if rung <= top} | {ahead}
    for octave in range(max(top.bit_length() - 1, 0), ahead.bit_length()):
        low = 1 << octave
        above = (low + low * i // AHEAD_RUNGS for i in range(AHEAD_RUNGS))
        rungs.update(rung for rung in above if top < rung < ahead)
    return np.array(sorted(rung for rung in rungs if floor <= rung <= most) or [most], dtype=np.int64)


def ladder_of(trace: Trace, most: int, *, retain: bool) -> Ladder:
    """
    The ladder up to a capacity, by every applicable rule.

    Where streaming steps `retain` part of their tensors, steps that fit may stream as well. That is nearly always the
    better rule, and the only one for iterations of more accesses than RUNGS names.
    """
    rungs = rungs_of(trace, most)
    rules = ((False, True) if trace.slots <= RUNGS[-1][0] else (True,)) if retain else (False,)
    capacity, bypass = np.tile(rungs, len(rules)), np.repeat(rules, len(rungs))
    plans = tuple(belady_plan(trace, capacity[c], retain, bypass[c]) for c in in_chunks(trace, len(capacity)))
    return Ladder(rungs, rules, plans)
