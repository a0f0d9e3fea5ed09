"""
The report's rows of communication: the cost of each exchange between devices on a machine's network.

    all_reduce of dW   fc1   comm   bytes that a device sends, seconds, energy

A backend costs the work of one device; these rows are added to its own. On a machine without a network they have no
time, and the report says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import fsum
from typing import TYPE_CHECKING

from msgspec.structs import replace
from xdsl.dialects.builtin import DictionaryAttr, FloatAttr, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.utils.hints import isa

from npuc.backends.exchanges import FREE, Exchange, exchanges, followed, in_order
from npuc.backends.operations import place_of
from npuc.backends.overlap import BucketedStep, seconds_without_buckets, step_in_buckets
from npuc.compiler.analysis.interconnect.chunks.cost import ChunkedCost
from npuc.compiler.analysis.interconnect.collectives import Cost
from npuc.compiler.analysis.interconnect.overlap.step import MovementTimes
from npuc.compiler.analysis.interconnect.topology import MeshPlacement
from npuc.compiler.analysis.sharding.cost.collective_traffic import exchanged, moved_elements
from npuc.compiler.report import OpRow, Report, total
from npuc.compiler.report.sections import (
    BeginFacts,
    BucketFacts,
    CommunicationBytes,
    CommunicationTime,
    ExchangeChunks,
    ExchangeFacts,
    ExchangeStages,
    OverlapFacts,
    OverlapTime,
    RateFacts,
    columns,
)
from npuc.compiler.report.text.quantities import time_text
from npuc.dialects.distributed import DistOp, levels_of
from npuc.dialects.distributed.base import PLAN
from npuc.dialects.distributed.mesh import Mesh, mesh_of
from npuc.dialects.provenance import Role, role_of
from npuc.hardware.network import latency_of, network_of

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from npuc.hardware import Hardware

TOLERANCE = 1e-3
"""What planned seconds may be off without a word."""


def with_communication(report: Report, module: ModuleOp, machine: Hardware) -> Report:
    """A backend's report with the rows of communication added; unchanged for one device."""
    found = [(func, mesh) for func in module.ops if isinstance(func, FuncOp) and (mesh := mesh_of(func)) is not None]
    if not found:
        return report
    warnings = list(report.warnings)
    rows = list(report.ops)
    native = dict(report.native)
    for func, mesh in found:
        placement = _placement(mesh, machine, report.backend, warnings)
        moved = list(exchanges(func, placement, machine))
        native |= sums_of(moved, mesh).columns()
        bucketed, alone = None, 0.0
        times = [None if e.cost is None else float(e.cost.seconds) for e in moved]
        if all(seconds is not None for seconds in times):
            seconds = fsum(seconds for seconds in times if seconds is not None)
            if placement is not None and any(exchange.bucket is not None for exchange in moved):
                bucketed = step_in_buckets(func, report.ops, moved, placement, latency_of(machine))
                alone = seconds_without_buckets(report.ops, moved, placement, machine.get("memory.element_bytes", int))
                rows = [_begun(row, bucketed) for row in rows]
            beside = overlapped(func, report.ops, moved) if bucketed is None else float(bucketed.step.seconds)
            native |= CommunicationTime(comm_seconds=seconds, overlapped_seconds=beside).columns()
            if bucketed is not None:
                seconds = float(bucketed.step.exposed)
                native |= _exposed(bucketed, alone, warnings).columns()
            rate, work = RateFacts.found_in(report), report.totals.seconds
            if rate is not None and work:
                # a backend says it of the work alone
                native |= RateFacts(samples_per_second=rate.samples_per_second * work / (work + seconds)).columns()
            if report.totals.energy_j is not None and any(e.cost and e.cost.picojoules is None for e in moved):
                warnings.append(f"{machine.name} has no pj_per_byte in network.levels: energy is of the work alone")
            chunked = any(isinstance(exchange.cost, ChunkedCost) for exchange in moved)
            unknown = [*(["chunks"] if chunked else []), *([] if bucketed is None else ["buckets"])]
            _compare(func, report.totals.seconds, seconds, warnings, unknown)
        after = followed(func, report.ops, moved)
        added = [_row(exchange, len(rows) + n, after[n]) for n, exchange in enumerate(moved)]
        if bucketed is not None:
            added = [_beside(row, bucketed.step.moved[n]) for row, n in zip(added, bucketed.numbers, strict=True)]
        rows += added
    return replace(report, ops=rows, totals=total(rows), warnings=warnings, native=native)


