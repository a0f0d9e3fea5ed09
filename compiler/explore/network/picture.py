"""The shortest step for any price of a network, or any total where it has none, and the splits of one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from npuc.compiler.analysis.bandwidth.fastest import fastest_split
from npuc.compiler.analysis.bandwidth.limits import cost_limit, total_limit
from npuc.compiler.core.drawing.figure import WIDTH, Figure, picture
from npuc.compiler.core.drawing.palette import GREEN, SERIES
from npuc.compiler.explore.network.choose import GB, prices_of, traffic_on
from npuc.compiler.explore.network.program import SharedStep
from npuc.compiler.explore.network.result import NetworkResult, SplitChoice
from npuc.compiler.report.text.quantities import time_text

POINTS = 16
"""Points of the curve."""


def draw(result: NetworkResult, step: SharedStep, kind: str) -> bytes:
    """The picture as a file of a kind (`svg`, `png`, `pdf`)."""
    best = result.split("best")
    return picture(
        kind,
        (WIDTH, 4.4),
        lambda figure: _fill(figure, result, step),
        title=f"A step of {result.title} takes {time_text(best.seconds)} with the best bandwidths",
        about=f"{result.hardware}, {step.mesh.devices:,} devices; the line is the shortest step of any split",
    )


def _fill(figure: Figure, result: NetworkResult, step: SharedStep) -> None:
    axes = figure.subplots()
    splits = [one for one in result.splits if np.isfinite(one.seconds)]
    shapes = [replace(result.splits[0], usd=one.usd, gb_per_s=one.gb_per_s) for one in result.shapes]
    places = [_place(one) for one in (*splits, *shapes)]
    traffic, prices = (
        traffic_on(step, step.levels, result.settings),
        prices_of(step.levels, step.mesh.devices, needed=False),
    )
    curve: list[tuple[float, float]] = []
    for place in np.geomspace(min(places) / 2, max(places) * 2, POINTS).tolist():
        limit = (
            total_limit(len(step.levels), place * GB, "total")
            if prices is None
            else cost_limit(prices.tolist(), place, "price")
        )
        curve.append((place, fastest_split(traffic, [limit]).seconds * 1e3))
    axes.plot([place for place, _ in curve], [ms for _, ms in curve], color=GREEN, label="any split")
    for number, one in enumerate(splits):
        axes.plot([_place(one)], [one.seconds * 1e3], "o", color=SERIES[number], label=one.split)
    if result.shapes:
        axes.plot(
            places[len(splits) :], [one.seconds * 1e3 for one in result.shapes], "x", color="#8c959f", label="shapes"
        )
    axes.set_xscale("log")
    axes.set_xlabel("GB/s of a device" if prices is None else "network, USD")
    axes.set_ylabel("step, ms")
    axes.legend()


def _place(one: SplitChoice) -> float:
    """Where a split stands: its price, else its total."""
    return sum(one.gb_per_s) if one.usd is None else one.usd
