"""The savings of contractions that run together against the sequential program, as a line below the table."""

from __future__ import annotations

from collections.abc import Mapping

from npuc.compiler.report.numbered import name_of_all, template
from npuc.compiler.report.report import Report
from npuc.compiler.report.sections import InterleavingFacts
from npuc.compiler.report.text.quantities import bytes_unit, time_text

SHOWN = 3
"""The layers that the line names."""


def interleaving_text(report: Report) -> str | None:
    """
    The time and traffic that interleaving saves, in all and in the layers that save most; None where nothing runs
    together. Beside a sequential program that was searched quickly the time is at most so much.
    """
    saved: dict[str, int] = {}
    moved = before = 0
    bounds = False
    for row in report.ops:
        facts = InterleavingFacts.found_in(row)
        if facts is not None:
            saved[row.name] = saved.get(row.name, 0) + row.repeat * (facts.sequential_cycles - facts.together_cycles)
            moved += row.repeat * (facts.sequential_bytes - facts.together_bytes)
            before += row.repeat * facts.sequential_cycles
            bounds |= facts.saving_is_bound
    if not saved:
        return None
    gained = sum(saved.values())
    seconds = (report.totals.seconds or 0.0) / (report.totals.cycles or 1)
    scale, unit = bytes_unit(abs(moved))
    most = ("at most " if gained >= 0 else "at least ") if bounds else ""
    time = f"{most}{time_text(abs(gained) * seconds)} ({abs(gained) / max(before, 1):.1%}) {_than(gained)}"
    layers = "the contractions of 1 layer" if len(saved) == 1 else f"the contractions of {len(saved):,} layers"
    text = f"{layers}: {time} and {abs(moved) / scale:,.2f} {unit} {_than(moved)} than one after another"
    text += ", searched quickly" if bounds else ""
    largest = _most(saved)
    if len(saved) > 1 and largest:
        text += "; most by " + ", ".join(
            f"{name_of_all(names)} {time_text(cycles * seconds)}{' each' if len(names) > 1 else ''}"
            for names, cycles in largest
        )
    return text


def _most(saved: Mapping[str, int]) -> list[tuple[list[str], int]]:
    """The layers that save most; equal ones whose names differ in numbers are one."""
    alike: dict[tuple[int, str], list[str]] = {}
    for name, cycles in saved.items():
        if cycles > 0:
            alike.setdefault((-cycles, template(name)), []).append(name)
    return [(names, -cycles) for (cycles, _), names in sorted(alike.items())[:SHOWN]]


def _than(saved: int) -> str:
    return "less" if saved >= 0 else "more"
