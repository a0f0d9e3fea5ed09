"""The rooflines of a machine, one for each backend, as a picture."""

from __future__ import annotations

from collections.abc import Sequence

from npuc.compiler.core.drawing.figure import SMALL, Axes, Figure, picture
from npuc.compiler.core.drawing.palette import QUIET, series_colour
from npuc.compiler.core.drawing.ticks import number_text
from npuc.compiler.core.errors import UsageError
from npuc.compiler.reference.machine import BackendSees, MachinePage

SIZE = (8.0, 4.6)
AROUND = 32.0
"""The picture shows so many times less and more than the ridge points."""
DASHES = ("-", (0, (6, 3)), (0, (1.5, 2.5)))
"""Roofs that lie on each other stay visible."""


def draw_rooflines(page: MachinePage, kind: str) -> bytes:
    """
    The attainable operations a second over operations a byte, as a file of a kind (svg, png, pdf).

    Raises `UsageError` where no backend knows both peak and bandwidth.
    """
    roofs: dict[str, list[BackendSees]] = {}
    for one in page.backends:
        if one.ridge_ops_per_byte is not None:
            roofs.setdefault(_numbers(one), []).append(one)
    if not roofs:
        raise UsageError(f"--plot: no backend knows the peak and the bandwidth of '{page.name}'")
    ridges = [same[0].ridge_ops_per_byte or 1.0 for same in roofs.values()]

    def fill(figure: Figure) -> None:
        axes = figure.subplots()
        for number, (numbers, same) in enumerate(roofs.items()):
            label = f"{', '.join(one.backend for one in same)}: {numbers}"
            _roof(axes, same[0], label, ridges, number)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xlabel("operations per byte from or to memory")
        axes.set_ylabel("attainable TOP/s")
        axes.legend(loc="lower right")

    return picture(kind, SIZE, fill, title=f"{page.name}: what can be attained", about="as each backend sees it")


def _numbers(roof: BackendSees) -> str:
    """A roof in numbers, equal for roofs that lie on each other."""
    peak, rate = (roof.peak_ops_per_second or 0.0) / 1e12, (roof.bytes_per_second or 0.0) / 1e9
    return f"{peak:,.4g} TOP/s, {rate:,.4g} GB/s"


def _roof(axes: Axes, roof: BackendSees, label: str, ridges: Sequence[float], number: int) -> None:
    """One roof: bandwidth up to its ridge point, then the peak; its ridge is named."""
    low, high = min(ridges) / AROUND, max(ridges) * AROUND
    ridge, peak = roof.ridge_ops_per_byte or 1.0, (roof.peak_ops_per_second or 0.0) / 1e12
    colour = series_colour(number)
    style = {"color": colour, "linestyle": DASHES[number % len(DASHES)], "linewidth": 2.6 - 0.5 * number}
    axes.plot([low, ridge, high], [peak * low / ridge, peak, peak], label=label, zorder=3 + number, **style)
    axes.plot([ridge], [peak], "o", color=colour, zorder=3 + number)
    near = sum(other < ridge for other in ridges)
    text = f"ridge {number_text(float(f'{ridge:.4g}'))} OP/B"
    place = {"xytext": (0, 7 + 12 * (near % 2)), "textcoords": "offset points"}
    axes.annotate(text, (ridge, peak), ha="center", color=QUIET, fontsize=SMALL, **place)
