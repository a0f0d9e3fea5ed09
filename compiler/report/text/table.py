"""
A report as a text table: one line per layer with its phases side by side, totals, bounds and a verdict.

On a terminal it takes the terminal's width; piped it is as wide as it needs to be and nothing is cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from npuc.compiler.report.certificates import LayerCertificate
from npuc.compiler.report.layers import Line, by_layer, costing, folded
from npuc.compiler.report.report import Report
from npuc.compiler.report.text.certified import certified_text, gap_text
from npuc.compiler.report.text.cores import load_balance, print_cores
from npuc.compiler.report.text.fused import fused_text
from npuc.compiler.report.text.interleaving import interleaving_text
from npuc.compiler.report.text.iteration import iteration_text, nearness_text
from npuc.compiler.report.text.memory import memory_text
from npuc.compiler.report.text.precision import precision_text
from npuc.compiler.report.text.recomputed import again_text
from npuc.compiler.report.text.resident import resident_text
from npuc.compiler.report.text.sharding import overlap_text, print_parallel, sums_text
from npuc.compiler.report.text.verdict import (
    MAC_UNITS,
    bound_holds,
    bytes_unit,
    energy_text,
    is_training,
    time_text,
    time_unit,
    verdict,
)
from npuc.compiler.report.text.words import PLAIN, Words

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

Rows = Literal["folded", "all", "cores"]
"""The rows of the table: long networks folded by block, every layer, or folded, followed by each core's share."""
UNLIMITED = 100_000
NARROWEST = 12
PHASES = {"forward": "forward", "dx": "dX", "dw": "dW", "dxdw": "dX+dW", "update": "update", "comm": "comm"}
LIMIT_STYLES = {"compute": "green", "dram": "yellow", "vector": "cyan", "latency": "magenta"}


def print_report(report: Report, console: Console, *, rows: Rows = "folded", words: Words = PLAIN) -> None:
    """
    Print the report on a console; `rows` all shows every layer of a long network, cores also one line per core.

    `words` are those of its backend.
    """
    from rich.markup import escape

    lines = costing(by_layer(report.ops))
    shown = lines if rows == "all" else folded(lines)
    console.print(escape(_title(report)), style="bold", highlight=False, soft_wrap=True)
    if lines:
        console.print(_fitting_table(report, shown, console))
    if len(shown) < len(lines):
        console.print(f"{len(lines):,} layers folded into {len(shown)} lines: --rows all shows each", style="dim")
    if rows == "cores":
        print_cores(report, console)
    if report.parallel is not None:
        print_parallel(report.parallel, console)
    for name, text in _summary(report, words):
        console.print(f"[bold]{name:<10}[/bold]{escape(text)}", highlight=False, soft_wrap=True)


def _title(report: Report) -> str:
    what = "training step" if is_training(report) else "forward pass"
    name = report.network or report.source
    source = f" ({report.source})" if report.source and report.source != name else ""
    on = f"{what} on {report.hardware.get('name', 'custom')}, backend {report.backend}"
    return f"{name}{source}: {on}{precision_text(report)}"


def _fitting_table(report: Report, lines: Sequence[Line], console: Console) -> Table:
    """
    The table with as many digits as the console has room for, without gaps where it has none for these.

    Names may be cut to fit, numbers never.
    """
    from rich.measure import Measurement

    unlimited = console.options.update(width=UNLIMITED, max_width=UNLIMITED)
    longest = max(len(_label(line)) for line in lines)
    for gaps in [True, False] if report.certificates else [False]:
        for digits in (3, 2, 1, 0):
            needed = Measurement.get(console, unlimited, _table(report, lines, digits, longest, gaps=gaps)).minimum
            room = longest - max(0, needed - console.width)
            if room >= min(longest, NARROWEST):
                return _table(report, lines, digits, room, gaps=gaps)
    return _table(report, lines, 0, NARROWEST, gaps=False)


def _label(line: Line) -> str:
    """The name of a line, with the number of layers folded into it."""
    return line.name if line.layers == 1 else f"{line.name} x{line.layers:,}"


def _clipped(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: max(room - 1, 0)]}…"


