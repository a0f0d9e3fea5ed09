"""What each core of a chip does, as a table for people: a line a core and operation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from npuc.compiler.report.report import Report
from npuc.compiler.report.rows import OpRow

if TYPE_CHECKING:
    from rich.console import Console

COLUMNS = {
    "cycles": "core_cycles",
    "array\ncycles": "core_compute_cycles",
    "read\nbytes": "core_read_bytes",
    "written\nbytes": "core_write_bytes",
}


def print_cores(report: Report, console: Console) -> None:
    """Print the table; nothing for a report without cores."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    rows = [row for row in report.ops if "core_cycles" in row.native]
    if not rows:
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for heading in ("layer", "phase", "cut"):
        table.add_column(heading, no_wrap=True)
    for heading in ("core", *COLUMNS, "busy\n%"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        for number, cells in enumerate(_cells(row)):
            partition = None if row.schedule is None else row.schedule.partition
            cut = str(partition) if partition is not None and partition.over == "cores" else "-"
            names = ("", "", "") if number else (escape(row.name or row.op), row.phase, cut)
            table.add_row(*names, str(number), *cells)
    console.print(table)


def _cells(row: OpRow) -> Iterator[tuple[str, ...]]:
    """The numbers of each core; busy is the share of the operation's time in which its array works."""
    lists = [values for key in COLUMNS.values() if isinstance(values := row.native[key], list)]
    for cycles, work, *moved in zip(*lists, strict=True):
        assert isinstance(work, int)
        busy = work / row.cycles if row.cycles else 0.0
        yield (*(f"{n:,}" for n in (cycles, work, *moved)), f"{100 * busy:.1f}")


def load_balance(report: Report) -> float | None:
    """The work of all arrays over what they could do while the busiest works; None without cores."""
    done = possible = 0.0
    for row in report.ops:
        work, balance = row.native.get("core_compute_cycles"), row.native.get("load_balance")
        if isinstance(work, list) and isinstance(balance, float) and balance:
            total = sum(n for n in work if isinstance(n, int))
            done += row.repeat * total
            possible += row.repeat * total / balance
    return done / possible if possible else None
