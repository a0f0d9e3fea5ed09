"""What sparse operands save, as a line below the table."""

from __future__ import annotations

from npuc.compiler.report.report import Report
from npuc.compiler.report.sparse import SparseFacts
from npuc.compiler.report.text.quantities import bytes_cell, count_cell


def sparse_text(report: Report) -> str | None:
    """The MACs that are carried out of all, and the bytes of sparse operands beside dense ones; None without any."""
    rows = [(row, facts) for row in report.ops if (facts := SparseFacts.found_in(row)) is not None]
    if not rows:
        return None
    macs = sum(row.repeat * (row.macs or 0) for row, _ in rows)
    done = sum(row.repeat * facts.carried_macs for row, facts in rows)
    stored, dense = (sum(one) for one in zip(*((f.sparse_bytes, f.dense_bytes) for _, f in rows), strict=True))
    skipped = f"{count_cell(done)} of {count_cell(macs)} MACs carried out" if done < macs else "no MAC skipped"
    share = sum(row.repeat * (row.macs or 0) * facts.time_share for row, facts in rows) / macs if macs else 1.0
    timed = f" in {share:.3g} of the array's dense time" if share < 1 else ""
    return f"{skipped}{timed}; operands of {bytes_cell(stored)} in place of {bytes_cell(dense)}"
