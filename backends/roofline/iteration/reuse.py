"""
What reuse saves: the bytes that each scope of it is worth, and the room in the cache that it takes.

An interval is a chance of reuse: keeping its tensor saves the read that ends it. The copy of a written value is saved
when all of the value's intervals are kept, and counts as of the widest scope among them. So the bytes of the scopes up
to any one are exactly what keeping these saves, and those of all scopes are the traffic without reuse between steps
less the compulsory traffic.

The scopes are those of C.-Y. Tsai, "A Performance Analytical Model for DNN Training with Focus on Memory Subsystem"
(NTU, 2021): within a layer, adjacent layers, a block, a recurrent weight, forward and backward; and the optimizer's.
Within a step, a product takes two operands a MAC, of which each element has to be read once. By the study's reuse
frequency of a tensor, rf(t, l) = ops(l, t) / cap(t), that is the sum over operands t of cap(t) (B rf(t, l) - 1), where
ops(l, t) are the MACs that t takes part in and B the bytes of an element.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from npuc.backends.roofline.iteration.intervals import Intervals, intervals_of
from npuc.backends.roofline.iteration.steps import Step, Tensor
from npuc.backends.roofline.iteration.trace import Bools, Ints, Trace
from npuc.compiler.analysis.nest.elements import whole_bytes

Scope = Literal["adjacent", "block", "recurrent", "forward-backward", "update"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
"""From the narrowest to the widest."""


@dataclass(frozen=True)
class Reuse:
    """
    The intervals of a trace by scope: `scope` has the number in SCOPES of each.

    `widest` has that of the widest interval of each written value whose copy depends on its intervals.
    """

    intervals: Intervals
    scope: Ints
    widest: Ints

    @property
    def without(self) -> int:
        """Bytes that move between steps and memory when nothing is kept from one step to the next."""
        return self.intervals.fixed + int(self.intervals.value_size.sum())

    def reads_saved(self, kept: Bools) -> Ints:
        """Bytes of reads that keeping intervals saves: rows are scopes, in `kept` intervals; columns are lanes."""
        return _sums(self.scope, self.intervals.size, kept)

    def copies_saved(self, kept: Bools) -> Ints:
        """Bytes of copies that keeping intervals saves, as `reads_saved`."""
        found = self.intervals
        depends = np.flatnonzero(found.value >= 0)
        if not len(depends):
            return np.zeros((len(SCOPES), kept.shape[1]), dtype=np.int64)
        depends = depends[np.argsort(found.value[depends], kind="stable")]
        first = np.searchsorted(found.value[depends], np.arange(len(found.value_size)))
        whole: Bools = np.logical_and.reduceat(kept[depends], first, axis=0)
        return _sums(self.widest, found.value_size, whole)

    def saved(self, kept: Bools) -> Ints:
        """Bytes that keeping intervals saves, as `reads_saved`."""
        return self.reads_saved(kept) + self.copies_saved(kept)


def _sums(scope: Ints, size: Ints, chosen: Bools) -> Ints:
    """The sum of the sizes that are chosen, a row a scope."""
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


def _pass(step: Step) -> int:
    """The pass of a step: 0 forward, 1 backward, 2 update. Forward work that runs again is part of the backward."""
    if step.phase == "update":
        return 2
    return 0 if step.phase == "forward" and not step.again else 1


def _scope(steps: tuple[Step, ...], passes: list[int], start: int, end: int, tensor: Tensor) -> Scope:
    """The scope of an interval of a tensor between two steps."""
    if passes[end] == 2:
        return "update"
    if passes[start] < passes[end]:
        return "forward-backward"
    same_layer = steps[start].again and steps[start].name == steps[end].name
    if tensor.kind in ("weight", "weight_gradient") and not same_layer:
        return "recurrent"
    return "adjacent" if end == start + 1 else "block"


def enough(found: Intervals, kept: Bools) -> int:
    """The capacity in bytes in which intervals stay beside all tensors of the steps that they touch or cross."""
    trace = found.trace
    start, end, size = found.start[kept], found.end[kept], found.size[kept]
    across, touched = np.zeros((2, trace.steps + 1), dtype=np.int64)
    np.add.at(across, start + 1, size)
    np.subtract.at(across, end, size)
    np.add.at(touched, start, 1)
    np.subtract.at(touched, end + 1, 1)
    wanted = trace.footprint + across.cumsum()[:-1]
    return int(wanted[touched.cumsum()[:-1] > 0].max(initial=0))


def within_steps(trace: Trace) -> Ints:
    """
    Bytes that each step would read again if it kept nothing within it; 0 for steps without products.

    Two operands a MAC, less what the step reads once: all that it reads but does not change. Sums are kept.
    """
    once = np.zeros(trace.steps, dtype=np.int64)
    np.add.at(once, trace.step, np.where(trace.read & ~trace.write, trace.size, 0))
    operands = [2 * whole_bytes(step.macs * step.width) for step in trace.iteration.steps]
    return np.maximum(np.array(operands, dtype=np.int64) - once, 0)
