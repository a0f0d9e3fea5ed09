"""The totals and the facts of a whole iteration, for each lane of a plan."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import get_args

import msgspec
import numpy as np
import numpy.typing as npt

from npuc.backends.roofline.iteration.cache_plan import CachePlan
from npuc.backends.roofline.iteration.prefetch import Rates
from npuc.backends.roofline.iteration.timeline import IterationTimeline
from npuc.backends.roofline.options import RooflineOptions
from npuc.backends.roofline.rows import compulsory_bytes
from npuc.compiler.core.units import MIB
from npuc.compiler.report import Kind, Phase, Totals
from npuc.compiler.report.sections import IterationFacts
from npuc.compiler.report.totals import Assumed, shares_of

Floats = npt.NDArray[np.float64]


def lane_totals(plan: CachePlan, times: IterationTimeline, machines: Sequence[RooflineOptions]) -> list[Totals]:
    """The totals of each lane, a machine each: the sums over the rows of its report."""
    trace = plan.trace
    steps = trace.iteration.steps
    seconds = times.end - times.start
    if len(seconds):
        seconds[-1] = times.total - times.start[-1]
    masks = {phase: np.array([step.phase == phase for step in steps], dtype=np.bool_) for phase in get_args(Phase)}
    matrix = np.array([step.matrix for step in steps], dtype=np.bool_)
    kinds = {kind: matrix if kind == "matrix" else ~matrix & (kind == "vector") for kind in get_args(Kind)}
    macs, vector = sum(step.macs for step in steps), sum(step.vector_ops for step in steps)
    compute = Rates.of(np.array([one.tflops for one in machines]), 1.0)
    compute = compute.compute(trace)[:, compute.kind]
    seconds = np.maximum(seconds, compute)  # as the rows have them
    # a row's share first, as the totals of rows are made
    busy = seconds * np.divide(compute, seconds, out=np.zeros_like(seconds), where=seconds > 0)
    least = int(compulsory_bytes(trace).sum())
    assumed = _assumed(plan, seconds)
    read, written = plan.bytes_in.tolist(), plan.bytes_out.tolist()
    found: list[Totals] = []
    for lane in range(len(plan.capacity)):
        column = seconds[:, lane]
        total = math.fsum(column)
        found.append(
            Totals(
                cycles=None,
                seconds=total,
                macs=macs,
                vector_ops=vector,
                dram_read_bytes=read[lane],
                dram_write_bytes=written[lane],
                energy_j=None,
                utilization=math.fsum(busy[:, lane]) / total if total > 0 else None,
                lower_bound_seconds=math.fsum(compute[:, lane]),
                lower_bound_bytes=least,
                seconds_by_phase={name: math.fsum(column[mask]) for name, mask in masks.items()},
                seconds_by_kind={name: math.fsum(column[mask]) for name, mask in kinds.items()},
                assumed=assumed[lane],
            )
        )
    return found


def _assumed(plan: CachePlan, seconds: Floats) -> list[Assumed | msgspec.UnsetType]:
    """The shares of each lane's totals that are assumed, as `assumed_of` has them of rows."""
    trace, steps = plan.trace, plan.trace.iteration.steps
    own = np.array([step.operator is not None for step in steps], dtype=np.bool_)
    if not own.any():
        return [msgspec.UNSET] * len(plan.capacity)
    loads, slots = ~plan.cached & trace.read[:, None], own[trace.step]
    moved = trace.size[:, None] * (loads.astype(np.int64) + plan.offload)
    found: list[Assumed | msgspec.UnsetType] = []
    for lane in range(len(plan.capacity)):
        part, whole = (
            {
                "macs": sum(step.macs for step, taken in zip(steps, mask, strict=True) if taken),
                "vector_ops": sum(step.vector_ops for step, taken in zip(steps, mask, strict=True) if taken),
                "seconds": math.fsum(seconds[mask, lane]),
                "dram_bytes": int(moved[of_slots, lane].sum()),
                "energy_j": None,
            }
            for mask, of_slots in ((own, slots), (np.ones_like(own), np.ones_like(slots)))
        )
        found.append(shares_of(part, whole))
    return found


def iteration_facts(
    plan: CachePlan, times: IterationTimeline, machines: Sequence[RooflineOptions]
) -> list[IterationFacts]:
    """The facts of the model besides the totals, for each lane, a machine each."""
    iteration, footprint = plan.trace.iteration, int(plan.trace.footprint.max(initial=0))
    moved = (plan.bytes_in + plan.bytes_out).tolist()
    streamed = plan.streams.sum(axis=0).tolist()
    found: list[IterationFacts] = []
    for lane, total in enumerate(times.total.tolist()):
        bandwidth = moved[lane] / total / 1e9 if total > 0 else 0.0
        found.append(
            IterationFacts(
                ops=iteration.ops,
                average_gb_per_s=bandwidth,
                active_time=bandwidth / machines[lane].gb_per_s,
                samples_per_second=iteration.samples / total if total > 0 else 0.0,
                plan_mib=int(plan.capacity[lane]) / MIB,
                peak_bytes=int(plan.peak[lane]),
                largest_footprint_bytes=footprint,
                streamed_steps=streamed[lane],
                ridge_ops_per_byte=machines[lane].ridge,
            )
        )
    return found
