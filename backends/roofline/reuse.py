"""
The value of reuse on a machine: bytes by scope, and the capacities at which plans capture them.

Plans come from the ladder of `backends/roofline/iteration/best.py`, up to the capacity without evictions. Where the
options ask for the best plan of any capacity up to the given one, it is here the one with the least traffic: the report
is about bytes, so throughput and bandwidth decide nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from npuc.backends.roofline.iteration.best import capacity_without_eviction, in_chunks, ladder_of, rungs_of
from npuc.backends.roofline.iteration.reuse import SCOPES, Reuse, reuse_of, sufficient_capacity, within_steps
from npuc.backends.roofline.iteration.steps import least_rows
from npuc.backends.roofline.iteration.trace import Ints, Trace
from npuc.backends.roofline.options import RooflineOptions, check_rows, read_options, resolved
from npuc.backends.roofline.planning import Planner, own_plan
from npuc.backends.roofline.rows import compulsory_bytes
from npuc.compiler.core.errors import UsageError
from npuc.compiler.report.reuse import SHARES, CurvePoint, ReuseReport, ScopeReuse, Step
from npuc.hardware import Hardware

WITHIN, TOTAL = "intra-layer", "total"
LEAST_GAIN = 0.05
"""The least share of the missed bytes that a larger capacity must save to be mentioned."""


@dataclass(frozen=True)
class _Curve:
    """Capacities, ascending, the traffic of their plans, and the bytes that these save, [scope, capacity]."""

    capacity: Ints
    traffic: Ints
    saved: Ints

    def at(self, capacity: int) -> int:
        """The index of a capacity, or of the largest below it."""
        return max(int(np.searchsorted(self.capacity, capacity, side="right")) - 1, 0)


def reuse_report(module: ModuleOp, hardware: Hardware) -> ReuseReport:
    """
    The value of reuse in the iteration of a forward graph, and how much of it a machine captures.

    Raises `UsageError` for a missing key and the policy `optimal`, and `CapacityError` for a cache that does not hold a
    row of each tensor of a layer.
    """
    options = read_options(hardware)
    if options.optimal:
        raise UsageError(
            "reuse compares plans of hundreds of capacities, for which roofline.policy=optimal takes too long",
            hint="--set roofline.policy=belady",
        )
    trace = Planner(module).trace(options.conventions)
    check_rows(*least_rows(trace.iteration), options.capacity, hardware.name)
    reuse = reuse_of(trace)
    curve = _curve(reuse, options)
    here = curve.at(options.capacity)
    scopes = [_row(reuse, name, slice(n, n + 1), curve, here) for n, name in enumerate(SCOPES)]
    return ReuseReport(
        hardware=resolved(hardware).as_dict(),
        machine=hardware.name,
        training=any(step.phase != "forward" for step in trace.iteration.steps),
        capacity_bytes=options.capacity,
        without_bytes=reuse.without,
        compulsory_bytes=int(compulsory_bytes(trace).sum()),
        traffic_bytes=int(curve.traffic[here]),
        within=_within(trace, options.capacity),
        scopes=scopes,
        total=_row(reuse, TOTAL, slice(None), curve, here),
        next=_next(curve, options.capacity, here),
        curve=[
            CurvePoint(capacity_bytes=c, traffic_bytes=t, captured_bytes=dict(zip(SCOPES, s, strict=True)))
            for c, t, s in zip(curve.capacity.tolist(), curve.traffic.tolist(), curve.saved.T.tolist(), strict=True)
        ],
    )


def _curve(reuse: Reuse, options: RooflineOptions) -> _Curve:
    """The plans of the ladder, and of the machine's own capacity where it uses no plan of a smaller one."""
    trace = reuse.intervals.trace
    top = capacity_without_eviction(trace)
    if options.best:
        ladder = ladder_of(trace, top, retain=options.retain)
        capacity, plans = ladder.rungs, ladder.plans
    else:
        capacity = np.union1d(rungs_of(trace, top), np.array([min(options.capacity, top)], dtype=np.int64))
        plans = tuple(own_plan(trace, capacity[c], options) for c in in_chunks(trace, len(capacity)))
    traffic = np.concatenate([plan.bytes_in + plan.bytes_out for plan in plans])
    saved = np.concatenate([reuse.saved(plan.cached[reuse.intervals.slot]) for plan in plans], axis=1)
    if not options.best:
        return _Curve(capacity, traffic, saved)
    # of the plans of a rung and of those below it the first that moves least
    chosen, best = list[int](), 0
    for own in np.arange(len(traffic)).reshape(-1, len(capacity)).T.tolist():
        best = min([best, *own], key=lambda lane: int(traffic[lane]))
        chosen.append(best)
    return _Curve(capacity, traffic[chosen], saved[:, chosen])


