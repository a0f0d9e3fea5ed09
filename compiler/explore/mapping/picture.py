"""The best cost over the number of mappings tried, a line per contraction, relative to the default mapping."""

from __future__ import annotations

from math import isclose
from typing import TypeAlias

from npuc.compiler.core.drawing.axes import legend_beside
from npuc.compiler.core.drawing.figure import WIDTH, Figure, picture
from npuc.compiler.core.drawing.palette import PHASE_NAMES, QUIET, SERIES, series_colour, series_dashes
from npuc.compiler.explore.mapping.result import Found, SearchResult

Curve: TypeAlias = tuple[list[int], list[float]]
"""Numbers of mappings tried, and the best cost after them."""
THIN, MORE = 1.2, 2.0
"""The width of a line, and the increment for each that is drawn over it, up to three."""


def draw(result: SearchResult, kind: str) -> bytes:
    """The picture of a search as a file of a kind (`svg`, `png`, `pdf`)."""

    def fill(figure: Figure) -> None:
        axes = figure.subplots()
        names = {row.number: f"{row.layer} {PHASE_NAMES.get(row.phase, row.phase)}" for row in reversed(result.rows)}
        curves = [_steps(result, found) for found in result.found]
        for number, (counts, costs) in enumerate(curves):
            covers = sum(_is_over((counts, costs), other) for other in curves[number + 1 :])
            style: dict[str, object] = {"color": series_colour(number), "linestyle": series_dashes(number)}
            width = THIN + MORE * min(3, covers)
            axes.step(counts, costs, where="post", linewidth=width, label=names[number], **style)
        axes.axhline(1.0, color=QUIET, linewidth=1.0, linestyle=(0, (1, 1.5)))
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("mappings tried")
        axes.set_ylabel(f"best {result.settings.objective} so far, over the default mapping's")
        if len(result.found) <= len(SERIES):
            legend_beside(axes)

    gains = [_steps(result, found)[1][-1] for found in result.found]
    best = f": the best contraction takes {min(gains):.2g} of its default mapping's" if gains else ""
    title = f"What a search of mappings gains for {result.title}{best}"
    about = f"{result.hardware}, {result.settings.mapper} search, objective {result.settings.objective}"
    return picture(kind, (WIDTH, 4.6), fill, title=title, about=about)


def _is_over(one: Curve, other: Curve) -> bool:
    """Whether two curves are one to the eye."""
    return one[0] == other[0] and all(isclose(a, b, rel_tol=0.03) for a, b in zip(one[1], other[1], strict=True))


def _steps(result: SearchResult, found: Found) -> Curve:
    """The points where a curve falls, and its end, relative to the first cost where there is no default cost."""
    default = found.default
    unit = found.curve[0][1] if default is None else default.of(result.settings.objective)
    counts = [count for count, _ in found.curve] + [found.evaluations]
    costs = [cost / unit for _, cost in found.curve]
    return counts, [*costs, costs[-1]]
