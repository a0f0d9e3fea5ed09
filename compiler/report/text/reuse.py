"""The savings of data reuse as a table, one line per scope, and a verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from npuc.compiler.core.units import MIB
from npuc.compiler.report.reuse import SHARES, ReuseReport
from npuc.compiler.report.text.table import UNLIMITED

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

WITHIN = "intra-layer"
FEWEST_COLUMNS = 4
"""The number of columns shown however narrow the terminal is."""
WORDS = {
    WITHIN: "operands of a contraction, read by many MACs",
    "adjacent": "what the next step reads",
    "block": "what a later step of the pass reads (shortcuts)",
    "recurrent": "weights and gradients that layers share",
    "forward-backward": "what the backward pass reads of the forward",
    "update": "weights and gradients that the optimizer reads",
    "total": "all reuse between steps",
}
"""The meaning of each scope."""


def print_reuse(report: ReuseReport, console: Console) -> None:
    """Print the savings of reuse."""
    from rich.markup import escape

    console.print(escape(title(report)), style="bold", highlight=False, soft_wrap=True)
    console.print(_fitting_table(report, console))
    for name, text in summary(report):
        console.print(f"[bold]{name:<10}[/bold]{escape(text)}", highlight=False, soft_wrap=True)


def title(report: ReuseReport) -> str:
    """The heading: network, machine, capacity."""
    network = f"{report.network} ({report.source})"
    what = "a training step" if report.training else "a forward pass"
    return f"{network}: reuse in {what} on {report.machine}, {_mib(report.capacity_bytes)} MiB of cache"


def summary(report: ReuseReport) -> Iterator[tuple[str, str]]:
    """The lines below the table, each with its name."""
    without, least, own = (_mib(n) for n in (report.without_bytes, report.compulsory_bytes, report.traffic_bytes))
    yield "traffic", f"{without} MiB without reuse between steps, {own} with this cache, {least} with any"
    yield "verdict", verdict(report)


def verdict(report: ReuseReport) -> str:
    """The scope with the largest potential, and the larger cache with the best return."""
    total, here = report.total, _mib(report.capacity_bytes)
    if not total.bytes:
        return "No step reads what another has left: there is nothing to cache."
    if total.captured_bytes == total.bytes:
        return f"A cache of {here} MiB captures all reuse between steps."
    missed = max(report.scopes, key=lambda row: row.bytes - row.captured_bytes)
    lacking = total.bytes - total.captured_bytes
    share = (missed.bytes - missed.captured_bytes) / lacking
    text = (
        f"A cache of {here} MiB captures {100 * total.captured_bytes / total.bytes:.0f}% of the reuse between steps; "
        f"{100 * share:.0f}% of what it misses is {missed.scope}"
    )
    if (whole := missed.captured_from["90"]) is not None and whole > report.capacity_bytes:
        text += f", of which {_mib(whole)} MiB capture 90%"
    if report.next is None:
        return f"{text}."
    step = report.next
    return (
        f"{text}. The larger cache that pays most is {_mib(step.capacity_bytes)} MiB: "
        f"{_mib(step.saved_bytes)} MiB less traffic ({100 * step.saved_bytes / report.traffic_bytes:.0f}%), "
        f"most of it {step.scope}."
    )


def _fitting_table(report: ReuseReport, console: Console) -> Table:
    """The table without the last columns for which the console has no room; numbers are never cut."""
    from rich.measure import Measurement

    unlimited = console.options.update(width=UNLIMITED, max_width=UNLIMITED)
    columns = list(_columns(report))
    while True:
        table = _table(report, columns)
        if Measurement.get(console, unlimited, table).maximum <= console.width or len(columns) <= FEWEST_COLUMNS:
            return table
        columns.pop()


def _columns(report: ReuseReport) -> Iterator[tuple[str, list[str]]]:
    """Headings and cells, one cell per scope; missing values are empty."""
    rows, here = report.rows, _mib(report.capacity_bytes)
    between = [row if row is not report.within and row.bytes else None for row in rows]
    yield "\nscope", [row.scope for row in rows]
    yield "saves\nMiB", [_mib(row.bytes) for row in rows]
    yield "share\n%", ["" if row is None else f"{100 * row.bytes / report.total.bytes:.1f}" for row in between]
    captured = [f"{100 * row.captured_bytes / row.bytes:.1f}" if row.bytes else "" for row in rows]
    yield f"at {here}\nMiB, %", captured
    for share in SHARES:
        found = [row.captured_from[str(share)] for row in rows]
        heading = "all" if share == 100 else f"{share}%"
        yield f"{heading} from\nMiB", ["" if capacity is None else _mib(capacity) for capacity in found]
    yield "fits in\nMiB", [_mib(row.enough_bytes) if row.bytes else "" for row in rows]
    yield "\nintervals", [f"{row.intervals:,}" for row in rows]
    yield "\nwhat it is", [WORDS[row.scope] for row in rows]


def _table(report: ReuseReport, columns: Sequence[tuple[str, list[str]]]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for number, (heading, cells) in enumerate(columns):
        right = 0 < number and cells[0] != WORDS[WITHIN]
        table.add_column(heading, justify="right" if right else "left", no_wrap=True)
    for number, row in enumerate(report.rows):
        style = "bold" if row is report.total else None if row.bytes else "dim"
        end = row is report.within or row is report.scopes[-1]
        table.add_row(*(cells[number] for _, cells in columns), style=style, end_section=end)
    return table


def _mib(size: int) -> str:
    """Bytes in MiB, with few digits."""
    value = size / MIB
    digits = 0 if value >= 100 or value == int(value) else 1 if value >= 10 else 2 if value >= 0.1 else 4
    return f"{value:,.{digits}f}" if size else "0"
