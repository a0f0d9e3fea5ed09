"""The figure: how many times the cycles of a free mapping each machine takes, by contraction, a panel a model."""

from __future__ import annotations

from npuc.compiler.core.drawing.figure import Axes, Figure, picture
from npuc.compiler.core.drawing.palette import INK, PHASE_NAMES, series_colour
from npuc.studies.union.settings import FIXED, MODELS, Model
from npuc.studies.union.study import UnionResults

WIDTH = 0.82 / len(FIXED)
"""The width of a bar; those of all machines are a group."""


def draw(results: UnionResults, kind: str) -> bytes:
    """The picture of a study as a file of a kind (`png`, `pdf`, `svg`)."""
    return picture(
        kind,
        (max(8.0, 1.0 + 1.1 * len(results.contractions)), 6.4),
        lambda figure: _fill(figure, results),
        title="Times the cycles of a free mapping that machines with constraints take",
        about=f"{results.preset}; one array, one mapper, two cost models; a cross: the machine has no mapping",
    )


def _fill(figure: Figure, results: UnionResults) -> None:
    panels = figure.subplots(len(MODELS), 1, sharex=True, sharey=True)
    for axes, model in zip(panels, MODELS, strict=True):
        _bars(axes, results, model)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))


def _bars(axes: Axes, results: UnionResults, model: Model) -> None:
    for number, machine in enumerate(FIXED):
        shift = (number - (len(FIXED) - 1) / 2) * WIDTH
        times = [results.row(model, one, machine).over_free for one in results.contractions]
        found = [(place + shift, over) for place, over in enumerate(times) if over is not None]
        axes.bar(
            [at for at, _ in found],
            [over - 1 for _, over in found],
            WIDTH * 0.92,
            bottom=1,
            color=series_colour(number),
            label=machine,
        )
        lacking = [place + shift for place, over in enumerate(times) if over is None]
        axes.plot(lacking, [1.0] * len(lacking), "x", color=series_colour(number), markersize=5)
    axes.axhline(1.0, color=INK, linewidth=0.9, linestyle=(0, (4, 3)))
    axes.set_yscale("log")
    axes.set_ylabel("times free")
    axes.set_title(f"model {model}")
    names = [
        one.layer if one.phase == "forward" else f"{one.layer}\n{PHASE_NAMES.get(one.phase, one.phase)}"
        for one in results.contractions
    ]
    axes.set_xticks(range(len(names)), names)
    axes.grid(visible=False, axis="x")
