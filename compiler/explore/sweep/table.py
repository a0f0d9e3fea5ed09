"""
A sweep as text: a table with one line per point and its main totals, its rank, and a verdict.

Many points fold: a line is then the best of those that differ in the last keys alone, and of a single long key evenly
spaced values are shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from msgspec import UNSET

from npuc.compiler.explore.plot.pipelines import short_pipelines
from npuc.compiler.explore.sweep.compare import ENERGY, MEMORY, TIME, TRAFFIC, Comparison, Quantity, axis_names, compare
from npuc.compiler.explore.sweep.front import Front, front_notes
from npuc.compiler.explore.sweep.grid import Grid
from npuc.compiler.explore.sweep.messages import point_text
from npuc.compiler.report.layers import MOST_LINES
from npuc.compiler.report.text.grid import Column, print_grid, print_line, print_note
from npuc.compiler.report.text.quantities import MAC_UNITS, percent_cell

if TYPE_CHECKING:
    from rich.console import Console

    from npuc.compiler.report import Totals

SweepRows = Literal["folded", "all"]
"""What the table shows: many points folded, or every point."""


RANKS = {TRAFFIC: 1, MEMORY: 2, ENERGY: 5}
"""Where there is no room, energy goes first and traffic last."""
HEADINGS = {TRAFFIC: "DRAM", MEMORY: "peak"}


def print_sweep(
    title: str, comparison: Comparison, console: Console, *, rows: SweepRows = "folded", backend: str
) -> None:
    """Print the points of a sweep with a verdict."""
    grid = comparison.grid
    shown, note = (list(range(grid.count)), "") if rows == "all" else fold(comparison)
    heading = f"{title}: {grid.count:,} point{'s' * (grid.count > 1)} of {axis_names(grid.axes)}"
    print_note(heading, console, style="bold")
    console.print()
    notes = [note, *_of_pipelines(grid)]
    print_grid(_points(comparison, shown), console, gap=2, styles=_styles(comparison, shown), notes=notes)
    for name, text in summary(comparison, backend):
        print_line(name, text, console)


def print_front(title: str, front: Front, console: Console, *, backend: str) -> None:
    """Print the best points of a sweep whose points are too many to be kept."""
    grid, points = front.grid, front.ranked()
    comparison = compare(grid, points, front.objective)
    step = -(-len(points) // MOST_LINES) or 1
    shown = list(range(0, len(points), step))
    print_note(f"{title}: {grid.count:,} points of {axis_names(grid.axes)}", console, style="bold")
    console.print()
    notes = [*front_notes(front), *([f"every {step:,}th of {len(points):,} is shown"] if step > 1 else [])]
    if points:
        print_grid(_points(comparison, shown), console, gap=2, styles=_styles(comparison, shown), notes=notes)
    if front.failed:
        print_line("failed", f"{front.failed:,} of {grid.count:,} points, the first at {front.first_failed}", console)
    name = comparison.quantity.title
    if not points:
        reason = "No point fits." if front.failed == grid.count else f"The backend '{backend}' does not model {name}."
        print_line("verdict", reason, console)
        return
    cost = comparison.quantity.text(comparison.amount(comparison.quantity, 0) or 0.0)
    per = " a MAC" if comparison.by_mac else ""
    print_line("verdict", f"The least {name}{per} is at {point_text(points[0].values)}: {cost}.", console)


def fold(comparison: Comparison, most: int = MOST_LINES) -> tuple[list[int], str]:
    """The points of a table of about `most` lines, and a note on those left out."""
    grid = comparison.grid
    if grid.count <= most:
        return list(range(grid.count)), ""
    kept = max((n for n in range(1, len(grid.axes)) if Grid(grid.axes[:n]).count <= most), default=0)
    if kept:
        size = Grid(grid.axes[kept:]).count
        groups = (range(start, start + size) for start in range(0, grid.count, size))
        found = (comparison.best_of(group) for group in groups)
        shown = [start * size if best is None else best for start, best in enumerate(found)]
        keys = ", ".join(axis.key for axis in grid.axes[kept:])
        return shown, f"each line is the best of {size:,} points along {keys}: --rows all shows every point"
    lines, note = grid.axes[0], ""
    size = grid.count // len(lines.values)
    step = -(-len(lines.values) // (most - 2))
    places = {*range(0, len(lines.values), step), len(lines.values) - 1}
    if comparison.best is not None:
        places.add(comparison.best // size)
    found = [comparison.best_of(range(p * size, (p + 1) * size)) for p in sorted(places)]
    shown = [place * size if best is None else best for place, best in zip(sorted(places), found, strict=True)]
    if size > 1:
        keys = ", ".join(axis.key for axis in grid.axes[1:])
        note = f", each the best of {size:,} points along {keys}"
    return shown, f"{len(shown)} of {len(lines.values):,} values of {lines.key}{note}: --rows all shows every point"


def _points(comparison: Comparison, shown: Sequence[int]) -> list[Column]:
    """The columns of the varied keys, and those of what the points cost."""
    varied: list[Column] = []
    for axis in comparison.grid.axes:
        labels = short_pipelines(axis.values if axis.pipelines else ()).labels
        values = [comparison.points[number].values[axis.key] for number in shown]
        cells = tuple(labels.get(value, value_text(value)) for value in values)
        varied.append(Column(axis.key.replace(".", ".\n", 1), cells, left=not axis.is_numeric))
    return [*varied, *_columns(comparison, shown)]


def _of_pipelines(grid: Grid) -> Iterator[str]:
    """What stands behind the short names of pipelines."""
    common = short_pipelines(one.name for one in grid.pipelines).common
    if common:
        yield f"of pipelines the column shows what runs {common}"
    for one in grid.pipelines:
        passes = f"-O{one.opt_level}" if one.passes is None else one.passes
        if one.name != passes:
            yield f"{one.name} is {passes}"


def _styles(comparison: Comparison, shown: Sequence[int]) -> list[str]:
    failed = [comparison.points[number].error is not None for number in shown]
    return [
        "bold green" if number == comparison.best else "dim" if bad else ""
        for number, bad in zip(shown, failed, strict=True)
    ]


def value_text(value: Any) -> str:
    """A varied value as a person reads it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:,}" if isinstance(value, int | float) else str(value)


