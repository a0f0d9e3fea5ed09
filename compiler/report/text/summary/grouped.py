"""The groups of layers that run by micro-batches, as lines below the table."""

from __future__ import annotations

from npuc.compiler.report.report import Report
from npuc.compiler.report.sparse import GroupFacts
from npuc.compiler.report.text.quantities import bytes_unit

SHOWN = 4
"""How many groups are named, those first that save most."""


def grouped_text(report: Report) -> str | None:
    """Which layers are one group, by which micro-batch, and what they saved; None without groups."""
    found = [(row, facts) for row in report.ops if (facts := GroupFacts.found_in(row)) is not None]
    firsts = [facts for _, facts in found if facts.group_layers is not None]
    if not firsts:
        return None
    bounds: dict[int, int] = {}
    for row, facts in found:
        bounds[facts.group] = bounds.get(facts.group, 0) + (row.lower_bound_bytes or 0)
    what = "1 group of layers runs" if len(firsts) == 1 else f"{len(firsts):,} groups of layers run"
    lines = [f"{what} by micro-batches: {len(found):,} operations, {_saved(firsts)} less traffic than by themselves"]
    most = sorted(firsts, key=lambda facts: -(facts.saved_bytes or 0))[:SHOWN]
    lines += [_group(facts, bounds[facts.group]) for facts in most]
    if len(firsts) > SHOWN:
        lines.append(f"and {len(firsts) - SHOWN:,} more (--json has all)")
    return "; ".join(lines)


def _group(facts: GroupFacts, bound: int) -> str:
    layers = facts.group_layers or []
    named = layers[0] if len(layers) == 1 else f"{layers[0]} to {layers[-1]}"
    scale, unit = bytes_unit(bound)
    least = f"its schedules move at least {bound / scale:,.2f} {unit}"
    return f"{named}: {facts.micro_batches:,} x {facts.micro_batch:,} samples, saves {_saved([facts])}, {least}"


def _saved(every: list[GroupFacts]) -> str:
    moved = sum(facts.saved_bytes or 0 for facts in every)
    scale, unit = bytes_unit(abs(moved))
    return f"{moved / scale:,.2f} {unit}"
