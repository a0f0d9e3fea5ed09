"""
The timeline of an iteration: a clock for computation, and one for the bus to memory, which serves requests in order.

A streaming step computes while it transfers, tile by tile, and ends when both have ended. A step that fits does no
worse with `overlap`: it computes while it loads and ends when it has computed and all its inputs have arrived; its
results leave as they are made, without the step waiting for them. In the study's model (`overlap` false) it loads,
computes when all its inputs have arrived, and then queues its writes. Prefetches issued at a step queue behind its own
loads. A stall is attributed to the step that waits, the remaining transfers at the end to the last step. What leaves a
full cache is copied before the loads of the step that needs its place, and that step waits for it, too.

With `overlap`, of two plans with the same loads on demand and the same writes, the one in which fewer steps stream is
never slower: each step has the same transfers in the same order and waits for no more of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from npuc.backends.roofline.iteration.cache_plan import CachePlan
from npuc.backends.roofline.iteration.offload import leaving
from npuc.backends.roofline.iteration.prefetch import ON_DEMAND, Floats, Rates, prefetches
from npuc.backends.roofline.iteration.steps import Transfers
from npuc.backends.roofline.iteration.trace import Bools, Ints


@dataclass(frozen=True)
class IterationTimeline:
    """
    When each step starts, has its inputs, and ends, in seconds, [step, lane].

    A streaming step has its inputs when it starts, tile by tile. `total` is the iteration's time by lane, which the bus
    may determine.
    """

    start: Floats
    ready: Floats
    end: Floats
    total: Floats


@dataclass
class _Load:
    """A load that is issued at a step in some lanes."""

    slot: int
    lanes: Bools
    seconds: Floats


@dataclass
class _Bus:
    """The bus: the time from which it is free, by lane."""

    free: Floats
    landed: dict[int, Floats] = field(default_factory=dict[int, Floats])

    def queue(self, at: Floats, seconds: Floats) -> None:
        """Queue a transfer of so many seconds that starts no earlier than `at`; zero seconds queue nothing."""
        self.free = np.where(seconds > 0, np.maximum(self.free, at) + seconds, self.free)


def timeline(
    plan: CachePlan, tflops: float | Floats, gb_per_s: float | Floats, transfers: Transfers = Transfers()
) -> IterationTimeline:
    """
    The timeline of a plan on a machine of so many 10^12 operations and 10^9 bytes a second, in all its lanes, or of
    each lane on one of its own.
    """
    trace, lanes, overlap, rates = plan.trace, len(plan.capacity), transfers.overlap, Rates.of(tflops, gb_per_s)
    compute = rates.compute(trace)[:, rates.kind]
    leaves = leaving(plan) if transfers.offload == "when-full" else None
    issue = prefetches(plan, rates, transfers, leaves)
    loads = _loads(issue, rates.moving(trace.size[:, None]), trace.steps)
    missed = trace.read[:, None] & ~plan.cached
    demanded = rates.moving(bytes_by_step(plan, missed & (issue == ON_DEMAND)))
    at_once = plan.offload if leaves is None else plan.offload & (leaves == trace.step[:, None])
    written = rates.moving(bytes_by_step(plan, at_once))
    later = None if leaves is None else rates.moving(_left_before(plan, leaves))
    shape = (trace.steps, lanes)
    start, ready, end = np.empty(shape), np.empty(shape), np.empty(shape)
    bus, now = _Bus(np.zeros(lanes)), np.zeros(lanes)
    first = trace.first.tolist()
    for step in range(trace.steps):
        start[step] = now
        streaming = plan.streams[step]
        waits = demanded[step]
        if later is not None:
            bus.queue(now, later[step])
            waits = waits + later[step]
        bus.queue(now, demanded[step])
        ready[step] = np.where(waits > 0, bus.free, now)
        for slot in range(first[step], first[step + 1]):
            if slot in bus.landed:
                np.maximum(ready[step], bus.landed.pop(slot), out=ready[step])
        # when a step that fits ends: beside its loads, or behind them
        fits = np.maximum(now + compute[step], ready[step]) if overlap else ready[step] + compute[step]
        if streaming.any():
            moved = np.where(streaming, written[step], 0.0)
            bus.queue(now, moved)
            busy = waits + moved > 0
            done = np.maximum(now + compute[step], np.where(busy, bus.free, now))
            ready[step] = np.where(streaming, now, ready[step])
            end[step] = np.where(streaming, done, fits)
        else:
            end[step] = fits
        for load in loads[step]:
            free = np.where(load.lanes, np.maximum(bus.free, now) + load.seconds, bus.free)
            landed = bus.landed.get(load.slot)
            bus.landed[load.slot] = np.where(load.lanes, free, 0.0 if landed is None else landed)
            bus.free = free
        bus.queue(now if overlap else end[step], np.where(streaming, 0.0, written[step]))
        now = end[step]
    if later is not None:
        bus.queue(now, later[trace.steps])
    return IterationTimeline(start, ready, end, np.maximum(now, bus.free))


def _loads(issue: Ints, seconds: Floats, steps: int) -> list[list[_Load]]:
    """The prefetches issued at each step, in the order of their slots."""
    found = [list[_Load]() for _ in range(steps)]
    for slot in np.flatnonzero((issue != ON_DEMAND).any(axis=1)).tolist():
        at = np.zeros(steps - ON_DEMAND, dtype=np.bool_)
        at[issue[slot] - ON_DEMAND] = True
        for step in (np.flatnonzero(at[1:])).tolist():
            found[step].append(_Load(slot, issue[slot] == step, seconds[slot]))
    return found


def _left_before(plan: CachePlan, leaves: Ints) -> Floats:
    """Bytes copied to memory before each step, and after the last one, by lane: what has lingered until then."""
    trace = plan.trace
    found = np.zeros((trace.steps + 1, len(plan.capacity)))
    slots, lanes = np.nonzero(plan.offload & (leaves > trace.step[:, None]))
    np.add.at(found, (leaves[slots, lanes], lanes), trace.size[slots])
    return found


def bytes_by_step(plan: CachePlan, chosen: Bools) -> npt.NDArray[np.float64]:
    """Bytes of the chosen slots, [step, lane]."""
    trace = plan.trace
    bytes_of = np.where(chosen, trace.size[:, None], 0)
    return np.add.reduceat(bytes_of, trace.first[:-1], axis=0).astype(np.float64)
