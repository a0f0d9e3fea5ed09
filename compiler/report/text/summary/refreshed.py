"""What a scratchpad of dynamic cells refreshes, as a line below the table."""

from __future__ import annotations

from npuc.compiler.report.report import Report
from npuc.compiler.report.sections import RefreshFacts
from npuc.compiler.report.text.quantities import bytes_cell, energy_text, time_text


def refreshed_text(report: Report) -> str | None:
    """The bytes that are refreshed, their energy, and what is held longest; None of a scratchpad that keeps values."""
    rows = [(row, facts) for row in report.ops if (facts := RefreshFacts.found_in(row)) is not None]
    memory = report.hardware.get("memory")
    retention = memory.get("retention_us") if isinstance(memory, dict) else None
    if not rows or not isinstance(retention, int | float):
        return None
    row, longest = max(rows, key=lambda one: one[1].held_seconds)
    held = f"{longest.held} of {row.name} is held longest, {time_text(longest.held_seconds)}"
    moved = sum(row.repeat * facts.refreshed_bytes for row, facts in rows)
    if not moved:
        return f"none: {held}, and cells keep a value for {time_text(1e-6 * retention)}"
    known = [row.repeat * facts.refresh_j for row, facts in rows if facts.refresh_j is not None]
    energy = f", {energy_text(sum(known))}" if known else ""
    return f"{bytes_cell(moved)} refreshed after {time_text(1e-6 * retention)} each{energy}; {held}"
