"""What memories between scratchpads and DRAM give and take, as a line below the table."""

from __future__ import annotations

from npuc.compiler.report.levels import LevelFacts
from npuc.compiler.report.report import Report
from npuc.compiler.report.text.quantities import bytes_cell, energy_text


def levels_text(report: Report) -> str | None:
    """
    The bytes that each level's inner neighbour reads and writes there, beside the lower bound, with the most that is
    held in it and its energy; None without such levels.
    """
    rows = [(row, facts) for row in report.ops if (facts := LevelFacts.found_in(row)) is not None]
    if not rows:
        return None
    parts: list[str] = []
    for number, name in enumerate(rows[0][1].levels):
        read = sum(row.repeat * facts.level_read_bytes[number] for row, facts in rows)
        written = sum(row.repeat * facts.level_write_bytes[number] for row, facts in rows)
        bound = sum(row.repeat * facts.level_bound_bytes[number] for row, facts in rows)
        held = max(facts.level_held_bytes[number] for _, facts in rows)
        text = f"{name}: {bytes_cell(read)} read, {bytes_cell(written)} written"
        text += f"; {(read + written) / bound:.2f}x the lower bound" if bound else ""
        text += f"; holds up to {bytes_cell(held)}"
        joules = [row.repeat * facts.level_j[number] for row, facts in rows if facts.level_j is not None]
        parts.append(text + (f"; {energy_text(sum(joules))}" if joules else ""))
    return ". ".join(parts)
