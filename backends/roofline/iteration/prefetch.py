"""
Prefetch: the steps at which a plan issues its loads.

By `latency`, the study's, a load is issued early enough that earlier steps hide it: going back from the step that needs
it, compute times add up until they cover the load, as far as the tensor fits beside the cached ones, but not beyond its
last access. By `next-layer` it is issued one step before, under the same conditions, whether that hides it or not, as
vDNN does (M. Rhu et al., "vDNN: virtualized deep neural networks", MICRO 2016). If no step qualifies, or by `none`, the
load is on demand, as are the inputs of a streaming step. With look-ahead offload a tensor that is evicted before its
next use is evicted right after its last one, so it takes no capacity in between; otherwise it does until it leaves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt

from npuc.backends.roofline.iteration.cache_plan import CachePlan
from npuc.backends.roofline.iteration.offload import lingering
from npuc.backends.roofline.iteration.steps import Transfers
from npuc.backends.roofline.iteration.trace import Bools, Ints, Trace

Floats = npt.NDArray[np.float64]
ON_DEMAND = -1


@dataclass(frozen=True)
class Rates:
    """
    The speeds of machines: 10^12 operations and 10^9 bytes a second of each kind, and the kind of each lane, or of all.
    """

    tflops: Floats
    gb_per_s: Floats
    kind: Ints

    @classmethod
    def of(cls, tflops: float | Floats, gb_per_s: float | Floats) -> Rates:
        """The speeds of all lanes, or of each."""
        pairs = np.stack(np.broadcast_arrays(np.atleast_1d(tflops), np.atleast_1d(gb_per_s)))
        kinds, kind = np.unique(pairs, axis=1, return_inverse=True)
        return cls(kinds[0], kinds[1], kind.reshape(-1))

    def compute(self, trace: Trace) -> Floats:
        """The compute time of each step in seconds, [step, kind]."""
        ops = np.array([step.ops for step in trace.iteration.steps], dtype=np.float64)
        return ops[:, None] / (self.tflops * 1e12)

    def moving(self, bytes: Ints | Floats) -> Floats:
        """The seconds that bytes take on the bus, [slot or step, lane], of [slot or step, lane or one for all]."""
        return bytes / (self.gb_per_s[self.kind] * 1e9)


def prefetches(plan: CachePlan, rates: Rates, transfers: Transfers, leaves: Ints | None) -> Ints:
    """
    The step at which the load of each slot is issued, by lane; -1 for loads on demand and slots without a load.

    `leaves` is that of `leaving`, None with look-ahead offload.
    """
    trace, capacity = plan.trace, plan.capacity
    issue = np.full(plan.cached.shape, ON_DEMAND, dtype=np.int64)
    if transfers.prefetch == "none":
        return issue
    room = capacity - occupancy(plan)
    if leaves is not None:
        room -= lingering(plan, leaves)
    by_time = transfers.prefetch == "latency"
    earliest = _earliest(trace, rates)[:, rates.kind] if by_time else _step_before(trace)[:, None]
    fitting = ~plan.streams
    sooner: Bools = np.less(earliest, trace.step[:, None])
    missed: Bools = trace.read[:, None] & ~plan.cached & fitting[trace.step] & sooner
    soonest, latest = earliest.min(axis=1).tolist(), earliest.max(axis=1).tolist()
    steps, size, some = trace.step.tolist(), trace.size.tolist(), cast(Bools, missed.any(axis=1))
    for slot in trace.listed[some[trace.listed]].tolist():
        step, low, bytes = steps[slot], int(soonest[slot]), size[slot]
        window = room[low:step]
        fits: Bools = window >= bytes
        if low < latest[slot]:
            behind: Ints = np.arange(low, step, dtype=np.int64)[:, None]
            fits = np.logical_and(fits, np.greater_equal(behind, earliest[slot]))
        if leaves is not None and trace.previous[slot] >= 0:
            fits = np.logical_and(fits, np.arange(low, step)[:, None] >= leaves[trace.previous[slot]])
        # from the step back, as long as the tensor fits
        reached = np.logical_and.accumulate(fits[::-1], axis=0)[::-1]
        reached &= missed[slot]
        window -= reached * bytes
        count = reached.sum(axis=0)
        issue[slot] = np.where(count > 0, step - count, ON_DEMAND)
    return issue


def occupancy(plan: CachePlan) -> Ints:
    """Bytes in the cache during each step, by lane: the step's tensors and those cached across it."""
    trace = plan.trace
    change = np.zeros((trace.steps + 1, len(plan.capacity)), dtype=np.int64)
    for slot in np.flatnonzero(plan.cached.any(axis=1)).tolist():
        held = plan.cached[slot] * trace.size[slot]
        change[trace.step[trace.previous[slot]] + 1] += held
        change[trace.step[slot]] -= held
    across = change.cumsum(axis=0)[:-1]
    # a streaming step takes the remaining capacity, even if only for rows
    own = np.where(plan.streams, plan.capacity - across, trace.footprint[:, None])
    return across + own


def _earliest(trace: Trace, rates: Rates) -> Ints:
    """
    The latest step that still hides the load of each slot, at the earliest the one after the tensor's last access,
    [slot, kind].
    """
    compute = rates.compute(trace)
    found = np.empty((trace.slots, compute.shape[1]), dtype=np.int64)
    for kind, gb_per_s in enumerate(rates.gb_per_s.tolist()):
        before = np.concatenate(([0.0], np.cumsum(compute[:, kind])))
        start = before[trace.step] - trace.size / (gb_per_s * 1e9)
        # the last step from which on the compute time is enough
        found[:, kind] = np.searchsorted(before, start, side="right") - 1
    return np.maximum(np.maximum(found, 0), (_last(trace) + 1)[:, None])


def _step_before(trace: Trace) -> Ints:
    """The step before that of each slot, or the slot's own where the tensor's last access is not before it."""
    return np.maximum(np.maximum(trace.step - 1, 0), _last(trace) + 1)


def _last(trace: Trace) -> Ints:
    """The step of each slot's last access, -1 without one."""
    return np.where(trace.previous >= 0, trace.step[trace.previous], -1)
