"""The cost of recomputed forward work (pass `recompute`), as a line below the table."""

from __future__ import annotations

from npuc.compiler.report.report import Report
from npuc.compiler.report.sections import RecomputeFacts
from npuc.compiler.report.text.quantities import time_text


def again_text(report: Report) -> str | None:
    """The number of operations that run a second time, and their cost; None if there are none."""
    rows = [row for row in report.ops if RecomputeFacts.found_in(row) is not None]
    if not rows:
        return None
    count = sum(row.repeat for row in rows)
    macs = sum(row.repeat * (row.macs or 0) for row in rows)
    text = f"{count:,} operation{' runs' if count == 1 else 's run'} again in the backward pass: {macs:,} MACs"
    if all(row.seconds is None for row in rows):
        return text
    return f"{text}, {time_text(sum(row.repeat * (row.seconds or 0.0) for row in rows))} of forward work"
