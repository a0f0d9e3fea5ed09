"""What a machine's description leaves to be derived, in one line."""

from __future__ import annotations

from npuc.compiler.report.report import Report


def derived_text(report: Report) -> str | None:
    """The derived keys of the machine with their values; None where everything was written."""
    parts: list[str] = []
    for key, how in report.derived.items():
        table, _, leaf = key.rpartition(".")
        inner = report.hardware.get(table) if table else report.hardware
        value = inner.get(leaf) if isinstance(inner, dict) else None
        shown = f"{value:,.6g}" if isinstance(value, int | float) else str(value)
        parts.append(f"{key} = {shown} ({how})")
    return "; ".join(parts) or None
