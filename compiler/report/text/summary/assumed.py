"""What formulas say of operators without a meaning, as a line below the table: its share in the totals."""

from __future__ import annotations

import msgspec

from npuc.compiler.report.report import Report
from npuc.compiler.report.totals import OpaqueFacts

MEASURES = {
    "macs": "MACs",
    "vector_ops": "vector operations",
    "seconds": "time",
    "dram_bytes": "DRAM traffic",
    "energy_j": "energy",
}
"""The shares that are assumed, in words."""
_MOST = 6
"""The most operators that the line names."""


def assumed_text(report: Report) -> str | None:
    """The shares of the totals that are assumed, and the operators; None where nothing is."""
    found = report.totals.assumed
    if found is msgspec.UNSET:
        return None
    shares = {words: getattr(found, name) for name, words in MEASURES.items()}
    text = ", ".join(f"{share:.1%} of the {words}" for words, share in shares.items() if share)
    facts = [OpaqueFacts.found_in(row) for row in report.ops]
    operators = list(dict.fromkeys(one.operator for one in facts if one is not None))
    more = ", …" if len(operators) > _MOST else ""
    return f"{text or 'nothing'}: the cost of {', '.join(operators[:_MOST])}{more}"
