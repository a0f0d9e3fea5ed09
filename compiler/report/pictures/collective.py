"""One collective as a picture: which chunk each level of the network works on, over time."""

from __future__ import annotations

from npuc.compiler.core.drawing.figure import WIDTH, Figure, picture
from npuc.compiler.core.drawing.palette import BLUE, GREEN, INK, ORANGE, QUIET, RIM, SKY, YELLOW
from npuc.compiler.report.explained import ExplainedCollective
from npuc.compiler.report.text.quantities import time_text, time_unit

COLOURS = {"reduce": (BLUE, SKY), "gather": (ORANGE, YELLOW), "exchange": (GREEN, SKY)}
"""Of what a stage does, those of even and of odd chunks."""
NAMES = {"reduce": "reduces", "gather": "gathers", "exchange": "exchanges"}
LANE, ROOM = 0.5, 1.1
"""The height of a level, and that of axes and legend, in inches."""
NARROW = 0.025
"""The least part of the time in which the number of a chunk is written."""


def draw_collective(one: ExplainedCollective, kind: str) -> bytes:
    """The picture of a collective as a file of a kind (`svg`, `png`, `pdf`)."""
    size, unit = time_unit(one.seconds)
    numbers = [level.level for level in one.levels]

    def fill(figure: Figure) -> None:
        axes = figure.subplots()
        labelled = set[str]()
        for stage in one.stages:
            lane, length = numbers.index(stage.level), (stage.end - stage.begin) / size
            colour = COLOURS[stage.part][stage.chunk % 2]
            label = NAMES[stage.part] if stage.part not in labelled else None
            labelled.add(stage.part)
            bar = [(stage.begin / size, length)]
            axes.broken_barh(bar, (lane - 0.375, 0.75), facecolor=colour, edgecolor="white", linewidth=0.4, label=label)
            if length > NARROW * one.seconds / size:
                axes.text(
                    stage.begin / size + length / 2, lane, f"{stage.chunk + 1}", ha="center", va="center", color=INK
                )
        axes.axvline(one.bound_seconds / size, color=QUIET, linestyle=(0, (5, 1.8)), label="lower bound")
        axes.set_yticks(range(len(numbers)), [level.shown for level in one.levels])
        axes.set_ylim(len(numbers) - 0.4, -0.6)
        axes.set_xlim(0, one.seconds / size)
        axes.set_xlabel(unit)
        axes.grid(False, axis="y")
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_color(RIM)
        figure.legend(loc="outside upper left", ncols=4)

    what = one.op.rpartition(".")[2].replace("_", "-")
    above = one.seconds / one.bound_seconds - 1 if one.bound_seconds else 0.0
    title = f"The {what} of {one.layer} ({one.of}) takes {time_text(one.seconds)}, {above:.1%} above the lower bound"
    chunks = "one chunk" if one.chunks == 1 else f"{one.chunks:,} chunks, every second one lighter"
    about = f"{one.devices:,} devices of {one.hardware}; {chunks}; latencies {one.latency}"
    return picture(kind, (WIDTH, ROOM + LANE * len(numbers)), fill, title=title, about=about)
