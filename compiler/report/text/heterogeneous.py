"""A plan of unequal shares as text: types and shares of each layer, and the time of each pair and its sides."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from npuc.compiler.report.heterogeneous import HeterogeneousReport
from npuc.compiler.report.layers import MOST_LINES
from npuc.compiler.report.numbered import name_of_all, template
from npuc.compiler.report.parallel import Parallel, ParallelPair
from npuc.compiler.report.text.grid import Column, columns_of, print_grid, print_note
from npuc.compiler.report.text.plan_lines import PlanRows
from npuc.compiler.report.text.quantities import time_text
from npuc.compiler.report.text.sharding import short_amount

if TYPE_CHECKING:
    from rich.console import Console


def print_heterogeneous(report: HeterogeneousReport, console: Console, *, rows: PlanRows = "folded") -> None:
    """Print groups, layers and pairs. Layers of a long network that read alike are one line, unless `rows` is all."""
    _print_heading(report, console)
    print_grid(_groups(report), console, gap=2)
    note = "a number is the share of the first side; else both have as much"
    print_grid(_layers(report, rows), console, gap=2, notes=[note])
    print_grid(_pairs(report.parallel), console, gap=2, notes=["a pair's time has no movement but its own"], last=True)


def _print_heading(report: HeterogeneousReport, console: Console) -> None:
    plan = report.parallel
    groups = "1 group" if len(report.groups) == 1 else f"{len(report.groups):,} groups"
    by = f"{plan.devices:,} devices in {groups} by {plan.strategy}, movement counted as {plan.convention}"
    seconds = plan.seconds or 0.0
    others = (
        ("in equal shares", report.equal_seconds),
        ("by data parallelism in equal shares", report.data_parallel_seconds),
    )
    text = "; ".join(f"{what} {time_text(time)} ({time / seconds:.2f} times that)" for what, time in others)
    print_note(f"{report.network} ({report.source}): {by}", console, style="bold")
    print_note(f"a step takes {time_text(seconds)}; {text}", console, style="")
    console.print()


def _groups(report: HeterogeneousReport) -> list[Column]:
    rows = [["group", "devices", "TFLOPS of one", "GB/s of one"]]
    for number, group in enumerate(report.groups):
        rows.append([str(number), f"{group.devices:,}", f"{group.tflops:,g}", f"{group.gb_per_s:,g}"])
    return columns_of(rows, left=())


def _layers(report: HeterogeneousReport, rows: PlanRows) -> list[Column]:
    columns = _columns(report.parallel)
    cells = {name: tuple(_cell(pair, name) for _, pair in columns) for name in report.layers}
    alike: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    folded = rows != "all" and len(cells) > MOST_LINES
    for name, own in cells.items():
        alike.setdefault((template(name) if folded else name, own), []).append(name)
    table = [["layer", *(title for title, _ in columns)]]
    for (_, own), names in alike.items():
        count = "" if len(names) == 1 else f" x{len(names):,}"
        table.append([name_of_all(names) + count, *own])
    return columns_of(table, left=range(len(table[0])))


def _columns(plan: Parallel) -> list[tuple[str, ParallelPair]]:
    """A column, with its title, for all pairs of a level with the same split."""
    found: list[tuple[str, ParallelPair]] = []
    for level in plan.levels:
        alike: dict[tuple[tuple[str, ...], tuple[str, ...]], list[ParallelPair]] = {}
        for pair in level.pairs or []:
            alike.setdefault((tuple(pair.choices.values()), tuple(pair.shares.values())), []).append(pair)
        for pairs in alike.values():
            groups = "" if len(alike) == 1 else " " + ",".join(map(_range, pairs))
            found.append((level.level + groups, pairs[0]))
    return found


def _range(pair: ParallelPair) -> str:
    first, last = pair.groups
    return str(first) if first == last else f"{first}-{last}"


def _cell(pair: ParallelPair, name: str) -> str:
    """The type, and the share where it is not one half."""
    share = pair.shares.get(name)
    shared = share is not None and pair.groups[0] != pair.groups[1]
    return f"{pair.choices[name]} {float(Fraction(share)):.3g}" if share is not None and shared else pair.choices[name]


def _pairs(plan: Parallel) -> list[Column]:
    rows: list[Sequence[str]] = [["level", "groups", "pairs", "elements", "time", "first side", "second side"]]
    for level in plan.levels:
        for pair in level.pairs or []:
            times = [time_text(seconds) for seconds in (pair.seconds, *pair.side_seconds)]
            rows.append([level.level, _range(pair), f"{pair.count:,}", short_amount(Fraction(pair.elements)), *times])
    return columns_of(rows, left=(0, 1), ranks={2: 2, 3: 2, 5: 1, 6: 1})