def _row(reuse: Reuse, name: str, chosen: slice, curve: _Curve, here: int) -> ScopeReuse:
    """The row of some scopes between steps."""
    found, numbers = reuse.intervals, range(len(SCOPES))[chosen]
    own, narrower = (np.isin(reuse.scope, of) for of in (numbers, range(numbers[-1] + 1)))
    everywhere = np.ones((len(own), 1), dtype=np.bool_)
    read, written = (
        int(saved[chosen].sum()) for saved in (reuse.reads_saved(everywhere), reuse.copies_saved(everywhere))
    )
    saved = curve.saved[chosen].sum(axis=0)
    return ScopeReuse(
        scope=name,
        intervals=int(own.sum()),
        tensors=len(np.unique(found.trace.tensor[found.slot[own]])),
        bytes=read + written,
        read_bytes=read,
        write_bytes=written,
        alone_bytes=int(reuse.saved(own[:, None]).sum()),
        enough_bytes=sufficient_capacity(found, own),
        enough_with_narrower_bytes=sufficient_capacity(found, narrower),
        captured_bytes=int(saved[here]),
        captured_from={str(share): _captured_from(curve.capacity, saved, read + written, share) for share in SHARES},
    )


def _captured_from(capacity: Ints, saved: Ints, all_of: int, share: int) -> int | None:
    """The least capacity from which on at least `share` per cent are saved; None if there is nothing to save."""
    short = np.flatnonzero(100 * saved < share * all_of)
    first = int(short[-1]) + 1 if len(short) else 0
    return int(capacity[first]) if all_of and first < len(capacity) else None


def _within(trace: Trace, capacity: int) -> ScopeReuse:
    """The row of reuse within steps, which is captured where the step's tensors fit."""
    saved = within_steps(trace)
    steps = np.flatnonzero(saved)
    order = steps[np.argsort(trace.footprint[steps], kind="stable")]
    sizes, reached = trace.footprint[order], saved[order].cumsum()
    touched = (saved > 0)[trace.step] & trace.read & ~trace.write
    total, most = int(saved.sum()), int(sizes.max(initial=0))
    return ScopeReuse(
        scope=WITHIN,
        intervals=len(steps),
        tensors=len(np.unique(trace.tensor[touched])),
        bytes=total,
        read_bytes=total,
        write_bytes=0,
        alone_bytes=total,
        enough_bytes=most,
        enough_with_narrower_bytes=most,
        captured_bytes=int(saved[trace.footprint <= capacity].sum()),
        captured_from={str(share): _captured_from(sizes, reached, total, share) for share in SHARES},
    )


def _next(curve: _Curve, capacity: int, here: int) -> Step | None:
    """The larger capacity that saves most per additional byte; None where nothing is missed."""
    total = curve.saved.sum(axis=0)
    missed = int(total.max(initial=0) - total[here])
    gain = total - total[here]
    worth = np.flatnonzero((curve.capacity > capacity) & (gain > 0) & (gain >= LEAST_GAIN * missed))
    if not len(worth):
        return None
    best = int(worth[np.argmax(gain[worth] / (curve.capacity[worth] - capacity))])
    scope = SCOPES[int(np.argmax(curve.saved[:, best] - curve.saved[:, here]))]
    return Step(capacity_bytes=int(curve.capacity[best]), saved_bytes=int(gain[best]), scope=scope)