def _table(report: Report, lines: Sequence[Line], digits: int, room: int, *, gaps: bool) -> Table:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    total = Line("total", 0, list(report.ops))
    present = {row.phase for line in lines for row in line.rows if row.macs or row.seconds is not None}
    phases = [phase for phase in PHASES if phase in present] if len(present) > 1 else []
    scale, unit = time_unit(total.seconds or 0.0)
    macs = next((unit for unit in MAC_UNITS if total.macs >= unit[0]), MAC_UNITS[-1])
    data = bytes_unit(total.dram_bytes or 0)
    moved = total.dram_bytes is not None
    headings = [
        *(f"{PHASES[phase]}\n{unit}" for phase in phases),
        f"time\n{unit}",
        f"MACs\n{macs[1] or ' '}",
        "limit",
        *([f"DRAM\n{data[1]}"] if moved else []),
        *(["gap\n%"] if gaps else []),
        "util\n%",
    ]
    known = {one.layer: one for one in (report.certificates or ()) if gaps}
    scales = (scale, macs[0], data[0] if moved else None)
    rows = [_cells(line, phases, scales, digits, known) for line in (*lines, total)]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_footer=True, header_style="bold")
    table.add_column("layer", footer="total", no_wrap=True)
    for number, heading in enumerate(headings):
        side = "left" if heading == "limit" else "right"
        table.add_column(heading, justify=side, footer=rows[-1][number], no_wrap=True)
    for line, cells in zip(lines, rows, strict=False):
        limit = headings.index("limit")
        style = LIMIT_STYLES.get(cells[limit])
        cells[limit] = f"[{style}]{cells[limit]}[/{style}]" if style else escape(cells[limit])
        table.add_row(escape(_clipped(_label(line), room)), *cells)
    return table


def _cells(
    line: Line,
    phases: Sequence[str],
    scales: tuple[float, float, float | None],
    digits: int,
    certificates: Mapping[str, LayerCertificate],
) -> list[str]:
    """The cells of a line after the name; `scales` are the units of times, MACs and bytes, if any are known."""
    scale, macs, data = scales
    certified = [certificates[name] for name in dict.fromkeys(row.name for row in line.rows) if name in certificates]
    times = line.phases
    return [
        *(_number(times.get(phase), scale, digits) for phase in phases),
        _number(line.seconds, scale, digits),
        _number(line.macs or None, macs, digits),
        line.limit or "",
        *([] if data is None else [_number(line.dram_bytes, data, min(digits, 2))]),
        *([gap_text(certified)] if certificates else []),
        _number(line.utilization, 0.01, 1),
    ]


def _number(value: float | None, scale: float, digits: int) -> str:
    return "" if value is None else f"{value / scale:,.{digits}f}"


def _summary(report: Report, words: Words) -> Iterator[tuple[str, str]]:
    """The lines below the table: a heading and a text each."""
    totals = report.totals
    if totals.seconds:
        yield "phases", _shares(totals.seconds_by_phase, totals.seconds, PHASES)
        yield "kinds", _shares(totals.seconds_by_kind, totals.seconds, {})
    if totals.lower_bound_seconds is not None and totals.seconds is not None:
        bound = totals.lower_bound_seconds
        gap = f"; this one takes {totals.seconds / bound:.2f}x that" if bound else ""
        yield "bound", f"no schedule takes less than {time_text(bound)} {bound_holds(report, words)}{gap}"
    read, written = totals.dram_read_bytes, totals.dram_write_bytes
    if read is not None and written is not None:
        scale, unit = bytes_unit(read + written)
        text = f"{read / scale:,.2f} {unit} read, {written / scale:,.2f} {unit} written"
        if totals.lower_bound_bytes:
            least = totals.lower_bound_bytes
            text += f"; {(read + written) / least:.2f}x the lower bound {bound_holds(report, words)}, "
            text += f"{least / scale:,.2f} {unit}"
        yield "traffic", text
    overlap = overlap_text(report)
    if overlap is not None:
        yield "network", overlap
    sums = sums_text(report)
    if sums is not None:
        yield "sums", sums
    if report.memory is not None:
        yield "memory", memory_text(report.memory, report.totals)
    again = again_text(report)
    if again is not None:
        yield "recompute", again
    certified = certified_text(report)
    if certified is not None:
        yield "optimal", certified
    interleaving = interleaving_text(report)
    if interleaving is not None:
        yield "together", interleaving
    fused = fused_text(report)
    if fused is not None:
        yield "fused", fused
    iteration = iteration_text(report)
    if iteration is not None:
        yield "iteration", iteration
    nearness = nearness_text(report)
    if nearness is not None:
        yield "gap", nearness
    resident = resident_text(report)
    if resident is not None:
        yield "resident", resident
    balance = load_balance(report)
    if balance is not None:
        yield "cores", f"load balance {balance:.1%}: the mean work of the cores' arrays over that of the busiest"
    if totals.energy_j is not None:
        yield "energy", energy_text(totals.energy_j)
    for warning in report.warnings:
        yield "warning", warning
    yield "verdict", verdict(report, words)


def _shares(times: dict[str, float | None], whole: float, names: dict[str, str]) -> str:
    parts = [
        f"{names.get(key, key)} {time_text(seconds)} ({seconds / whole:.0%})"
        for key, seconds in times.items()
        if seconds
    ]
    return ", ".join(parts)