def _columns(comparison: Comparison, shown: Sequence[int]) -> Iterator[Column]:
    """The columns after the keys."""
    totals = [comparison.points[number].totals for number in shown]
    for quantity in dict.fromkeys((TIME, TRAFFIC, ENERGY, comparison.quantity, MEMORY)):
        values = [comparison.amount(quantity, number) for number in shown]
        varies = len({value for value in values if value is not None}) > 1
        if any(value is not None for value in values) and (quantity is not MEMORY or varies):
            rank = 0 if quantity is comparison.quantity else RANKS.get(quantity, 0)
            yield _column(HEADINGS.get(quantity, quantity.title), quantity, values, rank)
    if comparison.by_mac:
        yield _rates(comparison, shown)
    if comparison.grid.is_shared:
        yield _between(totals)
    if any(one is not None and one.assumed is not UNSET for one in totals):
        yield _assumed(totals)
    used = [None if one is None else one.utilization for one in totals]
    if any(value is not None for value in used):
        yield Column("util\n%", tuple(map(percent_cell, used)), rank=4)
    ratios = [comparison.ratio(number) for number in shown]
    if any(ratio is not None for ratio in ratios):
        what = f"{comparison.quantity.title}{' a MAC' if comparison.by_mac else ''}"
        yield Column(f"{what}\nover best", tuple("" if ratio is None else f"{ratio:.3f}" for ratio in ratios))
    if any(one is None for one in totals):
        yield Column("fits", tuple("yes" if one is not None else "no" for one in totals))


def _column(heading: str, quantity: Quantity, values: Sequence[float | None], rank: int) -> Column:
    """Values in one unit, with as many digits as the smallest needs."""
    known = [value for value in values if value]
    scale, unit = quantity.unit(max(known, default=0.0))
    least = min(known, default=scale) / scale
    digits = min(4, max(0, 3 - math.floor(math.log10(least)))) if least else 3
    texts = ("" if value is None else f"{value / scale:,.{digits}f}" for value in values)
    return Column(f"{heading}\n{unit}", tuple(texts), rank=rank)


