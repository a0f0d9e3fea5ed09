"""What a machine's description leaves to be derived, in one line."""

from __future__ import annotations

from npuc.compiler.report.report import Report

PRICED = ("energy", "area")


def derived_text(report: Report) -> str | None:
    """
    The derived keys of the machine with their values; energies and areas are counted. None where all was written.
    """
    parts: list[str] = []
    priced = sum(key.partition(".")[0] in PRICED for key in report.derived)
    for key, how in report.derived.items():
        table, _, leaf = key.rpartition(".")
        if table in PRICED:
            continue
        inner = report.hardware.get(table) if table else report.hardware
        value = inner.get(leaf) if isinstance(inner, dict) else None
        shown = f"{value:,.6g}" if isinstance(value, int | float) else str(value)
        parts.append(f"{key} = {shown} ({how})")
    if priced:
        parts.append(f"{priced} {'energies and areas' if priced > 1 else 'energy'} (npuc machine shows them)")
    return "; ".join(parts) or None
