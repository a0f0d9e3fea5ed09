"""The gain of each class over the machine's dataflow alone, a bar each."""

from __future__ import annotations

from npuc.compiler.analysis.mapping.flexibility.axes import class_of
from npuc.compiler.core.drawing.figure import WIDTH, Figure, picture
from npuc.compiler.core.drawing.palette import BLUE, ORANGE, QUIET
from npuc.compiler.explore.flexibility.result import FREE, Flexibility


def draw(result: Flexibility, kind: str) -> bytes:
    """The picture of a result as a file of a kind (`svg`, `png`, `pdf`)."""
    names = [class_of(one) + ("\nmachine" if one == result.supports else "") for one in result.compared]
    gains = [result.gain(one) for one in result.compared]

    def fill(figure: Figure) -> None:
        axes = figure.subplots()
        colours = [ORANGE if one == result.supports else BLUE for one in result.compared]
        axes.bar(range(len(gains)), gains, color=colours, width=0.72)
        for at, gain in enumerate(gains):
            axes.annotate(f"{gain:.3g}", (at, gain), ha="center", va="bottom", fontsize=8)
        axes.axhline(1.0, color=QUIET, linewidth=1.0, linestyle=(0, (1, 1.5)))
        axes.set_xticks(range(len(names)), names, fontsize=8)
        axes.tick_params(axis="x", length=0)
        axes.grid(False, axis="x")
        axes.set_xlabel("class: tile sizes, loop order, parallel dimensions, shape of the array (1: free)")
        axes.set_ylabel(f"gain in {result.settings.objective} over the dataflow alone")

    title = f"Flexibility on all axes gains {result.gain(FREE):.3g} for {result.title}"
    own = f"class {result.flexible} gains {result.gain(result.supports):.3g}"
    about = f"{result.hardware}, dataflow {result.dataflow}: {own}"
    return picture(kind, (WIDTH, 4.2), fill, title=title, about=about)
