"""The picture of a chart: its title, what it says of what is not drawn, its panels and their axes."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

from npuc.compiler.core.drawing.axes import legend_beside
from npuc.compiler.core.drawing.figure import WIDTH, Axes, Figure, picture
from npuc.compiler.core.drawing.palette import QUIET
from npuc.compiler.core.errors import UsageError
from npuc.compiler.explore.plot.choice import MOST_COLOURS, Asked, Chart, choose
from npuc.compiler.explore.plot.marks import (
    LINEAR,
    Rows,
    along,
    best,
    by_colour,
    draw_bars,
    draw_cells,
    draw_front,
    draw_lines,
    front,
    label_keys,
    word_of,
)
from npuc.compiler.explore.plot.metrics import Metric
from npuc.compiler.explore.plot.table import PlotTable

HEIGHT, PANEL_HEIGHT = 4.6, 2.7
COLUMNS = 3


def draw_table(table: PlotTable, asked: Asked, kind: str) -> bytes:
    """
    The picture of a table as a file of a kind (`svg`, `png`, `pdf`).

    Raises `UsageError` for names that make no picture, and where no row has what is asked for.
    """
    chart = choose(table, asked)
    metrics = [one for one in (chart.x, chart.y, chart.color) if isinstance(one, Metric)]
    for metric in metrics:
        if all(metric.of(row) is None for row in table.rows):
            known = ", ".join(table.metrics) or "none: no point fits"
            raise UsageError(f"no row has the metric '{metric.name}'", hint=f"known: {known}")
    panels = [None] if chart.panel is None else list(table.keys[chart.panel])
    columns = min(COLUMNS, len(panels))
    rows = ceil(len(panels) / columns)
    height = HEIGHT if len(panels) == 1 else max(HEIGHT, 0.5 + PANEL_HEIGHT * rows)
    return picture(
        kind,
        (WIDTH, height),
        lambda figure: _fill(figure, chart, panels, rows, columns),
        title=title_of(chart),
        about=_about(chart),
    )


def title_of(chart: Chart) -> str:
    """What the picture shows, in a sentence: where the best point is, or which keys are compared."""
    table, metric = chart.table, chart.metric
    if chart.form == "front" and isinstance(chart.x, Metric) and isinstance(chart.y, Metric):
        known = [
            (a, b, row)
            for row in table.rows
            if (a := chart.x.of(row, table.by_mac)) is not None and (b := chart.y.of(row, table.by_mac)) is not None
        ]
        best_ones = front(known, chart.x.more_is_better, chart.y.more_is_better)
        names = f"{chart.x.heading(table.by_mac)} and {chart.y.heading(table.by_mac)}"
        return f"{len(best_ones):,} of {len(known):,} points are best in {names}"
    if not table.points:
        total = sum(value for row in table.rows if (value := metric.of(row)) is not None)
        return f"{metric.heading()} of {table.title.partition(' ')[0]}: {metric.text(total)}"
    known = [(value, row) for row in table.rows if (value := metric.of(row, table.by_mac)) is not None]
    pick = max if metric.more_is_better else min
    value, row = pick(known, key=lambda one: one[0])
    where = ", ".join(
        f"{key}={word_of(chart, key, row[key], room=0)}" for key in table.keys if len(table.keys[key]) > 1
    )
    word = "Most" if metric.more_is_better else "Least"
    named = f"{word} {metric.heading(table.by_mac)}: {metric.text(value, table.by_mac)}"
    return f"{named} at {where}" if where else named


def _about(chart: Chart) -> str:
    """The source and the machine; what stands for several points; how many have nothing to draw."""
    parts = [chart.table.title]
    if chart.form == "front":
        parts.append(f"labels: {', '.join(label_keys(chart))}")
    elif chart.others:
        parts.append(f"each the best over {', '.join(chart.others)}")
    if chart.table.pipelines.common:
        parts.append(f"pipelines: what runs {chart.table.pipelines.common}")
    missing = sum(chart.metric.of(row) is None for row in chart.table.rows) if chart.table.points else 0
    if missing:
        parts.append(f"{missing:,} of {len(chart.table.rows):,} points do not fit")
    return "; ".join(parts)


def _fill(figure: Figure, chart: Chart, panels: Sequence[object], rows: int, columns: int) -> None:
    """Panels with equal axes, and one legend or scale of colours."""
    shared = chart.form != "bars" and len(panels) > 1
    grid = figure.subplots(rows, columns, squeeze=False, sharex=shared, sharey=len(panels) > 1)
    places: list[Axes] = list(grid.flat)
    units = {id(one): _unit(chart, one) for one in (chart.x, chart.y, chart.color) if isinstance(one, Metric)}
    image: Any = None
    for number, axes in enumerate(places):
        if number >= len(panels):
            axes.set_axis_off()
            continue
        own = [row for row in chart.table.rows if chart.panel is None or row[chart.panel] == panels[number]]
        image = _panel(axes, chart, own, units, 0.75 * WIDTH / columns)
        if chart.panel is not None:
            axes.set_title(f"{chart.panel} = {word_of(chart, chart.panel, panels[number], room=0)}", color=QUIET)
        if number % columns == 0:
            axes.set_ylabel(_name(chart, chart.y, units))
        if number >= len(panels) - columns:
            axes.set_xlabel(_name(chart, chart.x, units))
    shown = places[: len(panels)]
    if image is not None:
        bar = figure.colorbar(image, ax=shown, pad=0.02)
        bar.outline.set_visible(False)
        bar.set_label(_name(chart, chart.color, units))
    elif isinstance(chart.color, str):
        _legend(figure, chart, shown[0], several=len(panels) > 1)


def _panel(axes: Axes, chart: Chart, rows: Rows, units: dict[int, tuple[float, str]], width: float) -> Any:
    """What one panel shows; returns what a scale of colours is made of."""
    x, y, color = chart.x, chart.y, chart.color
    if isinstance(x, str) and isinstance(y, str) and isinstance(color, Metric):
        size = units[id(color)][0]
        return draw_cells(axes, chart, rows, x, y, color, size, _limits(chart, x, y, color, size))
    if isinstance(x, Metric) and isinstance(y, Metric):
        draw_front(axes, chart, rows, x, y, (units[id(x)][0], units[id(y)][0]))
    elif isinstance(x, str) and isinstance(y, Metric):
        if chart.form == "lines":
            draw_lines(axes, chart, rows, x, y, units[id(y)][0])
            _draw_linear(axes, chart, rows, x, y, units[id(y)][0])
        else:
            draw_bars(axes, chart, rows, x, y, units[id(y)][0], width)
    return None


def _draw_linear(axes: Axes, chart: Chart, rows: Rows, x: str, y: Metric, unit: float) -> None:
    """The time under linear speed-up with the number of devices, from the best point of the fewest devices."""
    if x != "devices" or y.name != "time":
        return
    found = {place: cost for place, cost in along(chart, rows, x, y).items() if cost is not None}
    if found:
        fewest = min(found)
        devices = sorted(chart.table.keys[x])
        times = [found[fewest] / unit * fewest / many for many in devices]
        axes.plot(devices, times, color=QUIET, linestyle="--", linewidth=1.0, label=LINEAR, zorder=0)


def _unit(chart: Chart, metric: Metric) -> tuple[float, str]:
    """The unit of an axis: that of the largest value; of operations, of the largest bar."""
    values = [value for row in chart.table.rows if (value := metric.of(row, chart.table.by_mac)) is not None]
    if not chart.table.points and isinstance(chart.x, str):
        values = [value for value in along(chart, chart.table.rows, chart.x, metric).values() if value is not None]
    return metric.unit(values, chart.table.by_mac)


def _limits(chart: Chart, x: str, y: str, metric: Metric, size: float) -> tuple[float, float]:
    """The least and the largest value of all cells, of all panels."""
    groups: dict[tuple[object, ...], list[Any]] = {}
    for row in chart.table.rows:
        groups.setdefault((row[x], row[y], row[chart.panel] if chart.panel else None), []).append(row)
    known = [value / size for rows in groups.values() if (value := best(chart, rows, metric)) is not None]
    low, high = min(known, default=0.0), max(known, default=1.0)
    return (low, high) if low < high else (low, low + (abs(low) or 1.0) * 1e-9)


def _name(chart: Chart, what: str | Metric | None, units: dict[int, tuple[float, str]]) -> str:
    """What an axis is called."""
    if not isinstance(what, Metric):
        return what or ""
    unit = units[id(what)][1]
    heading = what.heading(chart.table.by_mac)
    return f"{heading}, {unit}" if unit else heading


def _legend(figure: Figure, chart: Chart, axes: Axes, *, several: bool) -> None:
    """What the colours mean: beside one panel, above several; of many lines some are named."""
    handles, labels = axes.get_legend_handles_labels()
    count = len(by_colour(chart, chart.table.rows))
    step = -(-count // MOST_COLOURS)
    kept = [n for n, label in enumerate(labels) if n % step == 0 or label == LINEAR]
    more = f"\n({len(range(0, count, step))} of {count:,})" if step > 1 else ""
    handles, labels = [handles[n] for n in kept], [labels[n] for n in kept]
    if several:
        figure.legend(
            handles, labels, loc="outside upper left", ncols=6, title=f"{chart.color}{more}", alignment="left"
        )
    else:
        legend_beside(axes, f"{chart.color}{more}", handles, labels)
