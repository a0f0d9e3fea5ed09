"""A sweep as a picture: the first key along x, the compared quantity along y, one curve per combination of others."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from npuc.compiler.core.drawing.axes import legend_beside
from npuc.compiler.core.drawing.figure import WIDTH, Axes, picture
from npuc.compiler.core.drawing.palette import SCALE
from npuc.compiler.explore.sweep.axes import Axis, Grid
from npuc.compiler.explore.sweep.compare import TIME, Comparison

MOST_IN_LEGEND = 16
"""Of more lines, only evenly spaced ones are named."""
LOG_RATIO = 20.0
"""An axis whose largest value is more than so many times the smallest is logarithmic."""
MARKS_UP_TO = 60
TICKS_UP_TO = 10
"""Up to this number of values each is a tick."""
THIN, MORE = 1.4, 1.6
"""The width of a line, and the increment for each line that covers it, up to three."""
GIGA = 1e9
"""Costs per MAC are drawn per this many MACs."""


def draw_sweep(title: str, comparison: Comparison, kind: str) -> bytes:
    """The picture of a sweep as a file of a kind (`png`, `pdf`, `svg`)."""
    return picture(kind, (WIDTH, 4.6), lambda figure: _fill(figure.subplots(), comparison), title=title)


def _fill(axes: Axes, comparison: Comparison) -> None:
    x, *others = comparison.grid.axes
    count = Grid(tuple(others)).count
    scale, unit = _scale(comparison)
    places = [float(value) for value in x.values] if x.is_numeric else [float(n) for n in range(len(x.values))]
    named = set(range(0, count, -(-count // MOST_IN_LEGEND)))
    for number in range(count):
        costs = comparison.costs[number::count]
        known = sorted((place, cost / scale) for place, cost in zip(places, costs, strict=True) if cost is not None)
        axes.plot(
            [place for place, _ in known],
            [cost for _, cost in known],
            color=_colour(number, count),
            marker="o" if len(places) <= MARKS_UP_TO else None,
            markersize=3.5,
            linewidth=THIN + MORE * min(3, _covers(comparison.costs, number, count)),
            label=_label(others, number) if count > 1 and number in named else None,
        )
    if x.target == "devices" and comparison.quantity is TIME:
        _draw_linear(axes, x, comparison, scale)
    _x_axis(axes, x, places)
    _y_axis(axes, comparison, scale)
    name = comparison.quantity.title + (" a GMAC" if comparison.by_mac else "")
    axes.set_ylabel(f"{name}, {unit}")
    if count > 1:
        keys = ",\n".join(axis.key for axis in others)
        more = f"\n({len(named)} of {count:,})" if len(named) < count else ""
        legend_beside(axes, keys + more)


def _draw_linear(axes: Axes, x: Axis, comparison: Comparison, scale: float) -> None:
    """The time under linear speed-up with the number of devices, from the best point of the fewest devices."""
    first = min(range(len(x.values)), key=lambda place: x.values[place])
    size = Grid(comparison.grid.axes[1:]).count
    number = comparison.best_of(range(first * size, (first + 1) * size))
    cost = None if number is None else comparison.costs[number]
    if cost is not None:
        devices = sorted(x.values)
        times = [cost / scale * devices[0] / many for many in devices]
        axes.plot(devices, times, color="0.6", linestyle="--", linewidth=1.0, label="linear", zorder=0)


def _scale(comparison: Comparison) -> tuple[float, str]:
    """The unit of the costs, and its size."""
    work = GIGA if comparison.by_mac else 1.0
    size, unit = comparison.quantity.unit(work * max((cost for cost in comparison.costs if cost), default=0.0))
    return size / work, unit


def _colour(number: int, count: int) -> Any:
    """Colours that run from dark to bright with the number of the line."""
    colours = import_module("matplotlib").colormaps[SCALE]
    return colours(0.9 * number / max(count - 1, 1))


def _covers(costs: Sequence[float | None], number: int, count: int) -> int:
    """The number of later lines that cover a line: those with two points in common with it."""
    own = costs[number::count]
    common = (
        sum(a is not None and a == b for a, b in zip(own, costs[n::count], strict=True))
        for n in range(number + 1, count)
    )
    return sum(many > 1 for many in common)


def _label(axes: Sequence[Axis], number: int) -> str:
    return ", ".join(str(value) for value in Grid(tuple(axes)).values(number).values())


def _x_axis(axes: Axes, x: Axis, places: Sequence[float]) -> None:
    axes.set_xlabel(x.key)
    if not x.is_numeric:
        axes.set_xticks(places, [str(value) for value in x.values])
        return
    if x.target == "devices":
        axes.set_xscale("log", base=2)
    elif min(places) > 0 and max(places) / min(places) > LOG_RATIO:
        axes.set_xscale("log")
    if len(places) <= TICKS_UP_TO:
        axes.set_xticks(places, [f"{value:g}" for value in x.values])
        axes.minorticks_off()


def _y_axis(axes: Axes, comparison: Comparison, scale: float) -> None:
    known = [cost / scale for cost in comparison.costs if cost]
    if known and max(known) / min(known) > LOG_RATIO:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0.0)
