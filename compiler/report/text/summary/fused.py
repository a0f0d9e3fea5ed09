"""The savings of epilogues, vector work fused into the contraction before it, as a line below the table."""

from __future__ import annotations

from npuc.compiler.report.report import Report
from npuc.compiler.report.sections import FusedFacts, UnstoredFacts
from npuc.compiler.report.text.quantities import bytes_unit, time_text


def fused_text(report: Report) -> str | None:
    """The traffic and time that fused work saves against the same schedules without it; None if nothing is fused."""
    count = moved = cycles = 0
    for row in report.ops:
        fused, unstored = FusedFacts.found_in(row), UnstoredFacts.found_in(row)
        if fused is not None:
            count += row.repeat
            moved += row.repeat * (fused.alone_bytes - (row.dram_read_bytes or 0) - (row.dram_write_bytes or 0))
            cycles += row.repeat * (fused.alone_cycles - int(row.cycles or 0))
        elif unstored is not None:
            moved += row.repeat * unstored.not_stored_bytes
            cycles += row.repeat * (unstored.storing_cycles - int(row.cycles or 0))
    if not count:
        return None
    scale, unit = bytes_unit(moved)
    totals = report.totals
    time = time_text((totals.seconds or 0.0) * cycles / totals.cycles) if totals.cycles else "0 s"
    what = "operation runs as an epilogue" if count == 1 else "operations run as epilogues"
    return f"{count:,} {what}: {moved / scale:,.2f} {unit} and {time} less than unfused, with the same schedules"
