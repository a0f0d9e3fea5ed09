"""The rows and totals of a report, from a plan and its timeline."""

from __future__ import annotations

import msgspec
import numpy as np

from npuc.backends.roofline.facts import StepFacts
from npuc.backends.roofline.iteration.cache_plan import CachePlan
from npuc.backends.roofline.iteration.prefetch import occupancy
from npuc.backends.roofline.iteration.steps import IterationStep, IterationTensor
from npuc.backends.roofline.iteration.timeline import IterationTimeline
from npuc.backends.roofline.iteration.trace import Bools, Ints, Trace
from npuc.backends.roofline.options import RooflineOptions
from npuc.compiler.report import OpRow, TensorBytes
from npuc.compiler.report.sections import PassFacts, RecomputeFacts, columns
from npuc.compiler.report.totals import OpaqueFacts

_GRADIENTS = {"gradient": "dY", "weight_gradient": "dW"}
ROUNDING = 1e-9
"""The longer of computation and transfers limits a step in which they overlap; ends that differ by less than this
factor differ by rounding. In the study's model, where most steps do not overlap them, the limit is whatever takes
more than half of the step's time."""
_NAMES = {"weight": "W", "input": "X", "state": "state"}


def plan_rows(plan: CachePlan, times: IterationTimeline, options: RooflineOptions) -> list[OpRow]:
    """One row per step of a plan with one lane; the last step's row includes the remaining transfers."""
    trace = plan.trace
    occupied = occupancy(plan)[:, 0]
    loaded, written = trace.read & ~plan.cached[:, 0], plan.offload[:, 0]
    compulsory = compulsory_bytes(trace)
    start, ready, end = times.start[:, 0].tolist(), times.ready[:, 0].tolist(), times.end[:, 0].tolist()
    rows: list[OpRow] = []
    for number in range(trace.steps):
        slots = range(int(trace.first[number]), int(trace.first[number + 1]))
        done = float(times.total[0]) if number == trace.steps - 1 else end[number]
        rows.append(
            _row(
                plan,
                options,
                number,
                (start[number], ready[number], done),
                _tensors(trace, slots, loaded, written),
                sum(int(compulsory[slot]) for slot in slots),
                int(occupied[number]),
            )
        )
    return rows


def _row(
    plan: CachePlan,
    options: RooflineOptions,
    number: int,
    times: tuple[float, float, float],
    tensors: dict[str, TensorBytes],
    compulsory: int,
    occupied: int,
) -> OpRow:
    trace = plan.trace
    step, footprint = trace.iteration.steps[number], int(trace.footprint[number])
    start, ready, end = times
    compute = step.ops / (options.tflops * 1e12)
    # Beside a long time before it, a short one is lost in rounding; it is no less than that of the computation.
    seconds = max(end - start, compute)
    streams = bool(plan.streams[number, 0])
    beside = streams or options.overlap  # it computes while it transfers
    stall = max(end - start - compute, 0.0) if beside else ready - start
    bytes_in = sum(moved.read_bytes for moved in tensors.values())
    bytes_out = sum(moved.write_bytes for moved in tensors.values())
    reuse = step.ops / footprint if footprint else 0.0
    facts = StepFacts(
        bytes_in=bytes_in,
        bytes_out=bytes_out,
        start_seconds=start,
        end_seconds=end,
        stall_seconds=stall,
        resident_bytes=occupied,
        footprint_bytes=footprint,
        reuse_frequency=reuse,
        attainable_tops=min(reuse * options.gb_per_s / 1e3, options.tflops),
        layer_type="I" if step.matrix else "II",
        streams=streams,
    )
    return OpRow(
        index=number,
        name=step.name,
        op=step.op,
        loc=step.loc,
        source=step.source or msgspec.UNSET,
        assumed=msgspec.UNSET if step.operator is None else True,
        phase=step.phase,
        kind="matrix" if step.matrix else "vector",
        macs=step.macs,
        vector_ops=step.vector_ops,
        seconds=seconds,
        utilization=compute / seconds if seconds > 0 else 0.0,
        dram_read_bytes=bytes_in,
        dram_write_bytes=bytes_out,
        limit="dram" if end - start > (1 + ROUNDING if options.overlap else 2) * compute else "compute",
        lower_bound_bytes=compulsory,
        lower_bound_seconds=compute,
        tensors=tensors,
        native=columns(
            facts,
            PassFacts(product_passes=list(step.passes), mac_passes=step.mac_passes) if step.passes else None,
            step.sparse,
            OpaqueFacts(operator=step.operator) if step.operator is not None else None,
            RecomputeFacts(recompute=True) if step.recomputed else None,
        ),
    )


def _tensors(trace: Trace, slots: range, loaded: Bools, written: Bools) -> dict[str, TensorBytes]:
    """Traffic of a step by the role of its tensors."""
    moved: dict[str, list[int]] = {}
    for slot in slots:
        step = trace.iteration.steps[int(trace.step[slot])]
        tensor = trace.iteration.tensors[int(trace.tensor[slot])]
        size = int(trace.size[slot])
        own = moved.setdefault(_part(tensor, bool(trace.write[slot]), step), [0, 0])
        own[0] += size if loaded[slot] else 0
        own[1] += size if written[slot] else 0
    return {name: TensorBytes(read, write) for name, (read, write) in moved.items()}


def _part(tensor: IterationTensor, write: bool, step: IterationStep) -> str:
    """The role of a tensor in a step: X, W, Y, dY, dX, dW or state."""
    if tensor.kind == "gradient":
        return "dX" if write else "dY"
    if tensor.kind == "weight_gradient":
        return "dW"
    if tensor.kind == "value":
        return "Y" if write and step.phase == "forward" else "X"
    return _NAMES[tensor.kind]


def compulsory_bytes(trace: Trace) -> Ints:
    """
    The compulsory bytes of each slot: values that no step produced are read once, values live at the end are written.
    """
    fresh = trace.read & (trace.previous < 0)
    return trace.size * (fresh.astype(np.int64) + _last_written(trace))


def _last_written(trace: Trace) -> Ints:
    """1 for the slots that leave the final value of a tensor that must be in memory at the end."""
    written = np.zeros(trace.slots, dtype=np.int64)
    changed: dict[int, int] = {}
    for slot in np.flatnonzero(trace.write).tolist():
        changed[int(trace.tensor[slot])] = slot
    for tensor, slot in changed.items():
        if tensor in trace.iteration.live_out:
            written[slot] = 1
    return written
