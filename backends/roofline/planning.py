"""Plans and their timelines for a module on machines of many capacities."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from npuc.backends.roofline.iteration.belady import belady_plan
from npuc.backends.roofline.iteration.best import Ladder, in_chunks, ladder_of
from npuc.backends.roofline.iteration.build import iteration_of
from npuc.backends.roofline.iteration.cache_plan import CachePlan, joined
from npuc.backends.roofline.iteration.climb import TIMED, TimedLadder
from npuc.backends.roofline.iteration.lru_plan import lru_plan
from npuc.backends.roofline.iteration.steps import Conventions, Iteration, Transfers
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
    timed: dict[tuple[Conventions, bool, Transfers], TimedLadder] = field(
        default_factory=dict[tuple[Conventions, bool, Transfers], TimedLadder]
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

    def planned(self, machines: Sequence[RooflineOptions]) -> Iterator[tuple[CachePlan, IterationTimeline]]:
        """Plans and timelines of machines that differ in capacity and speeds alone, several lanes at a time."""
        if not machines:
            return
        options, trace = machines[0], self.trace(machines[0].conventions)
        for chunk in in_chunks(trace, len(machines), TIMED):
            own = machines[chunk]
            plan = self._plans(trace, own)
            tflops, gb_per_s = np.array([(one.tflops, one.gb_per_s) for one in own]).T
            yield plan, timeline(plan, tflops, gb_per_s, options.transfers)

    def _plans(self, trace: Trace, machines: Sequence[RooflineOptions]) -> CachePlan:
        """The plans of machines that differ in capacity and speeds alone, a lane each."""
        options = machines[0]
        if options.optimal and trace.slots:
            plans = [self.nearness(options.conventions).best(one.capacity) for one in machines]
            return joined(plans, np.arange(len(plans)))
        sizes = np.array([one.capacity for one in machines], dtype=np.int64)
        if not (options.best and trace.slots):
            return self._own(trace, sizes, np.zeros(len(sizes), dtype=np.bool_), options)
        ladder = self._ladder(trace, options, int(sizes.max()))
        choice = ladder.choose(sizes, [(one.tflops, one.gb_per_s) for one in machines])
        if (choice.number >= 0).all():
            return ladder.ladder.lanes(choice.number)
        return self._own(trace, choice.capacity, choice.bypass, options)

    def _own(self, trace: Trace, sizes: Ints, bypass: Bools, options: RooflineOptions) -> CachePlan:
        """The plans of each capacity itself, made once for each that is asked for."""
        pairs, of = np.unique(np.stack([sizes, bypass.astype(np.int64)]), axis=1, return_inverse=True)
        plan = own_plan(trace, pairs[0], options, pairs[1] > 0)
        return plan.lanes(of.reshape(-1))

    def _ladder(self, trace: Trace, options: RooflineOptions, most: int) -> TimedLadder:
        """The ladder up to a capacity, or more, memoised for other machines."""
        key = (options.conventions, options.retain)
        known, ladder = self.ladders.get(key, (-1, None))
        if ladder is None or known < most:
            ladder = ladder_of(trace, most, retain=options.retain)
            self.ladders[key] = (most, ladder)
            self.timed = {}
        timed = (*key, options.transfers)
        if timed not in self.timed:
            self.timed[timed] = TimedLadder(ladder, options.transfers)
        return self.timed[timed]


def own_plan(trace: Trace, capacity: Ints, options: RooflineOptions, bypass: bool | Bools = False) -> CachePlan:
    """The plan by the policy `belady` or `lru` of each capacity, in bytes, itself; `bypass` is as in `belady_plan`."""
    if options.policy == "lru":
        return lru_plan(trace, capacity, retain=options.retain)
    return belady_plan(trace, capacity, options.retain, bypass)
