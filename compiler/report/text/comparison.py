"""
Reports of several backends as one table for people: a line a layer, a column a backend, in one unit.

Below it stands what each backend says of the whole step, with what its model or its machine does not say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from npuc.compiler.report.layers import Line, by_layer, costing, folded
from npuc.compiler.report.report import Report
from npuc.compiler.report.sections import ProgramFacts
from npuc.compiler.report.text.precision import precision_text
from npuc.compiler.report.text.verdict import (
    bytes_unit,
    energy_text,
    is_training,
    time_text,
    time_unit,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

PROGRAMS = {"forward": "of the forward graph", "lowered": "of the lowered program"}
WIDEST = 100_000


def print_comparison(reports: Sequence[Report], console: Console, *, every: bool = False) -> None:
    """Print the reports of one source side by side on a console; `every` shows each layer of a long network."""
    from rich.markup import escape

    first = reports[0]
    what = "training step" if any(map(is_training, reports)) else "forward pass"
    name = first.network or first.source
    source = f" ({first.source})" if first.source and first.source != name else ""
    console.print(escape(f"{name}{source}: {what}, by backend"), style="bold", highlight=False, soft_wrap=True)
    gathered: dict[str, Line] = {}
    for report in reports:
        for line in by_layer(report.ops):
            gathered.setdefault(line.name, Line(line.name)).rows.extend(line.rows)
    whole = costing([*gathered.values()])
    shown = whole if every else folded(whole)
    if shown:
        console.print(_fitting(reports, shown, console))
    if len(shown) < len(whole):
        console.print(f"{len(whole):,} layers folded into {len(shown)} lines: --rows all shows each", style="dim")
    of_all = [text for text in reports[0].warnings if all(text in report.warnings for report in reports)]
    width = max(10, *(len(report.backend) + 2 for report in reports))
    for report in reports:
        text = f"{report.hardware.get('name', 'custom')}{precision_text(report)}: {_told(report)}"
        console.print(f"[bold]{report.backend:<{width}}[/bold]{escape(text)}", highlight=False, soft_wrap=True)
        for warning in report.warnings:
            if warning not in of_all:
                console.print(f"{'':<{width}}{escape(f'warning: {warning}')}", highlight=False, soft_wrap=True)
    for warning in of_all:
        console.print(escape(f"warning: {warning}"), highlight=False, soft_wrap=True)


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


def _fitting(reports: Sequence[Report], lines: Sequence[Line], console: Console) -> Table:
    """The table with as many columns, and as many digits, as the console has room for; numbers are never cut."""
    from rich.measure import Measurement

    unlimited = console.options.update(width=WIDEST, max_width=WIDEST)
    longest = max(len(_label(line)) for line in lines)
    table = _table(reports, lines, 0, 12, traffic=False)
    for traffic, digits in ((True, 3), (True, 2), (True, 1), (False, 3), (False, 2), (False, 1), (False, 0)):
        table = _table(reports, lines, digits, longest, traffic=traffic)
        room = longest - max(0, Measurement.get(console, unlimited, table).minimum - console.width)
        if room >= min(longest, 12):
            return _table(reports, lines, digits, room, traffic=traffic)
    return table


def _table(reports: Sequence[Report], lines: Sequence[Line], digits: int, room: int, *, traffic: bool) -> Table:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    totals = [Line("total", 0, list(report.ops)) for report in reports]
    scale, unit = time_unit(max((total.seconds or 0.0 for total in totals), default=0.0))
    data = bytes_unit(max((total.dram_bytes or 0 for total in totals), default=0))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_footer=True, header_style="bold")
    table.add_column("layer", footer="total", no_wrap=True)
    rows = [list[str]() for _ in lines]
    whose = {id(row): number for number, report in enumerate(reports) for row in report.ops}

    def add(heading: str, number: int, of: Callable[[Line], float | None], size: float, places: int) -> None:
        table.add_column(heading, justify="right", footer=_number(of(totals[number]), size, places), no_wrap=True)
        for cells, line in zip(rows, lines, strict=True):
            own = [row for row in line.rows if whose[id(row)] == number]
            cells.append(_number(of(Line(line.name, line.layers, own)), size, places))

    for number, report in enumerate(reports):
        add(f"{report.backend}\n{unit}", number, lambda line: line.seconds, scale, digits)
    for number, report in enumerate(reports):
        if traffic and totals[number].dram_bytes is not None:
            heading = f"{report.backend}\nDRAM {data[1]}"
            add(heading, number, lambda line: line.dram_bytes, data[0], min(digits, 2))
    for cells, line in zip(rows, lines, strict=True):
        label = _label(line)
        table.add_row(escape(label if len(label) <= room else f"{label[: max(room - 1, 0)]}…"), *cells)
    return table


def _label(line: Line) -> str:
    return line.name if line.layers == 1 else f"{line.name} x{line.layers:,}"


def _number(value: float | None, scale: float, digits: int) -> str:
    return "" if value is None else f"{value / scale:,.{digits}f}"
