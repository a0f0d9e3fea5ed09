"""
The value of data reuse: the bytes that each scope of reuse saves, and the capacity that it needs.

An interval is a chance of reuse: caching its tensor saves the read that ends it. The copy of a written value is saved
when all of the value's intervals are cached, and counts for the widest scope among them. So the bytes of the scopes up
to any one are exactly the savings of caching these, and those of all scopes are the traffic without reuse between steps
less the compulsory traffic.

The scopes are those of C.-Y. Tsai, "A Performance Analytical Model for DNN Training with Focus on Memory Subsystem"
(NTU, 2021): within a layer, adjacent layers, a block, a recurrent weight, forward and backward; and the optimizer's.
Within a step, a product takes two operands per MAC, of which each element has to be read once. By the study's reuse
frequency of a tensor, rf(t, l) = ops(l, t) / cap(t), that is the sum over operands t of cap(t) (B rf(t, l) - 1), where
ops(l, t) are the MACs that t takes part in and B the bytes per element.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from npuc.backends.roofline.iteration.intervals import Intervals, intervals_of
from npuc.backends.roofline.iteration.steps import IterationStep, IterationTensor
from npuc.backends.roofline.iteration.trace import Bools, Ints, Trace
from npuc.compiler.analysis.nest.elements import whole_bytes

Scope = Literal["adjacent", "block", "recurrent", "forward-backward", "update"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
"""The scopes, from the narrowest to the widest."""


@dataclass(frozen=True)
class Reuse:
    """
    The intervals of a trace by scope: `scope` is the number of each interval's scope in SCOPES.

    `widest` is the number of the widest interval of each written value whose copy depends on its intervals.
    """

    intervals: Intervals
    scope: Ints
    widest: Ints

    @property
    def without(self) -> int:
        """Bytes moved between steps and memory when nothing is cached from one step to the next."""
        return self.intervals.fixed + int(self.intervals.value_size.sum())

    def reads_saved(self, cached: Bools) -> Ints:
        """Bytes of reads saved, [scope, lane], when the intervals `cached`, [interval, lane], are cached."""
        return _sums(self.scope, self.intervals.size, cached)

    def copies_saved(self, cached: Bools) -> Ints:
        """Bytes of copies saved, as `reads_saved`."""
        found = self.intervals
        depends = np.flatnonzero(found.value >= 0)
        if not len(depends):
            return np.zeros((len(SCOPES), cached.shape[1]), dtype=np.int64)
        depends = depends[np.argsort(found.value[depends], kind="stable")]
        first = np.searchsorted(found.value[depends], np.arange(len(found.value_size)))
        whole: Bools = np.logical_and.reduceat(cached[depends], first, axis=0)
        return _sums(self.widest, found.value_size, whole)

    def saved(self, cached: Bools) -> Ints:
        """Bytes saved, as `reads_saved`."""
        return self.reads_saved(cached) + self.copies_saved(cached)


def _sums(scope: Ints, size: Ints, chosen: Bools) -> Ints:
    """The sum of the chosen sizes, by scope."""
    rows = [(size[scope == s, None] * chosen[scope == s]).sum(axis=0, dtype=np.int64) for s in range(len(SCOPES))]
    return np.array(rows, dtype=np.int64)


def reuse_of(trace: Trace) -> Reuse:
    """The intervals of a trace by scope."""
    found, steps, tensors = intervals_of(trace), trace.iteration.steps, trace.iteration.tensors
    passes = [_pass(step) for step in steps]
    number: list[int] = trace.tensor[found.slot].tolist()
    ends = zip(found.start.tolist(), found.end.tolist(), number, strict=True)
    scopes = [_scope(steps, passes, start, end, tensors[tensor]) for start, end, tensor in ends]
    scope = np.array([SCOPES.index(one) for one in scopes], dtype=np.int64)
    widest = np.zeros(len(found.value_size), dtype=np.int64)
    depends = found.value >= 0
    np.maximum.at(widest, found.value[depends], scope[depends])
    return Reuse(found, scope, widest)


def _pass(step: IterationStep) -> int:
    """The pass of a step: 0 forward, 1 backward, 2 update. Recomputed forward work belongs to the backward pass."""
    if step.phase == "update":
        return 2
    return 0 if step.phase == "forward" and not step.recomputed else 1


def _scope(steps: tuple[IterationStep, ...], passes: list[int], start: int, end: int, tensor: IterationTensor) -> Scope:
    """The scope of an interval of a tensor between two steps."""
    if passes[end] == 2:
        return "update"
    if passes[start] < passes[end]:
        return "forward-backward"
    same_layer = steps[start].recomputed and steps[start].name == steps[end].name
    if tensor.kind in ("weight", "weight_gradient") and not same_layer:
        return "recurrent"
    return "adjacent" if end == start + 1 else "block"


def sufficient_capacity(found: Intervals, cached: Bools) -> int:
    """A capacity, in bytes, that holds these intervals beside all tensors of the steps that they touch or cross."""
    trace = found.trace
    start, end, size = found.start[cached], found.end[cached], found.size[cached]
    across, touched = np.zeros((2, trace.steps + 1), dtype=np.int64)
    np.add.at(across, start + 1, size)
    np.subtract.at(across, end, size)
    np.add.at(touched, start, 1)
    np.subtract.at(touched, end + 1, 1)
    wanted = trace.footprint + across.cumsum()[:-1]
    return int(wanted[touched.cumsum()[:-1] > 0].max(initial=0))


def within_steps(trace: Trace) -> Ints:
    """
    Bytes that each step would reread without reuse within it; 0 for steps without products.

    Two operands per MAC, less what the step reads once: its inputs that it does not change. Sums stay in the array.
    """
    once = np.zeros(trace.steps, dtype=np.int64)
    np.add.at(once, trace.step, np.where(trace.read & ~trace.write, trace.size, 0))
    operands = [2 * whole_bytes(step.macs * step.width) for step in trace.iteration.steps]
    return np.maximum(np.array(operands, dtype=np.int64) - once, 0)
