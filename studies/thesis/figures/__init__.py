"""
The figures 5.1 to 5.6 of the study, of any networks: which points each needs, and how it is drawn.

    data = draw(study, ["5.2"], "png")
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from npuc.compiler.core.drawing.figure import Figure, picture
from npuc.compiler.core.errors import UsageError
from npuc.studies.thesis.figures.curves import (
    bandwidth_points,
    batch_points,
    draw_bandwidths,
    draw_batches,
    draw_times,
    draw_traffic,
    time_points,
    traffic_points,
)
from npuc.studies.thesis.figures.layers import draw_roof, draw_types, no_points, type_points
from npuc.studies.thesis.figures.panels import FONT, Canvas, shape_of, size_of
from npuc.studies.thesis.networks import BATCH, ThesisNetwork, has_batch
from npuc.studies.thesis.scores import Point
from npuc.studies.thesis.study import ThesisResults


@dataclass(frozen=True)
class StudyFigure:
    """A figure: its title, the points that it needs of a network, and how it is drawn onto an empty canvas."""

    title: str
    points: Callable[[ThesisNetwork], Iterator[Point]]
    draw: Callable[[ThesisResults, Canvas], None]


FIGURES: Mapping[str, StudyFigure] = {
    "5.1": StudyFigure("Attainable performance by reuse frequency", no_points, draw_roof),
    "5.2": StudyFigure("Off-chip traffic of an iteration", traffic_points, draw_traffic),
    "5.3": StudyFigure("Time of an iteration at two throughputs", time_points, draw_times),
    "5.4": StudyFigure("Average bandwidth, with two memories", bandwidth_points, draw_bandwidths),
    "5.5": StudyFigure("Time by type of layer; above the bars the share of type II", type_points, draw_types),
    "5.6": StudyFigure("Samples a second by batch", batch_points, draw_batches),
}
"""By number."""


def figures_of(numbers: Sequence[str], networks: Sequence[ThesisNetwork]) -> list[str]:
    """
    The figures that are meant, all without any. Raises `UsageError` for others, and for one that a network cannot have.
    """
    chosen = list(dict.fromkeys(numbers or FIGURES))
    for number in chosen:
        if number not in FIGURES:
            raise UsageError(f"--figure {number}: there is no such figure", hint=f"known: {', '.join(FIGURES)}")
    without = [network.source for network in networks if not has_batch(network)] if "5.6" in chosen else []
    if without:
        rest = " ".join(f"--figure {number}" for number in chosen if number != "5.6")
        raise UsageError(
            f"figure 5.6 varies the parameter '{BATCH}', which {without[0]} does not have",
            hint=f"the others: {rest}" if rest else None,
        )
    return chosen


def figure_points(numbers: Sequence[str], networks: Sequence[ThesisNetwork]) -> list[Point]:
    """The points that figures need."""
    return [point for number in numbers for network in networks for point in FIGURES[number].points(network)]


def draw(study: ThesisResults, numbers: Sequence[str], kind: str) -> bytes:
    """Figures on one sheet, as a file of a kind (`png`, `pdf`, `svg`)."""
    rows, columns = shape_of(len(numbers))
    if columns > rows:
        rows, columns = columns, rows  # in portrait format, as pages are
    width, height = size_of(len(study.networks))

    def fill(sheet: Figure) -> None:
        parts = [sheet] if len(numbers) == 1 else sheet.subfigures(rows, columns, squeeze=False).flat
        for number, part in zip(numbers, parts, strict=False):
            FIGURES[number].draw(study, part)
            part.suptitle(f"{number}  {FIGURES[number].title}", x=0.01, ha="left", fontsize="large", fontweight="bold")

    return picture(kind, (columns * width, rows * height), fill, letters=FONT)