def _begun(row: OpRow, bucketed: BucketedStep) -> OpRow:
    """A row of work with the time at which it begins."""
    begin = BeginFacts(begin_seconds=float(bucketed.begins[row.index]))
    return replace(row, native=row.native | begin.columns())


def _beside(row: OpRow, moved: MovementTimes) -> OpRow:
    """The row of an exchange that runs beside work: its own seconds are those for which devices wait."""
    facts = OverlapFacts(
        ready_seconds=float(moved.ready),
        begin_seconds=float(moved.begin),
        end_seconds=float(moved.end),
        alone_seconds=row.seconds or 0.0,
    )
    stages = ExchangeStages(
        stage_levels=[level for level, _, _ in moved.spans],
        stage_seconds=[float(end - begin) for _, begin, end in moved.spans],
        stage_begins=[float(begin - moved.begin) for _, begin, _ in moved.spans],
    )
    native = row.native | columns(facts, stages)
    return replace(row, seconds=float(moved.exposed / row.repeat), native=native)


def _exposed(bucketed: BucketedStep, alone: float, warnings: list[str]) -> OverlapTime:
    """What is exposed of all movement, and the step without buckets; a warning where that is shorter."""
    taken = float(bucketed.step.seconds)
    if taken > alone * (1 + 1e-12):
        warnings.append(
            f"in these buckets a step takes {time_text(taken)}, longer than the {time_text(alone)} of one in which "
            "each gradient is summed alone and nothing runs beside that"
        )
    return OverlapTime(
        exposed_seconds=float(bucketed.step.exposed),
        exposed_bound_seconds=float(bucketed.bound),
        unbucketed_seconds=alone,
    )


def sums_of(moved: Sequence[Exchange], mesh: Mesh) -> CommunicationBytes:
    """
    What sums of weights' gradients move of all, and what everything else does: bytes.

    Operands are what a device hands in, once where it goes on at another level; what it reads of P bytes that n devices
    sum is 2 P (n - 1) / n.
    """
    gradients = [exchange for exchange in moved if role_of(exchange.op) is Role.DW]
    others = [exchange for exchange in moved if role_of(exchange.op) is not Role.DW]
    return CommunicationBytes(
        gradient_operand_bytes=_operands(gradients),
        gradient_read_bytes=_reads(gradients, mesh),
        other_operand_bytes=_operands(others),
        other_read_bytes=_reads(others, mesh),
    )


def _operands(moved: Sequence[Exchange]) -> int:
    """The bytes that a device hands in."""
    return sum(exchange.size for exchange in moved if not _goes_on(exchange.op))


def _reads(moved: Sequence[Exchange], mesh: Mesh) -> int | float:
    """The bytes that a device reads of others, as an integer where they are whole."""
    read = sum((_read(exchange, mesh) for exchange in moved), Fraction(0))
    return read.numerator if read.denominator == 1 else float(read)


def _goes_on(op: DistOp) -> bool:
    """Whether what an operation moves has moved just before, and not become anything else since."""
    before = op.x.owner
    while isinstance(before, FREE):
        before = before.x.owner
    return isinstance(before, DistOp) and role_of(before) is role_of(op)


def _read(exchange: Exchange, mesh: Mesh) -> Fraction:
    """The bytes that one device reads of others, on average."""
    elements_read = 2 * sum(exchanged(exchange.op, mesh).values(), Fraction(0)) / mesh.devices
    return elements_read * exchange.size / max(1, moved_elements(exchange.op))


