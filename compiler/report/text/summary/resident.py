"""The traffic that resident values save, as a line below the table."""

from __future__ import annotations

from npuc.compiler.report.report import Report
from npuc.compiler.report.sections import ResidencyFacts, UnmovedFacts
from npuc.compiler.report.text.quantities import bytes_unit


def resident_text(report: Report) -> str | None:
    """The traffic saved against the same schedules with nothing resident; None if nothing is."""
    found = ((row, ResidencyFacts.found_in(row)) for row in report.ops)
    rows = [row for row, facts in found if facts is not None and facts.is_resident]
    if not rows:
        return None
    moved = 0
    for row in rows:
        unmoved = UnmovedFacts.found_in(row)
        moved += 0 if unmoved is None else row.repeat * unmoved.not_moved_bytes
    scale, unit = bytes_unit(moved)
    what = "operation finds or leaves" if len(rows) == 1 else "operations find or leave"
    return (
        f"{len(rows):,} {what} values resident in SPM: {moved / scale:,.2f} {unit} less traffic with the same schedules"
    )
