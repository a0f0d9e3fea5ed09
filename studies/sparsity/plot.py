"""The picture: gains in time of the step and of its products, a bar a method."""

from __future__ import annotations

from npuc.compiler.core.drawing.figure import Figure, picture
from npuc.compiler.core.drawing.palette import BLUE, QUIET, VERMILION
from npuc.studies.sparsity.study import SparsityResults


def draw(study: SparsityResults, kind: str) -> bytes:
    """The picture of a study as a file of a kind (`png`, `pdf`, `svg`)."""
    return picture(
        kind,
        (8.0, 0.34 * len(study.rows) + 1.6),
        lambda figure: _gains(figure, study),
        title=f"Sparse operands: a training step of {study.network}",
        about="how many times as fast as the dense step on the same machine: the step, and its products alone",
    )


def _gains(figure: Figure, study: SparsityResults) -> None:
    rows = [row for row in study.rows if row.method != "dense"]
    axes = figure.subplots()
    places = range(len(rows))
    axes.barh([place - 0.2 for place in places], [row.gain for row in rows], 0.38, color=BLUE, label="step")
    products = [row.matrix_gain or 0.0 for row in rows]
    axes.barh([place + 0.2 for place in places], products, 0.38, color=VERMILION, label="products")
    axes.axvline(1.0, color=QUIET, linewidth=1)
    axes.set_yticks([*places], [f"{row.machine}: {row.method}" for row in rows])
    axes.invert_yaxis()
    axes.set_xlabel("dense step over the sparse one")
    axes.legend(fontsize=8)
