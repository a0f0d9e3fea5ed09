"""How near a plan is to the best there is: bounds of traffic and time, and the best plan itself."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from npuc.backends.roofline.iteration.best import rungs_of
from npuc.backends.roofline.iteration.bounds import MOST_ACCESSES, Least, least_traffic, tile_bound, time_bound
from npuc.backends.roofline.iteration.cache_plan import Plan, plan_of, residency
from npuc.backends.roofline.iteration.intervals import Intervals, intervals_of
from npuc.backends.roofline.iteration.timeline import Timeline
from npuc.backends.roofline.iteration.trace import Trace
from npuc.backends.roofline.options import Options
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

    def least(self, capacity: int, known: Plan) -> Least:
        """The least traffic in a cache of so many bytes; `known` are plans for it, or for less, to begin with."""
        if capacity not in self.found:
            lane = int(np.argmin(known.bytes_in + known.bytes_out))
            self.found[capacity] = least_traffic(self.intervals, capacity, known.kept[self.intervals.slot, lane])
        return self.found[capacity]

    def best(self, capacity: int) -> Plan:
        """
        The plan of least traffic in a cache of so many bytes: no plan that the other policies make moves less.

        Raises `UsageError` for iterations of more accesses than an integer program is solved for.
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
        kept = np.zeros((trace.slots, 1), dtype=np.bool_)
        kept[self.intervals.slot, 0] = self.least(capacity, residency(trace, np.tile(sizes, 3), retain, bypass)).kept
        return plan_of(trace, np.array([capacity], dtype=np.int64), kept)

    def remarks(self, capacity: int) -> list[str]:
        """A warning where the plan for so many bytes is the best known, but not proved to be the best there is."""
        least = self.found.get(capacity)
        if least is None or least.exact:
            return []
        more = least.moved / max(least.bound, 1) - 1
        return [
            f"the search for the best plan was stopped: this one moves at most {100 * more:.2g}% more than the least"
        ]

    def facts(self, plan: Plan, times: Timeline, lane: int, capacity: int, options: Options) -> NearnessFacts:
        """The bounds for a machine with so many bytes of cache, and how far a lane of some plans is from them."""
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
