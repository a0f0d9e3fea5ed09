"""What stands in a panel: lines over a numeric key, bars over words, cells over two keys, points over two metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, TypeAlias

from npuc.compiler.core.drawing.axes import double_axis, is_doubling, word_axis
from npuc.compiler.core.drawing.figure import SMALL, Axes
from npuc.compiler.core.drawing.palette import (
    INK,
    MARKS,
    PHASE_NAMES,
    PHASES,
    QUIET,
    RIM,
    SCALE,
    SERIES,
    series_colour,
    series_dashes,
)
from npuc.compiler.core.drawing.ticks import number_text
from npuc.compiler.explore.plot.choice import Chart, is_numeric
from npuc.compiler.explore.plot.metrics import Metric, Numbers
from npuc.compiler.explore.plot.pipelines import KEY

LOG_RATIO = 20.0
"""An axis whose largest value is more than so many times the smallest is logarithmic."""
MARKS_UP_TO, TICKS_UP_TO, CELLS_UP_TO = 60, 10, 14
"""The most points of a line with marks, values that are each a tick, and rows or columns of cells with numbers."""
THIN, MORE = 1.6, 1.6
"""The width of a line, and the increment for each line that covers it, up to three."""
LINEAR = "linear"
"""The name of the line of linear speed-up, which may leave the picture."""
GROUP = 0.8
"""The part of a word's room that its bars take."""
Rows: TypeAlias = Sequence[Numbers]
Look: TypeAlias = Mapping[object, Mapping[str, Any]]
"""The style of each value of the colour's key."""


WORD, FEWEST, LETTER = 26, 10, 0.085
"""The characters of a line of a pipeline's label: usually, and at least; the width of one in inches."""


def word_of(chart: Chart, key: object, value: object, *, room: int = WORD) -> str:
    """A value of a key as a person reads it, that of a pipeline on lines of `room` characters (0: on one)."""
    if key == KEY:
        return chart.table.pipelines.of(value, room)
    if isinstance(value, bool):
        return "true" if value else "false"
    return number_text(value) if isinstance(value, int | float) else PHASE_NAMES.get(str(value), str(value))


def looks(chart: Chart) -> Look:
    """Ordered numbers run from dark to bright, words have a colour each."""
    if not isinstance(chart.color, str):
        return {None: {"color": SERIES[0]}}
    values = chart.table.keys[chart.color]
    if chart.color == "phase":
        return {value: {"color": PHASES.get(value, QUIET)} for value in values}
    if is_numeric(values) and len(values) > 2:
        scale, places = import_module("matplotlib").colormaps[SCALE], {v: n for n, v in enumerate(sorted(set(values)))}
        return {value: {"color": scale(0.88 * places[value] / (len(places) - 1 or 1))} for value in values}
    return {
        value: {"color": series_colour(n), "linestyle": series_dashes(n)}
        for n, value in enumerate(dict.fromkeys(values))
    }


def by_colour(chart: Chart, rows: Rows) -> dict[object, list[Numbers]]:
    """The rows of each value of the colour's key, in its order."""
    if not isinstance(chart.color, str):
        return {None: list(rows)}
    found: dict[object, list[Numbers]] = {value: [] for value in chart.table.keys[chart.color]}
    for row in rows:
        found[row[chart.color]].append(row)
    return found


def best(chart: Chart, rows: Rows, metric: Metric) -> float | None:
    """The best value of a metric; the sum, of operations."""
    known = [value for row in rows if (value := metric.of(row, chart.table.by_mac)) is not None]
    if not known:
        return None
    if not chart.table.points:
        return sum(known)
    return max(known) if metric.more_is_better else min(known)


def along(chart: Chart, rows: Rows, key: str, metric: Metric) -> dict[Any, float | None]:
    """The best value of a metric at each value of a key."""
    groups: dict[Any, list[Numbers]] = {}
    for row in rows:
        groups.setdefault(row[key], []).append(row)
    return {value: best(chart, groups[value], metric) for value in chart.table.keys[key] if value in groups}


