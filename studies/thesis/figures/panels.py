"""Elements that the figures share: one panel per network, colours, axes of capacities, the places of legends."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from npuc.compiler.core.drawing.palette import BLUE, GREEN, INK, ORANGE, QUIET, VERMILION
from npuc.compiler.report import Report
from npuc.studies.thesis.networks import ThesisNetwork
from npuc.studies.thesis.scores import Point
from npuc.studies.thesis.settings import CAPACITIES, GB_PER_S, TFLOPS
from npuc.studies.thesis.study import ThesisResults

Canvas: TypeAlias = Any
"""matplotlib's figure, or a part of one: matplotlib is optional, and its types with it."""
Axes: TypeAlias = Any

Curve: TypeAlias = tuple[list[int], list[float]]
"""Capacities in MB, and a value of each."""

FIRST, SECOND, THIRD = BLUE, VERMILION, GREEN
"""The two lines of a panel, told apart without colours too: the second is dashed; and one of another kind."""
TYPE_COLOURS = {"I": BLUE, "II": ORANGE}
TYPE_NAMES = {"I": "type I (convolutions, products)", "II": "type II (all others)"}
LIMIT = QUIET
"""The colour of limits."""
DOTTED = {"color": LIMIT, "linewidth": 1.2, "linestyle": (0, (1, 1.5))}
"""A limit."""
WIDTH, HEIGHT, FONT = 8.6, 6.4, 12.0
"""A figure of four panels, in inches, and its letters, in points: they can be read at half the size."""
LETTER, SYMBOL = 0.095, 0.75
"""What a letter of a legend takes, and a symbol with the gaps beside it, in inches."""
Units: TypeAlias = Sequence[tuple[float, str]]
"""Sizes of units and their names, the largest first."""
STYLES: Sequence[dict[str, Any]] = (
    {"color": FIRST, "linewidth": 1.9},
    {"color": SECOND, "linewidth": 1.9, "linestyle": (0, (4, 1.6))},
)


@dataclass(frozen=True)
class Panel:
    """The axes of a network; `below` are narrower ones beneath, where a figure has such."""

    network: ThesisNetwork
    axes: Axes
    below: Axes
    first: bool
    """In the first column."""
    last: bool
    """In the last row of its column."""


def shape_of(count: int) -> tuple[int, int]:
    """Rows and columns for so many panels: no more rows than columns."""
    columns = math.ceil(math.sqrt(count))
    return math.ceil(count / columns), columns


def size_of(count: int) -> tuple[float, float]:
    """Inches of a figure of so many panels."""
    rows, columns = shape_of(count)
    return WIDTH * (0.75 if columns == 1 else columns / 2), HEIGHT * (0.75 if rows == 1 else rows / 2)


def panels(study: ThesisResults, canvas: Canvas) -> list[Panel]:
    """One titled panel per network."""
    rows, columns = shape_of(len(study.networks))
    return _filled(study, canvas.subplots(rows, columns, squeeze=False), 1)


def paired_panels(study: ThesisResults, canvas: Canvas) -> list[Panel]:
    """One titled panel per network, with a narrower one below."""
    rows, columns = shape_of(len(study.networks))
    return _filled(study, canvas.subplots(2 * rows, columns, squeeze=False, height_ratios=[2.2, 1] * rows), 2)


def _filled(study: ThesisResults, grid: Any, each: int) -> list[Panel]:
    """The panels of a grid of axes, `each` in a column per network; axes that are left over stay empty."""
    columns, count = len(grid[0]), len(study.networks)
    found: list[Panel] = []
    for number in range(len(grid) // each * columns):
        row, column = divmod(number, columns)
        own = [grid[each * row + n][column] for n in range(each)]
        if number >= count:
            for axes in own:
                axes.set_axis_off()
            continue
        network = study.networks[number]
        own[0].set_title(network.name, fontweight="bold", color=INK, fontsize="medium")
        found.append(Panel(network, own[0], own[-1], column == 0, number + columns >= count))
    return found


def legend(study: ThesisResults, canvas: Canvas, places: Sequence[Axes], order: Sequence[str] = ()) -> None:
    """One legend for all panels, below them, of what some axes show; by columns, labels of `order` in that order."""
    found = {label: handle for axes in places for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    labels = list(order or found)
    room = size_of(len(study.networks))[0]
    tried = (math.ceil(len(labels) / rows) for rows in range(1, len(labels)))
    fitting = (columns for columns in tried if _legend_width(labels, columns) <= room)
    handles = [found[label] for label in labels]
    canvas.legend(handles, labels, loc="outside lower center", ncols=next(fitting, 1))


def _legend_width(labels: Sequence[str], columns: int) -> float:
    """The width of a legend of so many columns, in inches."""
    rows = math.ceil(len(labels) / columns)
    longest = [max(map(len, labels[start : start + rows])) for start in range(0, len(labels), rows)]
    return sum(SYMBOL + LETTER * letters for letters in longest)


def unit_of(values: Sequence[float], units: Units) -> tuple[float, str]:
    """The unit in which the largest value is at least 1, and its size."""
    largest = max(values, default=0.0)
    return next((unit for unit in units if largest >= unit[0]), units[-1])


def name_axes(found: Sequence[Panel], names: Sequence[str]) -> None:
    """Label the vertical axis of each panel; where all are equal, only those of the first column."""
    for panel, name in zip(found, names, strict=True):
        if panel.first or len(set(names)) > 1:
            panel.axes.set_ylabel(name)


def capacity_axis(axes: Axes, *, label: bool) -> None:
    """Capacities along x."""
    axes.set_xlim(0, CAPACITIES[-1])
    axes.set_xticks(range(0, CAPACITIES[-1] + 1, 200))
    if label:
        axes.set_xlabel("capacity (MB)")


def curve(study: ThesisResults, points: Sequence[Point], value: Callable[[Report], float]) -> Curve:
    """The capacities of points that were scored, and a value of each."""
    known = [(point.mib, study.scores.reports[point]) for point in points if point in study.scores.reports]
    return [mib for mib, _ in known], [value(report) for _, report in known]


def scan(network: ThesisNetwork, *, tflops: float = TFLOPS, gb_per_s: float = GB_PER_S) -> list[Point]:
    """The points of a network at all capacities; those of a large one are fewer (`score_points`)."""
    return [Point(network, mib, tflops, gb_per_s, fine=True) for mib in CAPACITIES]


def empty(axes: Axes) -> None:
    """Say in a panel that there is nothing to show."""
    axes.text(0.5, 0.5, "does not fit", transform=axes.transAxes, ha="center", va="center", color=LIMIT)
