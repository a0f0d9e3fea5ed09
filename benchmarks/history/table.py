"""What was measured, as a trend on the terminal and as the table of docs/performance.md."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.history.cases import CASES, Case

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
SHOWN = 5
"""The last measurements of a case that a trend shows."""


@dataclass(frozen=True)
class Entry:
    """
    A case as it was measured once: CPU seconds here, of the yardstick beside it, and of the machine of the goals.
    """

    case: str
    revision: str
    date: str
    python: str
    numpy: str
    rounds: int
    cpu: float
    yardstick: float
    reference: float
    peak_mb: float


def read(path: Path) -> list[Entry]:
    """All that a history has, the oldest first; a line that a killed run left half-written is passed over."""
    entries: list[Entry] = []
    for text in path.read_text().splitlines() if path.exists() else []:
        try:
            entries.append(Entry(**json.loads(text)))
        except (ValueError, TypeError):
            continue
    return entries


def line(entry: Entry) -> str:
    """One measurement."""
    ratio = entry.cpu / entry.yardstick
    return (
        f"{entry.case:16} {seconds(entry.cpu):>9} s here, {ratio:8.3f} times the yardstick, "
        f"{seconds(entry.reference):>9} s at reference, {entry.peak_mb:6.0f} MB"
    )


def trend(entries: Sequence[Entry], cases: Sequence[str]) -> str:
    """The last measurements of each case, in seconds of the machine of the goals, and the goal."""
    lines = [f"{'case':16} {'goal':>8}  seconds at reference, the latest last"]
    for case in CASES:
        found = [entry for entry in entries if entry.case == case.name][-SHOWN:]
        if case.name not in cases or not found:
            continue
        goal = "" if case.goal is None else seconds(case.goal)
        lines.append(f"{case.name:16} {goal:>8}  {'  '.join(seconds(entry.reference) for entry in found)}")
    return "\n".join(lines)


def write_page(path: Path, entries: Sequence[Entry]) -> None:
    """Write the table into a page, between its two marks."""
    text = path.read_text()
    head, rest = text.split(BEGIN)
    _, tail = rest.split(END)
    path.write_text(f"{head}{BEGIN}\n\n{page_table(entries)}\n\n{END}{tail}")


def page_table(entries: Sequence[Entry]) -> str:
    """The last measurement of each case in Markdown."""
    rows = ["| what | seconds | goal | beside the goal | MB |", "|---|---:|---:|---:|---:|"]
    for case in CASES:
        found = [entry for entry in entries if entry.case == case.name]
        if found:
            rows.append(_row(case, found[-1]))
    return "\n".join(rows)


def _row(case: Case, entry: Entry) -> str:
    goal = "" if case.goal is None else seconds(case.goal)
    beside = "" if case.goal is None else f"{entry.reference / case.goal:.2g} times"
    return f"| {case.what} | {seconds(entry.reference)} | {goal} | {beside} | {entry.peak_mb:.0f} |"


def seconds(value: float) -> str:
    """Seconds with two significant digits, or whole ones."""
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"
