"""
A report as a table for people: a line a layer with its phases side by side, totals, bounds and a verdict.

On a terminal it is as wide as that; piped it is as wide as it needs to be and nothing is cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from npuc.compiler.report.layers import Line, by_layer, folded
from npuc.compiler.report.model import Report
from npuc.compiler.report.verdict import is_training, time_text, time_unit, verdict

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

MIB = 1 << 20
PHASES = {"forward": "forward", "dx": "dX", "dw": "dW", "dxdw": "dX+dW", "update": "update", "comm": "comm"}
LIMIT_STYLES = {"compute": "green", "dram": "yellow", "vector": "cyan", "latency": "magenta"}


def print_report(report: Report, console: Console, *, all_rows: bool = False) -> None:
    """Print the report on a console; `all_rows` shows every layer of a long network."""
    lines = by_layer(report.ops)
    shown = lines if all_rows else folded(lines)
    from rich.markup import escape

    console.print(escape(_title(report)), style="bold", highlight=False, soft_wrap=True)
    if lines:
        console.print(_table(report, shown))
    if len(shown) < len(lines):
        console.print(f"{len(lines):,} layers folded into {len(shown)} lines: --rows all shows each", style="dim")
    for name, text in _summary(report):
        console.print(f"[bold]{name:<10}[/bold]{escape(text)}", highlight=False, soft_wrap=True)


def _title(report: Report) -> str:
    what = "training step" if is_training(report) else "forward pass"
    name = report.network or report.source
    source = f" ({report.source})" if report.source and report.source != name else ""
    return f"{name}{source}: {what} on {report.hardware.get('name', 'custom')}, backend {report.backend}"


def _table(report: Report, lines: Sequence[Line]) -> Table:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    total = Line("total", 0, list(report.ops))
    phases = [phase for phase in PHASES if any(row.phase == phase for row in report.ops)]
    scale, unit = time_unit(total.seconds or 0.0)
    macs_scale, macs_unit = (1e9, "G") if total.macs >= 1e9 else (1e6, "M")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_footer=True, header_style="bold")
    table.add_column("layer", footer="total", no_wrap=True, overflow="ellipsis", min_width=12)
    timed = phases if len(phases) > 1 else []
    totals = total.phases
    for phase in timed:
        table.add_column(
            f"{PHASES[phase]}\n{unit}", justify="right", footer=_time(totals.get(phase), scale), no_wrap=True
        )
    for heading, footer in (
        (f"time\n{unit}", _time(total.seconds, scale)),
        (f"MACs\n{macs_unit}", _number(total.macs / macs_scale)),
        ("limit", total.limit or ""),
        ("DRAM\nMiB", _mib(total.dram_bytes)),
        ("util\n%", _percent(total.utilization)),
    ):
        table.add_column(heading, justify="left" if heading == "limit" else "right", footer=footer, no_wrap=True)
    for line in lines:
        times = line.phases
        limit = line.limit or ""
        style = LIMIT_STYLES.get(limit)
        table.add_row(
            escape(line.name) + (f" [dim]x{line.layers:,}[/dim]" if line.layers != 1 else ""),
            *(_time(times.get(phase), scale) for phase in timed),
            _time(line.seconds, scale),
            _number(line.macs / macs_scale) if line.macs else "",
            f"[{style}]{limit}[/{style}]" if style else limit,
            _mib(line.dram_bytes),
            _percent(line.utilization),
        )
    return table


def _time(seconds: float | None, scale: float) -> str:
    return "" if seconds is None else f"{seconds / scale:,.3f}"


def _number(value: float) -> str:
    return f"{value:,.3f}"


def _mib(value: int | None) -> str:
    return "" if value is None else f"{value / MIB:,.2f}"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f}"


def _summary(report: Report) -> Iterator[tuple[str, str]]:
    """The lines below the table: a heading and a text each."""
    totals = report.totals
    if totals.seconds:
        yield "phases", _shares(totals.seconds_by_phase, totals.seconds, PHASES)
        yield "kinds", _shares(totals.seconds_by_kind, totals.seconds, {})
    if totals.lower_bound_seconds is not None and totals.seconds is not None:
        bound = totals.lower_bound_seconds
        gap = f"; the time is {totals.seconds / bound:.2f}x that" if bound else ""
        yield "bound", f"no schedule of these operations takes less than {time_text(bound)}{gap}"
    read, written = totals.dram_read_bytes, totals.dram_write_bytes
    if read is not None and written is not None:
        text = f"{read / MIB:,.2f} MiB read, {written / MIB:,.2f} MiB written"
        if totals.lower_bound_bytes:
            least = totals.lower_bound_bytes
            text += f"; {(read + written) / least:.2f}x the least possible {least / MIB:,.2f} MiB"
        yield "traffic", text
    if totals.energy_j is not None:
        yield "energy", f"{totals.energy_j:,.4g} J"
    for warning in report.warnings:
        yield "warning", warning
    yield "verdict", verdict(report)


def _shares(times: dict[str, float | None], whole: float, names: dict[str, str]) -> str:
    parts = [
        f"{names.get(key, key)} {time_text(seconds)} ({seconds / whole:.0%})"
        for key, seconds in times.items()
        if seconds
    ]
    return ", ".join(parts)
