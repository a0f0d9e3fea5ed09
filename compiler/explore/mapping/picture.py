"""The best cost over the number of mappings tried, a line per contraction, relative to the default mapping."""

from __future__ import annotations

from npuc.compiler.core.drawing.figure import GRID, new_figure, picture_bytes
from npuc.compiler.explore.mapping.result import Found, SearchResult


def draw(result: SearchResult, kind: str) -> bytes:
    """The picture of a search as a file of a kind (`png`, `pdf`, `svg`)."""
    figure = new_figure(7.0, 4.6)
    axes = figure.subplots(gridspec_kw={"left": 0.1, "right": 0.97, "top": 0.91, "bottom": 0.12})
    for found in result.found:
        counts, costs = _steps(result, found)
        axes.step(counts, costs, where="post", linewidth=1.0, alpha=0.6)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("mappings tried")
    axes.set_ylabel(f"best {result.settings.objective} so far, over the default mapping's")
    axes.set_title(f"{result.title} on {result.hardware}: {result.settings.mapper}", loc="left", fontsize=10)
    axes.grid(True, color=GRID, linewidth=0.7)
    return picture_bytes(figure, kind)


def _steps(result: SearchResult, found: Found) -> tuple[list[int], list[float]]:
    """The points where a curve falls, and its end, relative to the first cost where there is no default cost."""
    default = found.default
    unit = found.curve[0][1] if default is None else default.of(result.settings.objective)
    counts = [count for count, _ in found.curve] + [found.evaluations]
    costs = [cost / unit for _, cost in found.curve]
    return counts, [*costs, costs[-1]]
