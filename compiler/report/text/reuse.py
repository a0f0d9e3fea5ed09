"""The savings of data reuse as a table, one line per scope, and a verdict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from npuc.compiler.core.units import MIB
from npuc.compiler.report.reuse import SHARES, ReuseReport
from npuc.compiler.report.text.grid import Column, print_grid, print_line, print_note

if TYPE_CHECKING:
    from rich.console import Console

WITHIN = "intra-layer"
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
    print_note(title(report), console, style="bold")
    console.print()
    styles = ["bold" if row is report.total else "" if row.bytes else "dim" for row in report.rows]
    ends = [n for n, row in enumerate(report.rows) if row is report.within or row is report.scopes[-1]]
    print_grid(list(_columns(report)), console, gap=2, styles=styles, rules=ends)
    for name, text in summary(report):
        print_line(name, text, console)


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


def _columns(report: ReuseReport) -> Iterator[Column]:
    """A cell per scope; missing values are empty. Without room, those of the highest rank go first."""
    rows, here = report.rows, _mib(report.capacity_bytes)
    between = [row if row is not report.within and row.bytes else None for row in rows]

    def column(heading: str, cells: Iterable[str], rank: int) -> Column:
        return Column(heading, tuple(cells), rank=rank)

    yield Column("scope", tuple(row.scope for row in rows), left=True)
    yield column("saves\nMiB", (_mib(row.bytes) for row in rows), 0)
    yield column("share\n%", ("" if r is None else f"{100 * r.bytes / report.total.bytes:.1f}" for r in between), 0)
    captured = (f"{100 * row.captured_bytes / row.bytes:.1f}" if row.bytes else "" for row in rows)
    yield column(f"at {here}\nMiB, %", captured, 0)
    for number, share in enumerate(SHARES):
        found = [row.captured_from[str(share)] for row in rows]
        heading = "all" if share == 100 else f"{share}%"
        cells = ("" if capacity is None else _mib(capacity) for capacity in found)
        yield column(f"{heading} from\nMiB", cells, 1 + number)
    later = 1 + len(SHARES)
    yield column("fits in\nMiB", (_mib(row.enough_bytes) if row.bytes else "" for row in rows), later)
    yield column("intervals", (f"{row.intervals:,}" for row in rows), later + 1)
    yield Column("what it is", tuple(WORDS[row.scope] for row in rows), left=True, rank=later + 2)


def _mib(size: int) -> str:
    """Bytes in MiB, with few digits."""
    value = size / MIB
    digits = 0 if value >= 100 or value == int(value) else 1 if value >= 10 else 2 if value >= 0.1 else 4
    return f"{value:,.{digits}f}" if size else "0"
