"""Figures 5.2, 5.3, 5.4 (against the capacity) and 5.6 (against the batch)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from npuc.compiler.report import Report
from npuc.compiler.report.sections import IterationFacts
from npuc.compiler.report.text.quantities import TIME_UNITS
from npuc.studies.thesis.figures.panels import (
    DOTTED,
    STYLES,
    THIRD,
    Axes,
    Canvas,
    Curve,
    capacity_axis,
    curve,
    empty,
    legend,
    name_axes,
    paired_panels,
    panels,
    scan,
    unit_of,
)
from npuc.studies.thesis.measures import seconds
from npuc.studies.thesis.networks import ThesisNetwork
from npuc.studies.thesis.scores import Point
from npuc.studies.thesis.settings import BATCH_MIB, BATCHES, FASTER_GB_PER_S, FASTER_TFLOPS, GB_PER_S, TFLOPS
from npuc.studies.thesis.study import ThesisResults

BOUND = FASTER_TFLOPS / TFLOPS
BYTES = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
MARKS: Sequence[dict[str, Any]] = ({"marker": "o", "markersize": 8}, {"marker": "s", "markersize": 4.5})
"""The marks of the two lines; both are visible where the lines coincide."""
SAMPLES = ((1e6, "million samples / s"), (1.0, "samples / s"))
ROOM = 1.08
"""The end of an axis from 0, relative to its largest value."""


def traffic_points(network: ThesisNetwork) -> Iterator[Point]:
    """Figure 5.2."""
    yield from scan(network)


def draw_traffic(study: ThesisResults, canvas: Canvas) -> None:
    """Bytes in and out against the capacity."""
    found, names = panels(study, canvas), list[str]()
    for panel in found:
        lines = [curve(study, scan(panel.network), value) for value in (_bytes_in, _bytes_out)]
        scale, unit = unit_of([value for _, y in lines for value in y], BYTES)
        names.append(f"traffic ({unit})")
        for (x, y), look, label in zip(lines, STYLES, ("in", "out"), strict=True):
            panel.axes.plot(x, [value / scale for value in y], label=label, **look)
        _from_zero(panel.axes, [value / scale for _, y in lines for value in y])
        capacity_axis(panel.axes, label=panel.last)
    name_axes(found, names)
    legend(study, canvas, [found[0].axes])


def _bytes_in(report: Report) -> float:
    return report.totals.dram_read_bytes or 0


def _bytes_out(report: Report) -> float:
    return report.totals.dram_write_bytes or 0


def time_points(network: ThesisNetwork) -> Iterator[Point]:
    """Figure 5.3."""
    yield from scan(network)
    yield from scan(network, tflops=FASTER_TFLOPS)


def draw_times(study: ThesisResults, canvas: Canvas) -> None:
    """Time against the capacity at two throughputs; below, the speed-up of the higher one."""
    found, names = paired_panels(study, canvas), list[str]()
    for panel in found:
        above, below = panel.axes, panel.below
        slow = curve(study, scan(panel.network), seconds)
        fast = curve(study, scan(panel.network, tflops=FASTER_TFLOPS), seconds)
        scale, unit = unit_of(slow[1], TIME_UNITS)
        names.append(f"time ({unit})")
        for (x, y), look, tflops in zip((slow, fast), STYLES, (TFLOPS, FASTER_TFLOPS), strict=True):
            above.plot(x, [value / scale for value in y], label=f"{tflops:g} TFLOPS", **look)
        _from_zero(above, [value / scale for value in slow[1]])
        ratios = _ratios(slow, fast)
        below.plot(list(ratios), list(ratios.values()), label="ratio of the two", color=THIRD, linewidth=1.9)
        below.axhline(BOUND, label=f"bound {BOUND:.2f}", **DOTTED)
        below.set_ylim(0.95, 1.8)
        below.set_yticks((1, 1.25, 1.5, 1.75), ("1", "", "1.5", ""))
        capacity_axis(above, label=False)
        above.tick_params(labelbottom=False)
        capacity_axis(below, label=panel.last)
        if panel.first:
            below.set_ylabel("ratio")
    name_axes(found, names)
    legend(study, canvas, [found[0].axes, found[0].below])


def _ratios(slow: Curve, fast: Curve) -> dict[int, float]:
    """The ratio of two curves at the capacities that both have."""
    known = dict(zip(*fast, strict=True))
    return {mib: value / known[mib] for mib, value in zip(*slow, strict=True) if mib in known}


def bandwidth_points(network: ThesisNetwork) -> Iterator[Point]:
    """Figure 5.4."""
    yield from scan(network)
    yield from scan(network, gb_per_s=FASTER_GB_PER_S)


def draw_bandwidths(study: ThesisResults, canvas: Canvas) -> None:
    """The average bandwidth against the capacity, with two bandwidths of the memory."""
    for panel in (found := panels(study, canvas)):
        for rate, look in zip((GB_PER_S, FASTER_GB_PER_S), STYLES, strict=True):
            x, y = curve(study, scan(panel.network, gb_per_s=rate), _average)
            panel.axes.plot(x, y, label=f"{rate:g} GB/s memory", **look)
        panel.axes.axhline(GB_PER_S, **DOTTED)
        panel.axes.axhline(FASTER_GB_PER_S, label="full bandwidth", **DOTTED)
        panel.axes.set_ylim(0, FASTER_GB_PER_S * ROOM)
        capacity_axis(panel.axes, label=panel.last)
        if panel.first:
            panel.axes.set_ylabel("average bandwidth (GB/s)")
    legend(study, canvas, [found[0].axes])


def _average(report: Report) -> float:
    return _iteration(report).average_gb_per_s


def _iteration(report: Report) -> IterationFacts:
    found = IterationFacts.found_in(report)
    assert found is not None
    return found


def batch_points(network: ThesisNetwork) -> Iterator[Point]:
    """Figure 5.6."""
    for batch in BATCHES:
        yield from (Point(network, mib, batch=batch) for mib in BATCH_MIB)


def draw_batches(study: ThesisResults, canvas: Canvas) -> None:
    """Samples per second against the batch at two capacities."""
    found, names = panels(study, canvas), list[str]()
    for panel in found:
        axes = panel.axes
        points = [[Point(panel.network, mib, batch=batch) for batch in BATCHES] for mib in BATCH_MIB]
        lines = [
            [(p.batch, _samples(study.scores.reports[p])) for p in own if p in study.scores.reports] for own in points
        ]
        scale, unit = unit_of([y for line in lines for _, y in line], SAMPLES)
        names.append(unit)
        for mib, line, look, mark in zip(BATCH_MIB, lines, STYLES, MARKS, strict=True):
            x, y = [batch for batch, _ in line], [value / scale for _, value in line]
            axes.plot(x, y, label=f"{mib} MB", **mark, **look)
        _from_zero(axes, [y / scale for line in lines for _, y in line])
        axes.set_xscale("log", base=2)
        axes.set_xticks(BATCHES, [str(batch) for batch in BATCHES])
        axes.minorticks_off()
        axes.set_xlim(BATCHES[0] / 1.15, BATCHES[-1] * 1.15)
        if panel.last:
            axes.set_xlabel("batch")
    name_axes(found, names)
    legend(study, canvas, [found[0].axes])


def _samples(report: Report) -> float:
    return _iteration(report).samples_per_second


def _from_zero(axes: Axes, values: Sequence[float]) -> None:
    """An axis that begins at 0 and holds the values."""
    if not values:
        empty(axes)
    axes.set_ylim(0, ROOM * max(values, default=1.0) or 1.0)
    axes.yaxis.set_major_formatter("{x:,g}")