def _compare(func: FuncOp, work: float | None, messages: float, warnings: list[str], unknown: Sequence[str]) -> None:
    """Say so where a plan was searched by other seconds than its program takes."""
    plan = func.attributes.get(PLAN)
    if work is None or not isinstance(plan, DictionaryAttr) or plan.data.get("objective") != StringAttr("time"):
        return
    cost = plan.data.get("cost")
    if not isa(cost, FloatAttr):
        return
    planned, taken = cost.value.data, work + messages
    if abs(planned - taken) > TOLERANCE * taken:
        warnings.append(
            f"layer by layer the plan was reckoned at {time_text(planned)} a step, its program takes "
            f"{time_text(taken)}: sums of gradients, and what stays on the chip, depend on neighbouring layers"
            + (f", and plans know no {' and no '.join(unknown)}" if unknown else "")
        )


def overlapped(func: FuncOp, rows: Sequence[OpRow], moved: Sequence[Exchange]) -> float | None:
    """
    Seconds of the step if sums of weights' gradients run beside other work; None where work has no time.

    Devices and network each do one thing after the other, in program order. All other movement waits for the work
    before it and holds up the work behind it; updates wait for all sums.
    """
    if any(row.seconds is None for row in rows):
        return None
    work = network = 0.0
    for event in in_order(func, rows, moved):
        if isinstance(event, Exchange):
            assert event.cost is not None
            network = max(work, network) + float(event.cost.seconds)
            work = work if role_of(event.op) is Role.DW else network
        else:
            start = max(work, network) if event.phase == "update" else work
            work = start + event.repeat * (event.seconds or 0.0)
    return max(work, network)


def _placement(mesh: Mesh, machine: Hardware, backend: str, warnings: list[str]) -> MeshPlacement | None:
    if machine.get("network.levels") is None:
        warnings.append(
            f"{machine.name} has no network.levels: what moves between {mesh.devices:,} devices has no time here"
        )
        return None
    return network_of(machine, backend=backend).place(mesh.sizes)


def _row(exchange: Exchange, index: int, after: int | None) -> OpRow:
    op, cost = exchange.op, exchange.cost
    energy = None if cost is None else cost.picojoules
    place = place_of(op)
    if exchange.bucket is not None:
        place["name"] = f"bucket {exchange.bucket}"
    return OpRow(
        index=index,
        **place,
        op=op.name,
        phase="comm",
        kind="comm",
        seconds=None if cost is None else float(cost.seconds),
        energy_j=None if energy is None else float(energy) * 1e-12,
        limit="network",
        native=columns(
            ExchangeFacts(
                of=role_of(op).value,
                operand_bytes=exchange.size,
                sent_bytes=None if cost is None else float(cost.sent),
                levels=", ".join(f"H{level + 1}" for level in levels_of(op)),
                after=after,
            ),
            None if exchange.bucket is None else BucketFacts(bucket=exchange.bucket, bucket_sums=len(exchange.members)),
            None if cost is None else _stages(cost),
            _chunks(cost) if isinstance(cost, ChunkedCost) else None,
        ),
    )


def _stages(cost: Cost) -> ExchangeStages:
    """The stages of an exchange; in chunks, the times in which levels work."""
    if isinstance(cost, ChunkedCost):
        return ExchangeStages(
            stage_levels=[level for level, _, _ in cost.spans],
            stage_seconds=[cost.in_seconds(end - begin) for _, begin, end in cost.spans],
            stage_begins=[cost.in_seconds(begin) for _, begin, _ in cost.spans],
        )
    return ExchangeStages(
        stage_levels=[stage.level for stage in cost.stages],
        stage_seconds=[float(stage.seconds) for stage in cost.stages],
    )


def _chunks(cost: ChunkedCost) -> ExchangeChunks:
    return ExchangeChunks(chunks=cost.chunks, bound_seconds=float(cost.bound_s))
