"""A report as a picture: the time of each layer by phase, or its products below the roofs of the machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from npuc.compiler.core.drawing.figure import SMALL, WIDTH, Axes, Figure, picture
from npuc.compiler.core.drawing.palette import PHASE_NAMES, PHASES, QUIET
from npuc.compiler.core.drawing.roofline import RoofPoint, roofline
from npuc.compiler.core.errors import UsageError
from npuc.compiler.report.layers import Line, by_layer, costing, folded, passes_of
from npuc.compiler.report.pictures.groups import draw_groups
from npuc.compiler.report.report import Report
from npuc.compiler.report.text.quantities import time_cell, time_unit

View = Literal["layers", "roofline", "groups"]
VIEWS: tuple[View, ...] = get_args(View)
BAR, ROOM = 0.2, 1.25
"""The height of a line, and that of axes and legend, in inches."""


def draw_reports(reports: Sequence[Report], view: View, kind: str) -> bytes:
    """
    The picture of reports of one program as a file of a kind (`svg`, `png`, `pdf`), a panel for each backend.

    Rooflines and groups are of the first report.

    Raises `UsageError` for reports without times, for a roofline of a report that does not say what it takes, and for
    groups of layers where there are none.
    """
    if view == "roofline":
        return _roofline(reports[0], kind)
    if view == "groups":
        return draw_groups(reports[0], kind)
    timed = [report for report in reports if report.totals.seconds]
    if not timed:
        raise UsageError("the report has no times to draw", hint="-b cycle, roofline and maestro model time")
    whole = [costing(by_layer(report.ops)) for report in timed]
    shown = [folded(lines) for lines in whole]
    height = ROOM + BAR * max(map(len, shown))

    def fill(figure: Figure) -> None:
        panels = figure.subplots(1, len(timed), squeeze=False)[0]
        for axes, report, lines in zip(panels, timed, shown, strict=True):
            _layers(axes, lines, report.totals.seconds or 0.0)
            if len(timed) > 1:
                axes.set_title(report.backend, color=QUIET)
        handles = {label: one for axes in panels for one, label in zip(*axes.get_legend_handles_labels(), strict=True)}
        ordered = [name for name in PHASE_NAMES.values() if name in handles]
        figure.legend([handles[name] for name in ordered], ordered, loc="outside upper left", ncols=6)

    first, lines = timed[0], shown[0]
    most = max(lines, key=lambda line: line.seconds or 0.0)
    seconds = first.totals.seconds or 0.0
    what = "training step" if any(op.phase != "forward" for op in first.ops) else "forward pass"
    title = (
        f"A {what} of {first.network} takes {time_cell(seconds)}; {(most.seconds or 0) / seconds:.0%} in {most.label}"
    )
    return picture(kind, (WIDTH, height), fill, title=title, about=_about(timed, len(whole[0]), len(lines)), rows=True)


def view_named(name: str | None) -> View:
    """The view of a name; the usual one of none."""
    known: dict[str, View] = {view: view for view in VIEWS}
    return known.get(name or "", "layers")


def _about(reports: Sequence[Report], layers: int, lines: int) -> str:
    machine = " and ".join(dict.fromkeys(str(report.hardware.get("name", "")) for report in reports))
    backends = ", ".join(report.backend for report in reports)
    note = f"; {layers:,} layers in {lines:,} lines" if lines < layers else ""
    return f"{reports[0].source} on {machine}, backend {backends}{note}; at each bar: share of the time, what limits it"


def _layers(axes: Axes, lines: Sequence[Line], whole: float) -> None:
    """A bar of phases for each line, with its share and its limit."""
    scale, unit = time_unit(max((line.seconds or 0.0 for line in lines), default=0.0))
    low = [0.0] * len(lines)
    for phase, colour in PHASES.items():
        values = [line.phases.get(phase, 0.0) / scale for line in lines]
        if any(values):
            axes.barh(range(len(lines)), values, 0.74, left=low, color=colour, label=PHASE_NAMES[phase])
            low = [a + b for a, b in zip(low, values, strict=True)]
    for place, line in enumerate(lines):
        share = (line.seconds or 0.0) / whole
        text = f" {share:.0%} {line.limit or ''}".rstrip() if share >= 0.005 else ""
        axes.text(low[place], place, text, va="center", fontsize=SMALL, color=QUIET)
    axes.set_yticks(range(len(lines)), [line.label for line in lines])
    axes.set_ylim(len(lines) - 0.4, -0.6)
    axes.set_xlim(0, 1.18 * max(low, default=1.0) or 1.0)
    axes.tick_params(axis="y", length=0)
    axes.grid(False, axis="y")
    axes.set_xlabel(f"time, {unit}")


def _roofline(report: Report, kind: str) -> bytes:
    """The matrix products of each layer and phase below the roofs."""
    known = [
        op
        for op in report.ops
        if op.macs
        and op.seconds
        and op.utilization
        and op.dram_read_bytes is not None
        and op.dram_write_bytes is not None
    ]
    dram = report.hardware.get("dram")
    rate = dram.get("gb_per_s") if isinstance(dram, dict) else None
    if not known or not isinstance(rate, int | float):
        raise UsageError("--view roofline needs matrix products with their traffic", hint="-b cycle models both")
    fullest = max(known, key=lambda op: op.macs or 0)
    peak = 2 * passes_of(fullest) / ((fullest.seconds or 1.0) * (fullest.utilization or 1.0))
    array = report.hardware.get("array")
    cores = array.get("cores", 1) if isinstance(array, dict) else 1
    cores = cores if isinstance(cores, int) else 1
    points = [
        RoofPoint(
            op.name,
            2 * (op.macs or 0) / ((op.dram_read_bytes or 0) + (op.dram_write_bytes or 0)),
            2 * (op.macs or 0) / (op.seconds or 1.0),
            op.repeat * (op.seconds or 0.0),
            PHASE_NAMES[op.phase],
        )
        for op in known
        if (op.dram_read_bytes or 0) + (op.dram_write_bytes or 0)
    ]
    order = list(PHASE_NAMES.values())
    points.sort(key=lambda point: order.index(point.kind))
    macs, seconds = (
        sum(op.repeat * (op.macs or 0) for op in known),
        sum(op.repeat * (op.seconds or 0.0) for op in known),
    )
    title = f"The matrix products of {report.network} reach {2 * macs / seconds / peak:.0%} of the peak"
    about = (
        f"{report.source} on {report.hardware.get('name')}, backend {report.backend}; the area of a point is its time"
    )
    return roofline(kind, peak, {"DRAM": float(rate) * cores * 1e9}, points, title=title, about=about)