def _between(totals: Sequence[Totals | None]) -> Column:
    """The share of the time that communication between devices takes."""
    texts: list[str] = []
    for one in totals:
        moving, seconds = (None, None) if one is None else (one.seconds_by_phase["comm"], one.seconds)
        texts.append(f"{100 * moving / seconds:.1f}" if moving is not None and seconds else "")
    return Column("comm\n%", tuple(texts), rank=3)


def _assumed(totals: Sequence[Totals | None]) -> Column:
    """The share of the time that formulas say of operators without a meaning."""
    shares = [None if one is None or one.assumed is UNSET else one.assumed.seconds for one in totals]
    return Column("assumed\n%", tuple(map(percent_cell, shares)), rank=3)


def _rates(comparison: Comparison, shown: Sequence[int]) -> Column:
    """MACs a second, of all devices."""
    rates: list[float | None] = []
    for number in shown:
        one = comparison.points[number].totals
        macs, seconds = (None, None) if one is None else (one.macs, one.seconds)
        rates.append(
            comparison.grid.devices_of(comparison.points[number].index) * macs / seconds
            if macs is not None and seconds
            else None
        )
    scale, unit = next((u for u in MAC_UNITS if max((r for r in rates if r), default=0.0) >= u[0]), MAC_UNITS[-1])
    texts = ("" if rate is None else f"{rate / scale:,.1f}" for rate in rates)
    return Column(f"MACs\n{unit}/s", tuple(texts), rank=3)


def summary(comparison: Comparison, backend: str) -> Iterator[tuple[str, str]]:
    """The lines below the table: a heading and a text each."""
    failed = [point for point in comparison.points if point.error is not None]
    if failed:
        what = f"{len(failed):,} of {len(comparison.points):,} points"
        yield "failed", f"{what}, the first at {point_text(failed[0].values)}: {failed[0].error}"
    best, worst = comparison.best, comparison.worst
    if best is None or worst is None:
        reason = "No point fits." if len(failed) == len(comparison.points) else None
        name = comparison.quantity.title
        yield "verdict", reason or f"The backend '{backend}' does not model {name}."
        return
    effects = {key: ratio for key, ratio in comparison.effects().items() if len(comparison.grid.axes) > 1}
    if effects:
        ranked = sorted(effects.items(), key=lambda one: -one[1])
        texts = (f"{key} {'nothing' if ratio < 1.0005 else f'{_times(ratio)}x'}" for key, ratio in ranked)
        name = comparison.quantity.title + (" a MAC" if comparison.by_mac else "")
        yield "effect", f"at most, on {name}, the other keys unchanged: {', '.join(texts)}"
    if comparison.grid.is_shared:
        yield "devices", "time is that of a step, DRAM and energy are of all devices together, peak and util of one"
    yield "verdict", _verdict(comparison, best, worst)


def _times(ratio: float) -> str:
    """A ratio, four digits."""
    return f"{ratio:,.0f}" if ratio >= 1000 else f"{ratio:.4g}"


def _verdict(comparison: Comparison, best: int, worst: int) -> str:
    point, quantity = comparison.points[best], comparison.quantity
    cost = quantity.text(comparison.amount(quantity, best) or 0.0)
    ratio = comparison.ratio(worst)
    title = quantity.title + (" a MAC" if comparison.by_mac else "")
    ties = sum(other == comparison.costs[best] for other in comparison.costs) - 1
    if sum(other is not None for other in comparison.costs) == 1:
        return f"The only point that fits is {point_text(point.values)}: {cost}."
    if ratio is not None and ratio < 1.0005:
        return f"All points that fit have the same {title}, {cost}."
    parts = [f"The least {title} is at {point_text(point.values)}: {cost}"]
    if ties:
        parts[0] += f", and at {ties:,} more"
    if ratio is not None and worst != best:
        parts.append(f"{_times(ratio)} times as much at {point_text(comparison.points[worst].values)}")
    text = "; ".join(parts) + "."
    for key, (less, over) in comparison.near().items():
        text += f" {key}={less} costs {over - 1:.1%} more." if over >= 1.0005 else f" {key}={less} costs the same."
    return text