def draw_lines(axes: Axes, chart: Chart, rows: Rows, x: str, y: Metric, unit: float) -> None:
    """A line for each colour over a numeric key; of equal ones the earlier are wider."""
    lines: list[tuple[object, list[tuple[float, float]]]] = []
    for value, own in by_colour(chart, rows).items():
        found = along(chart, own, x, y)
        lines.append((value, sorted((place, cost / unit) for place, cost in found.items() if cost is not None)))
    style = looks(chart)
    for number, (value, points) in enumerate(lines):
        covers = sum(len({*points} & {*other}) > 1 for _, other in lines[number + 1 :])
        axes.plot(
            [place for place, _ in points],
            [cost for _, cost in points],
            marker=MARKS[0] if len(chart.table.keys[x]) <= MARKS_UP_TO else None,
            markersize=4.0,
            linewidth=THIN + MORE * min(3, covers),
            label="_" if value is None else word_of(chart, chart.color, value),
            **style[value],
        )
    places = [float(place) for place in chart.table.keys[x]]
    key_axis(axes, places)
    beside = axes.get_shared_y_axes().get_siblings(axes)  # panels have one axis
    drawn = [line for one in beside for line in one.get_lines() if line.get_label() != LINEAR]
    costs = [float(cost) for line in drawn for cost in line.get_ydata()]
    if costs and min(costs) > 0 and max(costs) / min(costs) > LOG_RATIO:
        axes.set_yscale("log")
        rim = (max(costs) / min(costs)) ** 0.05
        axes.set_ylim(min(costs) / rim, max(costs) * rim)
    else:
        axes.set_ylim(0.0, 1.06 * max(costs, default=0.0) or None)


def key_axis(axes: Axes, places: Sequence[float]) -> None:
    """Numbers of a key along x: in powers of two, of ten, or as they are."""
    if is_doubling(places):
        double_axis(axes, "x", places)
        return
    if min(places) > 0 and max(places) / min(places) > LOG_RATIO:
        axes.set_xscale("log")
    if len(places) <= TICKS_UP_TO:
        axes.set_xticks(places, [number_text(value) for value in places])
        axes.minorticks_off()


def draw_bars(axes: Axes, chart: Chart, rows: Rows, x: str, y: Metric, unit: float, width: float) -> None:
    """Bars over words: a group for each, a bar for each colour; of operations one bar of parts by colour."""
    groups, style = by_colour(chart, rows), looks(chart)
    words = chart.table.keys[x]
    low = [0.0] * len(words)
    each = GROUP if not chart.table.points else GROUP / len(groups)
    for number, (value, own) in enumerate(groups.items()):
        found = along(chart, own, x, y)
        heights = [(found.get(word) or 0.0) / unit for word in words]
        shift = 0.0 if not chart.table.points else (number - (len(groups) - 1) / 2) * each
        label = "_" if value is None else word_of(chart, chart.color, value)
        places = [place + shift for place in range(len(words))]
        bottom = [*low] if not chart.table.points else None
        axes.bar(places, heights, each * 0.94, bottom=bottom, color=style[value]["color"], label=label)
        low = [a + b for a, b in zip(low, heights, strict=True)]
    room = max(FEWEST, int(width / len(words) / LETTER))
    word_axis(axes, [word_of(chart, x, word, room=room) for word in words], width)
    axes.set_xlim(-0.6, len(words) - 0.4)
    axes.margins(y=0.08)


def draw_cells(axes: Axes, chart: Chart, rows: Rows, x: str, y: str, metric: Metric, unit: float, limits: Any) -> Any:
    """A cell for each pair of values of two keys, with its number where there is room; the best one is framed."""
    columns, lines = chart.table.keys[x], chart.table.keys[y]
    table: list[list[float]] = []
    for value in lines:
        found = along(chart, [row for row in rows if row[y] == value], x, metric)
        costs = [found.get(column) for column in columns]
        table.append([float("nan") if cost is None else cost / unit for cost in costs])
    known = [cost for line in table for cost in line if cost == cost]
    scale = import_module("matplotlib.colors")
    low, high = limits
    norm = scale.LogNorm(low, high) if low > 0 and high / low > LOG_RATIO else scale.Normalize(low, high)
    image = axes.imshow(table, cmap=f"{SCALE}_r", norm=norm, origin="lower", aspect="auto")
    axes.grid(False)
    axes.set_xticks(range(len(columns)), [word_of(chart, x, value) for value in columns])
    axes.set_yticks(range(len(lines)), [word_of(chart, y, value) for value in lines])
    axes.tick_params(length=0)
    pick: Callable[[Sequence[float]], float] = max if metric.more_is_better else min
    for row, line in enumerate(table):
        for column, cost in enumerate(line):
            if cost != cost:
                axes.text(column, row, "–", ha="center", va="center", color=QUIET)
                continue
            if max(len(columns), len(lines)) <= CELLS_UP_TO:
                dark = norm(cost) > 0.5
                axes.text(
                    column, row, f"{cost:.3g}", ha="center", va="center", fontsize=SMALL, color="white" if dark else INK
                )
            if cost == pick(known):
                box = import_module("matplotlib.patches").Rectangle((column - 0.5, row - 0.5), 1, 1)
                box.set(fill=False, edgecolor=INK, linewidth=2.2)
                axes.add_patch(box)
    return image


