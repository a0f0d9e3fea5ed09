"""The figure: reductions by network, and by the block in registers."""

from __future__ import annotations

from collections.abc import Sequence

from npuc.compiler.core.drawing.figure import Axes, Figure, picture
from npuc.compiler.core.drawing.palette import INK, series_colour
from npuc.studies.rasa.settings import BLOCKS, DESIGNS
from npuc.studies.rasa.study import MEAN, RasaResults, block_text

SHOWN = DESIGNS[1:]
WIDTH = 0.82 / len(SHOWN)
"""The width of a bar; those of all designs are a group."""


def draw(results: RasaResults, kind: str) -> bytes:
    """The picture of a study as a file of a kind (`png`, `pdf`, `svg`)."""
    return picture(
        kind,
        (11, 4.8),
        lambda figure: _fill(figure, results),
        title="Overlapped tile instructions: % less time than one after another",
        about=results.preset,
    )


def _fill(figure: Figure, results: RasaResults) -> None:
    first, second = figure.subplots(1, 2, sharey=True)
    names = (*results.networks, MEAN)
    _bars(first, names, [[results.reduction(name, design) for name in names] for design in SHOWN])
    for number, design in enumerate(SHOWN):
        value = results.published.get(design)
        if value is not None:
            at = len(names) - 1 + _shift(number)
            first.plot([at], [value], "x", color=INK, markersize=7, label="published mean")
    first.set_title("by network")
    first.set_ylabel("% less time")
    blocks = [block_text(block) for block in BLOCKS]
    _bars(second, blocks, [[results.reduction(MEAN, design, block) for block in BLOCKS] for design in SHOWN])
    second.set_title("mean, by tiles of the result in registers (rows x columns)")
    handles, labels = first.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))


def _bars(axes: Axes, groups: Sequence[str], values: Sequence[Sequence[float]]) -> None:
    """A group of bars for each name, a bar for each design."""
    for number, (design, own) in enumerate(zip(SHOWN, values, strict=True)):
        at = [place + _shift(number) for place in range(len(groups))]
        axes.bar(at, own, WIDTH * 0.92, color=series_colour(number), label=design)
    axes.set_xticks(range(len(groups)), groups)
    axes.set_ylim(0, 100)
    axes.grid(visible=False, axis="x")


def _shift(number: int) -> float:
    """How far the bar of a design is from the middle of its group."""
    return (number - (len(SHOWN) - 1) / 2) * WIDTH
