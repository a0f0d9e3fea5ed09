"""The roofline of a machine: what it can reach at each operational intensity, and points below it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from npuc.compiler.core.drawing.figure import SMALL, WIDTH, Axes, picture
from npuc.compiler.core.drawing.palette import INK, MARKS, QUIET, series_colour

HEIGHT = 4.8
NAMED = 8
"""The most points that are named: the largest."""


@dataclass(frozen=True)
class RoofPoint:
    """
    An operation: its name, operations per byte, operations per second that it reaches, and a size (its time in
    seconds). Points of a `kind` have one colour.
    """

    name: str
    intensity: float
    reached: float
    size: float = 1.0
    kind: str = ""


def roofline(
    kind: str, peak: float, bandwidths: Mapping[str, float], points: Sequence[RoofPoint], *, title: str, about: str = ""
) -> bytes:
    """
    A roofline as a file of a kind (`svg`, `png`, `pdf`).

    `peak` is in operations per second, a multiply-accumulate being two; `bandwidths` are bytes per second by the name
    of a memory. The area of a point is its share of the sizes; the largest are named.
    """
    ridges = {name: peak / rate for name, rate in bandwidths.items()}
    known = [*ridges.values(), *(point.intensity for point in points if point.intensity > 0)]
    least, most = min(known) / 4, max(known) * 4

    def fill(axes: Axes) -> None:
        for name, rate in bandwidths.items():
            ridge = ridges[name]
            axes.plot((least, ridge), (least * rate / 1e12, peak / 1e12), color=INK, linewidth=1.6)
            text = f"{name} {rate / 1e9:,.4g} GB/s"
            at = (least * 1.15, least * 1.15 * rate / 1e12)
            axes.annotate(text, at, (4, -3), textcoords="offset points", va="top", fontsize=SMALL, color=QUIET)
            axes.axvline(ridge, color=QUIET, linewidth=0.9, linestyle=(0, (1, 1.5)), zorder=1)
            foot = {"textcoords": "offset points", "fontsize": SMALL, "color": QUIET, "rotation": 90}
            low = axes.get_xaxis_transform()
            axes.annotate(f"ridge {ridge:,.4g}", (ridge, 0.02), (3, 0), xycoords=low, va="bottom", **foot)
        left = min(ridges.values())
        axes.plot((left, most), (peak / 1e12, peak / 1e12), color=INK, linewidth=1.6)
        peak_text = f"peak {peak / 1e12:,.4g} TOPS"
        axes.annotate(
            peak_text, (most, peak / 1e12), (-2, 4), textcoords="offset points", ha="right", fontsize=SMALL, color=QUIET
        )
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(least, most)
        reached = [point.reached for point in points if point.reached > 0]
        axes.set_ylim(min([peak / 100, *reached]) / 2e12, peak * 4 / 1e12)
        _draw_points(axes, points)
        axes.set_xlabel("operational intensity, operations per byte of DRAM")
        axes.set_ylabel("reached, tera operations per second")

    return picture(kind, (WIDTH, HEIGHT), lambda figure: fill(figure.subplots()), title=title, about=about)


def _draw_points(axes: Axes, points: Sequence[RoofPoint]) -> None:
    """The points by kind, larger ones below smaller, and the names of the largest."""
    total = sum(point.size for point in points) or 1.0
    for number, name in enumerate(dict.fromkeys(point.kind for point in points)):
        own = sorted((point for point in points if point.kind == name), key=lambda point: -point.size)
        axes.scatter(
            [point.intensity for point in own],
            [point.reached / 1e12 for point in own],
            s=[26 + 700 * point.size / total for point in own],
            color=series_colour(number),
            marker=MARKS[number % len(MARKS)],
            alpha=0.85,
            edgecolors="white",
            linewidths=0.6,
            zorder=3,
            label=name or "_",
        )
    figure = axes.figure.figure
    figure.draw_without_rendering()
    placed: list[tuple[float, float, float]] = []
    for point in sorted(points, key=lambda point: -point.size):
        x, y = axes.transData.transform((point.intensity, point.reached / 1e12)) * 72 / figure.dpi
        wide = 0.62 * SMALL * len(point.name) + 10
        if len(placed) < NAMED and not any(
            abs(y - b) < 1.5 * SMALL and x < a + w and a < x + wide for a, b, w in placed
        ):
            placed.append((x, y, wide))
            at = (point.intensity, point.reached / 1e12)
            axes.annotate(point.name, at, (6, -8), textcoords="offset points", fontsize=SMALL, va="top")
    if any(point.kind for point in points):
        axes.legend(loc="upper left", ncols=3, columnspacing=1.0)
