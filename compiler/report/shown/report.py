"""What is shown of a report: layers as lines of a table, long networks folded, with the shares of phases as a bar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from npuc.compiler.core.display.shown import Shown, ShownTable
from npuc.compiler.core.display.words import counted
from npuc.compiler.core.drawing.palette import PHASE_NAMES
from npuc.compiler.report.document import ReportData
from npuc.compiler.report.layers import Line, by_layer, costing, folded
from npuc.compiler.report.shown.amounts import moved_bytes, phase_bar, totals_text
from npuc.compiler.report.text.quantities import (
    bytes_cell,
    count_cell,
    energy_text,
    percent_cell,
    time_cell,
    time_text,
)
from npuc.compiler.report.text.summary.memory import memory_text
from npuc.compiler.report.totals import Totals

MOST_LINES = 22
"""Lines of a table, and one for the rest."""


def shown_report(report: ReportData) -> Shown:
    """What is shown of a report."""
    lines = costing(by_layer(report.ops))
    table = folded(lines, MOST_LINES)
    note = ""
    if len(table) < len(lines):
        note = f"{len(lines):,} layers in {len(table)} lines: .to_pandas() and .ops have all {_rows(report)}"
    return Shown(
        "Report",
        f"of {title_of(report)}",
        f"{_total(report)}; {_rows(report)}",
        tuple(_facts(report)),
        phase_bar(report.totals.seconds_by_phase),
        _table(report, table),
        note,
    )


def head_of(report: ReportData) -> Shown:
    """The one line of a report, of whose rows none is looked at."""
    return Shown("Report", f"of {title_of(report)}", f"{_total(report)}; {_rows(report)}")


def shown_comparison(reports: Sequence[ReportData]) -> Shown:
    """What is shown of reports of one program: a line each."""
    rows = ((one.backend, *_amounts(one.totals), str(len(one.ops))) for one in reports)
    headings = ("backend", *AMOUNTS, "rows")
    title = (
        f"of {counted(len(reports), 'reports')} of {reports[0].network or reports[0].source}"
        if reports
        else "of no report"
    )
    summary = ", ".join(f"{one.backend} {time_cell(one.totals.seconds) or 'no time'}" for one in reports)
    return Shown("Comparison", title, summary, table=ShownTable(headings, rows, len(reports), what="reports"))


def title_of(report: ReportData) -> str:
    """The network, the machine and the backend."""
    name = report.network or report.source or "a program"
    return f"{name} on {report.hardware.get('name', 'custom')} ({report.backend})"


def _total(report: ReportData) -> str:
    return totals_text(msgspec.structs.asdict(report.totals))


def _rows(report: ReportData) -> str:
    return counted(len(report.ops), "rows")


AMOUNTS = ("time", "MACs", "DRAM", "energy", "util %", "peak")


def _amounts(totals: Totals) -> tuple[str, ...]:
    """The cells of `AMOUNTS`."""
    return (
        time_cell(totals.seconds),
        count_cell(totals.macs),
        bytes_cell(moved_bytes(msgspec.structs.asdict(totals))),
        energy_text(totals.energy_j) if totals.energy_j else "",
        percent_cell(totals.utilization),
        bytes_cell(totals.peak_bytes),
    )


def _facts(report: ReportData) -> Iterator[tuple[str, str]]:
    totals, whole = report.totals, report.totals.seconds
    if whole:
        times = ((PHASE_NAMES.get(name, name), one) for name, one in totals.seconds_by_phase.items() if one)
        yield "phases", ", ".join(f"{name} {time_text(one)} ({one / whole:.0%})" for name, one in times)
    if totals.dram_read_bytes is not None and totals.dram_write_bytes is not None:
        read, written = bytes_cell(totals.dram_read_bytes), bytes_cell(totals.dram_write_bytes)
        least = totals.lower_bound_bytes
        bound = f"; the lower bound is {bytes_cell(least)}" if least else ""
        yield "traffic", f"{read} read, {written} written{bound}"
    if report.memory is not None:
        yield "memory", memory_text(report.memory, totals)
    if totals.utilization is not None:
        yield "array", f"{totals.utilization:.1%} of its peak"
    if report.parallel is not None:
        yield "devices", f"{report.parallel.devices:,} by {report.parallel.strategy}"
    if report.pipeline:
        yield "passes", report.pipeline
    for text in report.warnings[:3]:
        yield "warning", text
    if len(report.warnings) > 3:
        yield "warnings", f"{len(report.warnings) - 3:,} more"


def _table(report: ReportData, lines: Sequence[Line]) -> ShownTable:
    whole = report.totals.seconds
    present = {row.phase for row in report.ops if row.seconds is not None}
    phases = [name for name in PHASE_NAMES if name in present] if len(present) > 1 else []
    total = Line("total", 0, list(report.ops))

    def cells(line: Line) -> tuple[str, ...]:
        times = line.phases
        return (
            line.label,
            line.limit or "",
            *(time_cell(times[name]) if name in times else "" for name in phases),
            time_cell(line.seconds),
            percent_cell((line.seconds or 0.0) / whole) if whole else "",
            count_cell(line.macs or None),
            bytes_cell(line.dram_bytes),
            percent_cell(line.utilization),
        )

    names = (PHASE_NAMES[name] for name in phases)
    headings = ("layer", "limit", *names, "time", "time %", "MACs", "DRAM", "util %")
    rows = [cells(line) for line in lines]
    return ShownTable(headings, rows, len(rows), 2, "layers", cells(total) if lines else ())
