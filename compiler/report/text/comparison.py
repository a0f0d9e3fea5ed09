"""
Reports of several backends as one table for people: a line a layer, a column a backend, in one unit.

Below it stands what each backend says of the whole step, with what its model or its machine does not say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from npuc.compiler.report.layers import Line, by_layer, costing, folded
from npuc.compiler.report.report import Report
from npuc.compiler.report.rows import OpRow
from npuc.compiler.report.sections import ProgramFacts
from npuc.compiler.report.text.grid import Column, print_grid, print_line, print_note
from npuc.compiler.report.text.precision import precision_text
from npuc.compiler.report.text.quantities import bytes_cells, bytes_unit, energy_text, time_cells, time_text
from npuc.compiler.report.text.summary.verdict import is_training
from npuc.compiler.report.text.table import folded_note

if TYPE_CHECKING:
    from rich.console import Console

PROGRAMS = {"forward": "of the forward graph", "lowered": "of the lowered program"}


def print_comparison(reports: Sequence[Report], console: Console, *, every: bool = False) -> None:
    """Print the reports of one source side by side on a console; `every` shows each layer of a long network."""
    first = reports[0]
    what = "training step" if any(map(is_training, reports)) else "forward pass"
    name = first.network or first.source
    source = f" ({first.source})" if first.source and first.source != name else ""
    print_note(f"{name}{source}: {what}, by backend", console, style="bold")
    gathered: dict[str, Line] = {}
    for report in reports:
        for line in by_layer(report.ops):
            gathered.setdefault(line.name, Line(line.name)).rows.extend(line.rows)
    whole = costing([*gathered.values()])
    shown = whole if every else folded(whole)
    console.print()
    if shown:
        print_grid(list(_columns(reports, shown)), console, notes=[folded_note(whole, shown)])
    width = max(10, *(len(report.backend) + 2 for report in reports))
    for report in reports:
        text = f"{report.hardware.get('name', 'custom')}{precision_text(report)}: {_told(report)}"
        print_line(report.backend, text, console, width)


def _told(report: Report) -> str:
    """What a backend says of the whole step, and what it does not."""
    totals, found, missing = report.totals, list[str](), list[str]()
    moved = None if totals.dram_read_bytes is None else totals.dram_read_bytes + (totals.dram_write_bytes or 0)
    scale, unit = bytes_unit(moved or 0)
    for what, text in (
        ("time", None if totals.seconds is None else time_text(totals.seconds)),
        ("DRAM traffic", None if moved is None else f"{moved / scale:,.2f} {unit} of DRAM traffic"),
        ("energy", None if totals.energy_j is None else energy_text(totals.energy_j)),
        ("utilization", None if totals.utilization is None else f"{totals.utilization:.1%} of the peak"),
    ):
        if text is None:
            missing.append(what)
        else:
            found.append(text)
    program = ProgramFacts.found_in(report)
    text = ", ".join(found) + ("" if program is None else f", {PROGRAMS[program.program]}")
    return text + (f"; it says no {' and no '.join(missing)}" if missing else "")


def _columns(reports: Sequence[Report], lines: Sequence[Line]) -> Iterator[Column]:
    """The time of each backend, and its traffic where there is room and it says one: a line in one unit."""
    whose = {id(row): number for number, report in enumerate(reports) for row in report.ops}
    total = Line("total", rows=[row for report in reports for row in report.ops])
    split = [_split(line, whose, len(reports)) for line in (*lines, total)]
    yield Column("layer", tuple(line.label for line in lines), left=True, footer="total")
    times = [time_cells([own.seconds for own in line]) for line in split]
    moved = [bytes_cells([own.dram_bytes for own in line]) for line in split]
    for number, report in enumerate(reports):
        *cells, footer = (row[number] for row in times)
        yield Column(f"{report.backend}\ntime", tuple(cells), footer=footer)
    for number, report in enumerate(reports):
        *cells, footer = (row[number] for row in moved)
        if footer:
            yield Column(f"{report.backend}\nDRAM", tuple(cells), rank=1, footer=footer)


def _split(line: Line, whose: Mapping[int, int], count: int) -> list[Line]:
    """A line as one for each of `count` backends; `whose` says the backend of each row by its identity."""
    rows: list[list[OpRow]] = [[] for _ in range(count)]
    for row in line.rows:
        rows[whose[id(row)]].append(row)
    return [Line(line.name, line.layers, own) for own in rows]
