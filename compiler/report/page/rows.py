"""The table of a step's operations, each of a layer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from npuc.compiler.core.drawing.palette import PHASE_NAMES
from npuc.compiler.report.page.model import Cell, Table, TableColumn, Unit
from npuc.compiler.report.report import Report
from npuc.compiler.report.rows import OpRow, ScheduleRow

OPERATIONS = "operations"
_Measure = Callable[[OpRow], Cell]


def operations_of(report: Report, owners: Mapping[int, int], of: str, name: str = OPERATIONS) -> Table:
    """A row for each operation that belongs to a row of the table `of`; `owners` says to which, by index."""
    rows = [row for row in report.ops if row.index in owners]
    measures: Sequence[tuple[str, str, Unit, _Measure]] = (
        ("phase", "Phase", "text", lambda row: PHASE_NAMES[row.phase]),
        ("operation", "Operation", "text", lambda row: row.op),
        ("repeat", "Runs", "number", lambda row: row.repeat if row.repeat > 1 else None),
        ("sizes", "Sizes", "text", _sizes),
        ("time", "Time", "seconds", lambda row: _times(row, row.seconds)),
        ("cycles", "Cycles", "number", lambda row: _times(row, row.cycles)),
        ("stall", "Stalls", "number", lambda row: _times(row, row.stall_cycles)),
        ("macs", "MACs", "count", lambda row: _times(row, row.macs)),
        ("vector", "Vector", "count", lambda row: _times(row, row.vector_ops)),
        ("read", "DRAM read", "bytes", lambda row: _times(row, row.dram_read_bytes)),
        ("written", "DRAM written", "bytes", lambda row: _times(row, row.dram_write_bytes)),
        ("least", "Least DRAM", "bytes", lambda row: _times(row, row.lower_bound_bytes)),
        ("energy", "Energy", "joules", lambda row: _times(row, row.energy_j)),
        ("utilization", "Array", "share", lambda row: row.utilization),
        ("limit", "Limit", "text", lambda row: row.limit),
        ("schedule", "Schedule", "text", lambda row: _schedule(row.schedule)),
        ("intensity", "Operational intensity, FLOP/byte", "number", intensity),
        ("rate", "FLOP/s", "count", rate),
        ("source", "Source", "text", lambda row: row.loc),
    )
    hidden = {"stall", "least", "intensity", "rate", "source", "energy"}
    columns = [TableColumn(name="layer", title="Layer", values=[row.name for row in rows])]
    for key, title, unit, measure in measures:
        values = [measure(row) for row in rows]
        if any(values):
            columns.append(TableColumn(name=key, title=title, unit=unit, values=values, shown=key not in hidden))
    return Table(
        name=name,
        title="Operations of the selected layer",
        columns=columns,
        of=of,
        owner=[owners[row.index] for row in rows],
    )


def intensity(row: OpRow) -> float | None:
    """Operations for each byte between DRAM and chip, of a product; a MAC is two."""
    moved = (row.dram_read_bytes or 0) + (row.dram_write_bytes or 0)
    return 2 * row.macs / moved if row.macs and moved else None


def rate(row: OpRow) -> float | None:
    """Operations a second of a product; a MAC is two."""
    return 2 * row.macs / row.seconds if row.macs and row.seconds else None


def _times(row: OpRow, value: float | None) -> float | None:
    return None if value is None else row.repeat * value


def _sizes(row: OpRow) -> str | None:
    if row.m is None:
        return None
    sizes = f"{row.m:,} x {row.n or 0:,} x {row.k or 0:,}"
    return f"{row.batch:,} of {sizes}" if row.batch and row.batch > 1 else sizes


def _schedule(schedule: ScheduleRow | None) -> str | None:
    """The loops outermost first, with their tiles, and what stays in the scratchpad."""
    if schedule is None:
        return None
    loops = " ".join(f"{dim}:{schedule.tile[dim]:,}" if dim in schedule.tile else dim for dim in schedule.order)
    kept = (
        f"; keeps {', '.join(f'{tensor} over {depth}' for tensor, depth in schedule.keep.items())}"
        if schedule.keep
        else ""
    )
    split = f"; {schedule.partition} over {schedule.partition.over}" if schedule.partition else ""
    kind = "" if schedule.program == "sequential" else f"{schedule.program}: "
    return f"{kind}{loops}{kept}{split}"
