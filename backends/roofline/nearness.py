"""Optimality gaps: bounds of traffic and time, and the plan of least traffic."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from npuc.backends.roofline.iteration.belady import belady_plan
from npuc.backends.roofline.iteration.best import rungs_of
from npuc.backends.roofline.iteration.bounds import MOST_ACCESSES, Least, least_traffic, tile_bound, time_bound
from npuc.backends.roofline.iteration.cache_plan import CachePlan, plan_of
from npuc.backends.roofline.iteration.intervals import Intervals, intervals_of
from npuc.backends.roofline.iteration.timeline import IterationTimeline
from npuc.backends.roofline.iteration.trace import Trace
from npuc.backends.roofline.options import RooflineOptions
from npuc.compiler.core.errors import UsageError
from npuc.compiler.report.sections import NearnessFacts


@dataclass
class Nearness:
    """The bounds of a trace, and its best plans, by capacity in bytes."""

    trace: Trace
    intervals: Intervals = field(init=False)
    found: dict[int, Least] = field(default_factory=dict[int, Least])

    def __post_init__(self) -> None:
        self.intervals = intervals_of(self.trace)

    def least(self, capacity: int, known: CachePlan) -> Least:
        """
        The least traffic in a cache of `capacity` bytes; the search begins with the plans `known`, for it or for less.
        """
        if capacity not in self.found:
            lane = int(np.argmin(known.bytes_in + known.bytes_out))
            self.found[capacity] = least_traffic(self.intervals, capacity, known.cached[self.intervals.slot, lane])
        return self.found[capacity]

    def best(self, capacity: int) -> CachePlan:
        """
        The plan of least traffic in a cache of `capacity` bytes; no plan of another policy moves less.

        Raises `UsageError` for iterations with too many accesses for the integer program.
        """
        trace = self.trace
        if trace.slots > MOST_ACCESSES:
            raise UsageError(
                f"roofline.policy=optimal is for iterations of at most {MOST_ACCESSES:,} accesses to tensors, this one "
                f"has {trace.slots:,}",
                hint="--set roofline.policy=belady, and roofline.bound=true to see how near that is",
            )
        sizes = np.union1d(rungs_of(trace, capacity), [capacity])
        retain, bypass = np.array([(True, False), (True, True), (False, False)]).repeat(len(sizes), axis=0).T
        cached = np.zeros((trace.slots, 1), dtype=np.bool_)
        cached[self.intervals.slot, 0] = self.least(
            capacity, belady_plan(trace, np.tile(sizes, 3), retain, bypass)
        ).cached
        return plan_of(trace, np.array([capacity], dtype=np.int64), cached)

    def remarks(self, capacity: int) -> list[str]:
        """A warning where the plan for `capacity` bytes is not proved optimal."""
        least = self.found.get(capacity)
        if least is None or least.exact:
            return []
        more = least.moved / max(least.bound, 1) - 1
        return [
            f"the search for the best plan was stopped: this one moves at most {100 * more:.2g}% more than the least"
        ]

    def facts(
        self, plan: CachePlan, times: IterationTimeline, lane: int, capacity: int, options: RooflineOptions
    ) -> NearnessFacts:
        """The bounds for a machine with `capacity` bytes of cache, and the optimality gaps of a lane of some plans."""
        own, seconds = plan.lanes(np.array([lane])), float(times.total[lane])
        moved = int(own.bytes_in[0] + own.bytes_out[0])
        tiles = tile_bound(self.intervals, capacity)
        bound, exact = tiles, False
        if self.trace.slots <= MOST_ACCESSES:
            least = self.least(capacity, own)
            bound, exact = max(least.bound, tiles), least.exact
        shortest = time_bound(self.intervals, capacity, options.tflops, options.gb_per_s, bound)
        return NearnessFacts(
            traffic_bound_bytes=bound,
            traffic_bound_exact=exact,
            traffic_ratio=moved / bound if bound else 1.0,
            tile_bound_bytes=tiles,
            time_bound_seconds=shortest,
            time_ratio=seconds / shortest if shortest else 1.0,
        )
