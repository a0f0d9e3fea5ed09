"""Figures 5.1 (every layer under the roof) and 5.5 (the time of layers by type)."""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Iterator

from npuc.compiler.core.drawing.palette import INK
from npuc.compiler.report import Report
from npuc.compiler.report.text.quantities import TIME_UNITS
from npuc.studies.thesis.figures.panels import (
    DOTTED,
    LIMIT,
    TYPE_COLOURS,
    TYPE_NAMES,
    Axes,
    Canvas,
    Panel,
    legend,
    name_axes,
    paired_panels,
    panels,
    unit_of,
)
from npuc.studies.thesis.measures import RIDGE, reuse, seconds, seconds_of_type, share_above_ridge, step_facts
from npuc.studies.thesis.networks import ThesisNetwork
from npuc.studies.thesis.scores import Point
from npuc.studies.thesis.settings import GB_PER_S, LEAST, TFLOPS
from npuc.studies.thesis.study import ThesisResults

TYPE_MIB = (LEAST, 64, 128, 256, 400)
"""The capacities of figure 5.5."""
MARKERS = {"forward": ("o", 64, "forward"), "dxdw": ("^", 26, "backward")}
"""The mark, size and label of each phase; later marks are smaller and drawn onto earlier ones."""
BINS = 32
"""Ranges of reuse frequency in a histogram."""


def no_points(network: ThesisNetwork) -> Iterator[Point]:
    """Figure 5.1 needs the layers alone."""
    yield from ()


def draw_roof(study: ThesisResults, canvas: Canvas) -> None:
    """Attainable performance against reuse frequency, one point per step; below, a histogram of the steps."""
    reuses = [value for one in study.networks for row in study.scores.layers[one].rows if (value := reuse(row)) > 0]
    least, most = min([*reuses, RIDGE / 10]) / 2, max([*reuses, RIDGE * 10]) * 2
    found = paired_panels(study, canvas)
    for panel in found:
        _roof(panel.axes, least, most)
        _steps(panel, study)
        _histogram(panel, study, least, most)
        for axes in (panel.axes, panel.below):
            axes.set_xscale("log")
            axes.set_xlim(least, most)
            axes.minorticks_off()
            axes.axvline(RIDGE, label="ridge" if axes is panel.axes else None, **DOTTED)
        panel.axes.tick_params(labelbottom=False)
        if panel.last:
            panel.below.set_xlabel("reuse frequency (operations / byte)")
        if panel.first:
            panel.axes.set_ylabel("attainable\n(TFLOPS)")
            panel.below.set_ylabel("steps\n(%)")
    kinds = [f"type {kind}, {name}" for kind in TYPE_COLOURS for _, _, name in MARKERS.values()]
    legend(study, canvas, [found[0].axes], [*kinds, "roof", "ridge"])


def _roof(axes: Axes, least: float, most: float) -> None:
    """The limits of the machine."""
    corners = (least * GB_PER_S / 1e3, TFLOPS, TFLOPS)
    axes.set_yscale("log")
    axes.plot((least, RIDGE, most), corners, color=LIMIT, linewidth=1.2, zorder=1, label="roof")


def _steps(panel: Panel, study: ThesisResults) -> None:
    """The steps of a network; equal ones are one mark."""
    marks: dict[tuple[str, str], dict[tuple[float, float], None]] = {}
    for row in study.scores.layers[panel.network].rows:
        facts = step_facts(row)
        if facts.reuse_frequency > 0:
            own = marks.setdefault((facts.layer_type, row.phase), {})
            own[facts.reuse_frequency, facts.attainable_tops] = None
    for phase, (marker, size, name) in MARKERS.items():
        for kind, colour in TYPE_COLOURS.items():
            own = marks.get((kind, phase), {})
            panel.axes.scatter(
                [x for x, _ in own],
                [y for _, y in own],
                s=size,
                marker=marker,
                color=colour,
                edgecolors="white",
                linewidths=0.6,
                zorder=3,
                label=f"type {kind}, {name}",
            )


def _histogram(panel: Panel, study: ThesisResults, least: float, most: float) -> None:
    """The shares of steps in ranges of reuse frequency, stacked by type."""
    rows = [row for row in study.scores.layers[panel.network].rows if reuse(row) > 0]
    edges = [least * (most / least) ** (n / BINS) for n in range(BINS + 1)]
    below = dict.fromkeys(range(BINS), 0.0)
    for kind, colour in TYPE_COLOURS.items():
        counts = Counter(bisect(edges, reuse(row)) - 1 for row in rows if step_facts(row).layer_type == kind)
        for place, count in sorted(counts.items()):
            share, width = 100 * count / len(rows), edges[place + 1] - edges[place]
            panel.below.bar(
                edges[place], share, width, below[place], align="edge", color=colour, edgecolor="white", linewidth=0.5
            )
            below[place] += share
    text = f"{100 * share_above_ridge(study.scores, panel.network):.1f}% of type I\nabove the ridge"
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
    place = {"transform": panel.axes.transAxes, "ha": "right", "va": "bottom", "bbox": box}
    panel.axes.text(0.98, 0.05, text, color=INK, fontsize="small", **place)


def type_points(network: ThesisNetwork) -> Iterator[Point]:
    """Figure 5.5."""
    yield from (Point(network, mib) for mib in TYPE_MIB)


def draw_types(study: ThesisResults, canvas: Canvas) -> None:
    """The time of layers of both types at some capacities, stacked; above a bar the share of type II."""
    found, names = panels(study, canvas), list[str]()
    for panel in found:
        axes, places = panel.axes, range(len(TYPE_MIB))
        reports = [study.scores.reports.get(Point(panel.network, mib)) for mib in TYPE_MIB]
        scale, unit = unit_of([seconds(report) for report in reports if report is not None], TIME_UNITS)
        names.append(f"time ({unit})")
        below = [0.0] * len(TYPE_MIB)
        for kind, colour in TYPE_COLOURS.items():
            own = [0.0 if report is None else seconds_of_type(report, kind) / scale for report in reports]
            axes.bar(places, own, 0.66, bottom=below, color=colour, label=TYPE_NAMES[kind], edgecolor="white")
            below = [a + b for a, b in zip(below, own, strict=True)]
        for place, report, height in zip(places, reports, below, strict=True):
            text = "does\nnot fit" if report is None else _share_text(report)
            look = {"ha": "center", "fontsize": "small", "color": INK}
            axes.annotate(text, (place, height), (0, 2), textcoords="offset points", **look)
        axes.set_ylim(0, 1.15 * max(below) or 1.0)
        axes.set_xticks(places, [str(mib) for mib in TYPE_MIB])
        axes.tick_params(axis="x", length=0)
        axes.grid(False, axis="x")
        if panel.last:
            axes.set_xlabel("capacity (MB)")
    name_axes(found, names)
    legend(study, canvas, [found[0].axes])


def _share_text(report: Report) -> str:
    """The share of type II in the time."""
    share = 100 * seconds_of_type(report, "II") / seconds(report)
    return "<1%" if share < 1 else f"{share:.0f}%"
