"""The work of each core of a chip as a text table: one line per core and operation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from npuc.compiler.report.report import Report
from npuc.compiler.report.rows import OpRow
from npuc.compiler.report.sections import CoreFacts
from npuc.compiler.report.text.grid import columns_of, print_grid

if TYPE_CHECKING:
    from rich.console import Console

HEADINGS = ("layer", "phase", "cut", "core", "cycles", "array\ncycles", "read\nbytes", "written\nbytes", "busy\n%")
RANKS = {2: 3, 5: 1, 6: 2, 7: 2, 8: 1}
NAMES = 3
"""So many columns are of names, the others of numbers."""


def print_cores(report: Report, console: Console) -> None:
    """Print the table; nothing for a report without cores."""
    rows: list[tuple[str, ...]] = []
    for row in report.ops:
        facts = CoreFacts.found_in(row)
        if facts is None:
            continue
        partition = None if row.schedule is None else row.schedule.partition
        cut = str(partition) if partition is not None and partition.over == "cores" else "-"
        for number, cells in enumerate(_cells(row, facts)):
            names = ("", "", "") if number else (row.name or row.op, row.phase, cut)
            rows.append((*names, str(number), *cells))
    if rows:
        print_grid(columns_of([HEADINGS, *rows], left=range(NAMES), ranks=RANKS), console)


def has_cores(report: Report) -> bool:
    """Whether a report has figures of single cores."""
    return any(CoreFacts.found_in(row) is not None for row in report.ops)


def _cells(row: OpRow, facts: CoreFacts) -> Iterator[tuple[str, ...]]:
    """The numbers of each core; busy is the share of the operation's time in which its array works."""
    moved = zip(facts.core_read_bytes, facts.core_write_bytes, strict=True)
    for cycles, work, both in zip(facts.core_cycles, facts.core_compute_cycles, moved, strict=True):
        busy = work / row.cycles if row.cycles else 0.0
        yield (*(f"{n:,}" for n in (cycles, work, *both)), f"{100 * busy:.1f}")


def load_balance(report: Report) -> float | None:
    """The work of all arrays over what they could do in the busiest array's time; None without cores."""
    done = possible = 0.0
    for row in report.ops:
        facts = CoreFacts.found_in(row)
        if facts is not None and facts.load_balance:
            total = sum(facts.core_compute_cycles)
            done += row.repeat * total
            possible += row.repeat * total / facts.load_balance
    return done / possible if possible else None
