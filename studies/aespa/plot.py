"""The picture: the gains of each product, and their means beside what is published."""

from __future__ import annotations

from npuc.compiler.core.drawing.figure import Figure, picture
from npuc.compiler.core.drawing.palette import BLUE, QUIET, VERMILION
from npuc.studies.aespa.settings import PUBLISHED
from npuc.studies.aespa.study import AespaResults


def draw(results: AespaResults, kind: str) -> bytes:
    """The picture of a study as a file of a kind (`png`, `pdf`, `svg`)."""
    return picture(
        kind,
        (8.0, 0.34 * len(results.rows) + 1.8),
        lambda figure: _fill(figure, results),
        title=f"Sparse products on the units of {results.machine.name}",
        about="how many times better than one EIE-like unit of the same elements; lines: published means",
    )


def _fill(figure: Figure, results: AespaResults) -> None:
    axes = figure.subplots()
    rows = results.rows
    places = range(len(rows))
    axes.barh([place - 0.2 for place in places], [row.speedup for row in rows], 0.38, color=BLUE, label="speed")
    axes.barh([place + 0.2 for place in places], [row.edp_gain for row in rows], 0.38, color=VERMILION, label="EDP")
    axes.axvline(1.0, color=QUIET, linewidth=1)
    for (_, value), colour in zip(PUBLISHED.items(), (BLUE, VERMILION), strict=True):
        axes.axvline(value, color=colour, linewidth=1, linestyle="--")
    axes.set_xscale("log")
    axes.set_yticks([*places], [row.kernel for row in rows])
    axes.invert_yaxis()
    axes.set_xlabel("gain")
    axes.legend(fontsize=8)
