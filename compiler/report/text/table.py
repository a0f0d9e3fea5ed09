"""
A report as a text table: one line per layer with its phases side by side, totals, bounds and a verdict.

On a terminal it takes the terminal's width, elsewhere that of COLUMNS; piped without it, it has all columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from npuc.compiler.report.layers import Line, by_layer, costing, folded, passes_of
from npuc.compiler.report.report import Report
from npuc.compiler.report.sections import PassFacts
from npuc.compiler.report.text.cores import print_cores
from npuc.compiler.report.text.grid import Column, print_grid, print_line, print_note
from npuc.compiler.report.text.groups import print_groups
from npuc.compiler.report.text.precision import precision_text
from npuc.compiler.report.text.quantities import bytes_cell, count_cell, percent_cell, time_cell
from npuc.compiler.report.text.sharding import print_parallel
from npuc.compiler.report.text.summary.certified import gap_text
from npuc.compiler.report.text.summary.lines import summary
from npuc.compiler.report.text.summary.verdict import is_training
from npuc.compiler.report.text.words import PHASES, PLAIN, Words

if TYPE_CHECKING:
    from rich.console import Console

Rows = Literal["folded", "all", "cores"]
"""The rows of the table: long networks folded by block, every layer, or folded, followed by each core's share."""
LIMIT_STYLES = {"compute": "green", "dram": "yellow", "vector": "cyan", "latency": "magenta"}
BACKWARD = ("dx", "dw", "dxdw")
SMALL = 0.01
"""Times of less than this share of the whole are dim."""


def print_report(report: Report, console: Console, *, rows: Rows = "folded", words: Words = PLAIN) -> None:
    """
    Print the report on a console; `rows` all shows every layer of a long network, cores also one line per core.

    `words` are those of its backend.
    """
    lines = costing(by_layer(report.ops))
    shown = lines if rows == "all" else folded(lines)
    print_note(_title(report), console, style="bold")
    console.print()
    if lines:
        print_grid(list(_columns(report, shown)), console, notes=[folded_note(lines, shown)])
    print_groups(report, console, every=rows == "all")
    if rows == "cores":
        print_cores(report, console)
    if report.parallel is not None:
        print_parallel(report.parallel, console)
    for name, text in summary(report, words):
        print_line(name, text, console)


def folded_note(lines: Sequence[Line], shown: Sequence[Line]) -> str:
    """What lines of several layers are; empty if there are none."""
    if len(shown) == len(lines):
        return ""
    equal = next((line for line in shown if line.count > 1), None)
    several = next((line for line in shown if line.layers > line.count and not line.rest), None)
    meant = [] if equal is None else [f"x{equal.count:,} of {equal.count:,} equal lines"]
    if several is not None:
        each = several.layers // several.count
        meant.append(f"({each:,}) of {each:,} layers")
    return f"{len(lines):,} layers in {len(shown)} lines; sums: {', '.join(meant)}; --rows all shows each"


def _title(report: Report) -> str:
    what = "training step" if is_training(report) else "forward pass"
    name = report.network or report.source
    source = f" ({report.source})" if report.source and report.source != name else ""
    on = f"{what} on {report.hardware.get('name', 'custom')}, backend {report.backend}"
    return f"{name}{source}: {on}{precision_text(report)}"


def _columns(report: Report, lines: Sequence[Line]) -> Iterator[Column]:
    """
    The columns of the table. Time is always there; then in this order, as far as there is room: the phases (forward,
    backward and update where there is none for all), limit, utilization, DRAM, share of the time, MACs, gap.
    """
    total = Line("total", 0, list(report.ops))

    def column(heading: str, text: Callable[[Line], str], rank: int) -> Column:
        return Column(heading, tuple(map(text, lines)), rank=rank, footer=text(total))

    yield replace(column("layer", lambda line: line.label, 0), left=True, footer="total")
    yield from _phases(lines, total)
    yield column("time", lambda line: time_cell(line.seconds), 0)
    whole = total.seconds
    if whole:
        yield column("time\n%", lambda line: percent_cell((line.seconds or 0.0) / whole), 6)
    limits = column("limit", lambda line: line.limit or "", 3)
    yield replace(limits, left=True, styles=tuple(LIMIT_STYLES.get(cell, "") for cell in limits.cells))
    yield column("MACs", lambda line: count_cell(line.macs or None), 7)
    if any(PassFacts.found_in(row) for row in report.ops):
        yield column("passes", _passes, 9)
    if total.dram_bytes is not None:
        yield column("DRAM", lambda line: bytes_cell(line.dram_bytes), 5)
    if report.certificates:
        known = {one.layer: one for one in report.certificates}
        yield column("gap\n%", lambda line: gap_text(known[name] for name in line.names if name in known), 8)
    yield column("util\n%", lambda line: percent_cell(line.utilization), 4)


def _passes(line: Line) -> str:
    """The passes of a MAC through a multiplier, on average."""
    macs = sum(row.repeat * (row.macs or 0) for row in line.rows)
    return f"{sum(row.repeat * passes_of(row) for row in line.rows) / macs:.4g}" if macs else ""


def _phases(lines: Sequence[Line], total: Line) -> Iterator[Column]:
    """The time of each phase, or, where there is less room, of the forward and backward passes and the update."""
    present = {row.phase for line in lines for row in line.rows if row.macs or row.seconds is not None}
    phases = [phase for phase in PHASES if phase in present]
    if len(phases) < 2:
        return

    known, whole, least = [line.phases for line in lines], total.phases, SMALL * (total.seconds or 0.0)

    def column(heading: str, of: Sequence[str], rank: int, instead: int | None = None) -> Column:
        def text(of_phases: Mapping[str, float]) -> str:
            times = [time for phase, time in of_phases.items() if phase in of]
            return time_cell(sum(times)) if times else ""

        cells = tuple(map(text, known))
        dim = [sum(one.get(phase, 0.0) for phase in of) < least for one in known]
        styles = tuple("dim" if small else "" for small in dim)
        return Column(heading, cells, rank=rank, footer=text(whole), styles=styles, instead=instead)

    for phase in phases:
        yield column(PHASES[phase], [phase], 1)
    backward = [phase for phase in phases if phase in BACKWARD]
    if len(backward) > 1:
        for phase in phases:
            if phase not in BACKWARD:
                yield column(PHASES[phase], [phase], 2, instead=1)
            elif phase == backward[0]:
                yield column("backward", backward, 2, instead=1)