def draw_front(axes: Axes, chart: Chart, rows: Rows, x: Metric, y: Metric, units: tuple[float, float]) -> None:
    """All points over two metrics; those that no other beats in both are joined and labelled."""
    style = looks(chart)
    for number, (value, own) in enumerate(by_colour(chart, rows).items()):
        known = _points(chart, own, x, y)
        axes.scatter(
            [a / units[0] for a, _, _ in known],
            [b / units[1] for _, b, _ in known],
            s=40,
            marker=MARKS[number % len(MARKS)],
            color=[style[value]["color"]],
            edgecolors="white",
            linewidths=0.7,
            label="_" if value is None else word_of(chart, chart.color, value),
            zorder=3,
        )
    best_ones = front(_points(chart, rows, x, y), x.more_is_better, y.more_is_better)
    axes.plot(
        [a / units[0] for a, _, _ in best_ones],
        [b / units[1] for _, b, _ in best_ones],
        color=RIM, linewidth=1.2, zorder=2, drawstyle="steps-post", label="_",
    )  # fmt: skip
    axes.margins(x=0.12, y=0.14)
    _label(axes, chart, best_ones, units)


def _points(chart: Chart, rows: Rows, x: Metric, y: Metric) -> list[tuple[float, float, Numbers]]:
    found = [(x.of(row, chart.table.by_mac), y.of(row, chart.table.by_mac), row) for row in rows]
    return [(a, b, row) for a, b, row in found if a is not None and b is not None]


def front(
    points: Sequence[tuple[float, float, Numbers]], more_x: bool = False, more_y: bool = False
) -> list[tuple[float, float, Numbers]]:
    """The points that no other point is better than in both, from the best along x on; of equal ones the first."""
    sign_x, sign_y = (-1 if more_x else 1), (-1 if more_y else 1)
    found: list[tuple[float, float, Numbers]] = []
    for a, b, row in sorted(points, key=lambda point: (sign_x * point[0], sign_y * point[1])):
        if not found or sign_y * b < sign_y * found[-1][1]:
            found.append((a, b, row))
    return found


def label_keys(chart: Chart) -> list[str]:
    """The keys whose values stand beside a point of the front."""
    varied = [key for key, values in chart.table.keys.items() if len(values) > 1]
    return [key for key in varied if key != chart.color] or varied or list(chart.table.keys)


def _label(
    axes: Axes, chart: Chart, points: Sequence[tuple[float, float, Numbers]], units: tuple[float, float]
) -> None:
    """The varied keys of the points on the front, each beside its point where no earlier label is."""
    keys = label_keys(chart)
    placed: list[tuple[float, float, float]] = []
    figure = axes.figure.figure
    figure.draw_without_rendering()
    for a, b, row in points:
        text = ", ".join(word_of(chart, key, row[key], room=0) for key in keys)
        at = axes.transData.transform((a / units[0], b / units[1])) * 72 / figure.dpi
        wide = 0.62 * SMALL * len(text) + 12
        if any(abs(at[1] - y) < SMALL * 1.4 and at[0] < x + w and x < at[0] + wide for x, y, w in placed):
            continue
        placed.append((at[0], at[1], wide))
        axes.annotate(text, (a / units[0], b / units[1]), (5, 4), textcoords="offset points", fontsize=SMALL, color=INK)
