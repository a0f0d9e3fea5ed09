"""The shortest step against the price of the network, for each workload and program."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from npuc.compiler.analysis.bandwidth.curve import fastest_curve
from npuc.compiler.analysis.bandwidth.traffic import StepTraffic
from npuc.compiler.core.drawing.figure import Axes, Figure, picture
from npuc.compiler.core.drawing.palette import BLUE, GREEN, INK, VERMILION
from npuc.studies.libra.study import LibraResults, SplitRow, devices_of, prices_of

COLUMNS = 3
POINTS = 12
"""Budgets of a curve."""
MUSD = 1e6


def draw(study: LibraResults, kind: str) -> bytes:
    """The picture of a study as a file of a kind (`png`, `pdf`, `svg`)."""
    rows = (*study.rows, *study.programs)
    height = ceil(len(rows) / COLUMNS)
    return picture(
        kind,
        (11.0, 2.6 * height + 0.6),
        lambda figure: _fill(figure, rows, study.steps),
        title="What bandwidth of a network of 4,096 devices is worth",
        about="the shortest step for any price of the network, and three splits of one total",
    )


def _fill(figure: Figure, rows: Sequence[SplitRow], steps: Sequence[StepTraffic]) -> None:
    grid = figure.subplots(ceil(len(rows) / COLUMNS), COLUMNS, squeeze=False)
    for number, axes in enumerate(grid.flat):
        if number >= len(rows):
            axes.set_axis_off()
            continue
        _one(axes, rows[number], steps[number])
    grid.flat[0].legend(fontsize=8)


def _one(axes: Axes, row: SplitRow, step: StepTraffic) -> None:
    points = [
        (row.equal_split_usd, row.equal_split_ms, "equal split", "s", INK),
        (row.optimum_usd, row.optimum_ms, "shortest step", "o", BLUE),
        (row.time_cost_usd, row.time_cost_ms, "least time x cost", "D", VERMILION),
    ]
    known = [usd for usd, *_ in points if usd is not None]
    curve = budget_curve(row.network, step, min(known) / 3, max(known) * 2)
    axes.plot([usd / MUSD for usd, _ in curve], [ms for _, ms in curve], color=GREEN, label="any total")
    for usd, ms, label, marker, colour in points:
        if usd is not None and ms is not None:
            axes.plot([usd / MUSD], [ms], marker=marker, color=colour, linestyle="none", label=label)
    axes.set_xscale("log")
    limits = f", {row.total_gb_per_s:g} GB/s, limits" if row.constraints else ""
    axes.set_title(f"{row.workload}, {row.network}{limits}")
    axes.set_xlabel("network, million USD")
    axes.set_ylabel("step, ms")


def budget_curve(network: str, step: StepTraffic, least: float, most: float) -> list[tuple[float, float]]:
    """USD and the ms of the shortest step that a network of this price has, for prices in a range."""
    prices = (prices_of(network) * devices_of(network)).tolist()
    return [(usd, seconds * 1e3) for usd, seconds in fastest_curve(step, prices, least, most, POINTS)]
