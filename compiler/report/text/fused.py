"""What vector work saves that runs on the blocks of its producers, as a line of the table."""

from __future__ import annotations

from npuc.compiler.report.report import Report
from npuc.compiler.report.rows import OpRow
from npuc.compiler.report.text.verdict import bytes_unit, time_text


def fused_text(report: Report) -> str | None:
    """How much traffic and time fused work saves against the same schedules without it; None if nothing is fused."""
    rows = [row for row in report.ops if "fused" in row.native]
    if not rows:
        return None
    count = sum(row.repeat for row in rows)
    moved = cycles = 0
    for row in report.ops:
        if "fused" in row.native:
            moved += row.repeat * (
                _count(row, "alone_bytes") - (row.dram_read_bytes or 0) - (row.dram_write_bytes or 0)
            )
            cycles += row.repeat * (_count(row, "alone_cycles") - int(row.cycles or 0))
        elif "not_stored_bytes" in row.native:
            moved += row.repeat * _count(row, "not_stored_bytes")
            cycles += row.repeat * (_count(row, "storing_cycles") - int(row.cycles or 0))
    scale, unit = bytes_unit(moved)
    totals = report.totals
    time = time_text((totals.seconds or 0.0) * cycles / totals.cycles) if totals.cycles else "0 s"
    what = "operation runs on blocks of its producer" if count == 1 else "operations run on blocks of their producers"
    return f"{count:,} {what}: {moved / scale:,.2f} {unit} and {time} less than apart, with the same schedules"


def _count(row: OpRow, name: str) -> int:
    value = row.native[name]
    assert isinstance(value, int)
    return value
