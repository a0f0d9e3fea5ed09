"""The groups of layers that run by micro-batches, as a line below the table."""

from __future__ import annotations

from npuc.compiler.report.groups import layer_groups
from npuc.compiler.report.report import Report
from npuc.compiler.report.text.quantities import bytes_unit, time_text


def grouped_text(report: Report) -> str | None:
    """How many groups there are, of how many operations, and what they save; None without groups."""
    groups = layer_groups(report)
    if not groups:
        return None
    what = "1 group of layers runs" if len(groups) == 1 else f"{len(groups):,} groups of layers run"
    inside = sum(len(group.rows) for group in groups)
    text = f"{what} by micro-batches: {inside:,} of {len(report.ops):,} operations"
    if any(group.saved_bytes is None or group.saved_seconds is None for group in groups):
        return text
    saved, seconds = (
        sum(group.saved_bytes or 0 for group in groups),
        sum(group.saved_seconds or 0.0 for group in groups),
    )
    text += f", {_less(time_text(abs(seconds)), seconds)} and {_less(_bytes(abs(saved)), saved)} than by themselves"
    bounds = [group.bound_bytes for group in groups]
    least, moved = sum(bound or 0 for bound in bounds), sum(group.dram_bytes for group in groups)
    if least and None not in bounds:
        text += f"; they move {moved / least:.2f}x what enters, what leaves and weights once, {_bytes(least)}"
    return text


def _less(amount: str, saved: float) -> str:
    return f"{amount} {'more' if saved < 0 else 'less'}"


def _bytes(size: int) -> str:
    scale, unit = bytes_unit(size)
    return f"{size / scale:,.2f} {unit}"
