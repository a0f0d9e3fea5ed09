"""Plans and their timelines for a module on machines of many capacities."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from npuc.backends.roofline.iteration.best import Ladder, choose, in_chunks, ladder_of
from npuc.backends.roofline.iteration.build import iteration_of
from npuc.backends.roofline.iteration.cache_plan import CachePlan, belady_plan
from npuc.backends.roofline.iteration.lru_plan import lru_plan
from npuc.backends.roofline.iteration.steps import Conventions, Iteration
from npuc.backends.roofline.iteration.timeline import IterationTimeline, timeline
from npuc.backends.roofline.iteration.trace import Bools, Ints, Trace, trace_of
from npuc.backends.roofline.nearness import Nearness
from npuc.backends.roofline.options import RooflineOptions
from npuc.compiler.core.verify import the_function

Read = Callable[[FuncOp, Conventions], Iteration]
"""How the steps of a function are made."""


@dataclass
class Planner:
    """The iterations of a module, made by `read`, and their plans, computed once for all machines that share them."""

    module: ModuleOp
    read: Read = iteration_of
    traces: dict[Conventions, Trace] = field(default_factory=dict[Conventions, Trace])
    ladders: dict[tuple[Conventions, bool], tuple[int, Ladder]] = field(
        default_factory=dict[tuple[Conventions, bool], tuple[int, Ladder]]
    )
    bounds: dict[Conventions, Nearness] = field(default_factory=dict[Conventions, Nearness])

    def trace(self, conventions: Conventions) -> Trace:
        """The accesses of the module's iteration under these conventions."""
        if conventions not in self.traces:
            self.traces[conventions] = trace_of(self.read(the_function(self.module), conventions))
        return self.traces[conventions]

    def nearness(self, conventions: Conventions) -> Nearness:
        """The bounds of the module's iteration under these conventions."""
        if conventions not in self.bounds:
            self.bounds[conventions] = Nearness(self.trace(conventions))
        return self.bounds[conventions]

    def planned(
        self, options: RooflineOptions, capacities: Sequence[int]
    ) -> Iterator[tuple[CachePlan, IterationTimeline]]:
        """Plans and timelines of a machine with each of these capacities, in bytes, several lanes at a time."""
        trace = self.trace(options.conventions)
        sizes = np.array(capacities, dtype=np.int64)
        if not len(sizes):
            return
        if options.optimal and trace.slots:
            for capacity in capacities:
                plan = self.nearness(options.conventions).best(capacity)
                yield plan, _times(plan, options)
            return
        bypass = np.zeros(len(sizes), dtype=np.bool_)
        if options.best and trace.slots:
            ladder = self._ladder(trace, options, int(sizes.max()))
            choice = choose(ladder, sizes, options.tflops, options.gb_per_s, options.transfers)
            sizes, bypass = choice.capacity, choice.bypass
        for chunk in in_chunks(trace, len(sizes)):
            plan = own_plan(trace, sizes[chunk], options, bypass[chunk])
            yield plan, _times(plan, options)

    def _ladder(self, trace: Trace, options: RooflineOptions, most: int) -> Ladder:
        """The ladder up to a capacity, memoised for other machines."""
        key = (options.conventions, options.retain)
        known, ladder = self.ladders.get(key, (-1, None))
        if ladder is None or known < most:
            ladder = ladder_of(trace, most, retain=options.retain)
            self.ladders[key] = (most, ladder)
        return ladder


def own_plan(trace: Trace, capacity: Ints, options: RooflineOptions, bypass: bool | Bools = False) -> CachePlan:
    """The plan by the policy `belady` or `lru` of each capacity, in bytes, itself; `bypass` is as in `belady_plan`."""
    if options.policy == "lru":
        return lru_plan(trace, capacity, retain=options.retain)
    return belady_plan(trace, capacity, options.retain, bypass)


def _times(plan: CachePlan, options: RooflineOptions) -> IterationTimeline:
    """The timeline of a plan on a machine."""
    return timeline(plan, options.tflops, options.gb_per_s, options.transfers)
