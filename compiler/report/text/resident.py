"""What values save that stay in SPM from one operation to the next, as a line of the table."""

from __future__ import annotations

from npuc.compiler.report.report import Report
from npuc.compiler.report.text.verdict import bytes_unit


def staying_text(report: Report) -> str | None:
    """How much less traffic there is than if nothing stayed, with the same schedules; None if nothing stays."""
    rows = [row for row in report.ops if "resident_in" in row.native or "resident_out" in row.native]
    if not rows:
        return None
    moved = 0
    for row in rows:
        size = row.native.get("not_moved_bytes", 0)
        assert isinstance(size, int)
        moved += row.repeat * size
    scale, unit = bytes_unit(moved)
    what = "operation finds or leaves" if len(rows) == 1 else "operations find or leave"
    return f"{len(rows):,} {what} values in SPM: {moved / scale:,.2f} {unit} less than apart, with the same schedules"
