"""A training as a picture: the loss by step, and over the time of the machine; the accuracy below it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from npuc.compiler.core.drawing.figure import WIDTH, Axes, Figure, picture
from npuc.compiler.core.drawing.palette import BLUE, INK, MARKS, series_colour
from npuc.compiler.report.text.quantities import time_text, time_unit
from npuc.compiler.report.training.document import Training

ONE, TWO = 4.2, 5.6
"""The height of a picture with one row of panels, and with the accuracy below it."""
LOG_RATIO = 50.0
"""Losses whose largest is so many times the smallest stand on a logarithmic axis."""
DOTS = 60
"""The most steps that are marked."""
SMOOTHED = 25
"""Steps on different batches: one of so many of them all are averaged."""
Curve = tuple[str, str, Sequence[float]]
"""The name of a curve, its colour, and the place of each step along x."""


def draw_training(training: Training, kind: str) -> bytes:
    """
    The picture of a training as a file of a kind (`svg`, `png`, `pdf`).

    A loss that is no finite number is left out; the loss of a step stands where the step begins.
    """
    steps = range(len(training.losses))
    panels: list[tuple[str, list[Curve]]] = [("step", [("", BLUE if len(training.simulated) < 2 else INK, steps)])]
    if training.simulated:
        scale, unit = time_unit(max(clock.seconds_per_step for clock in training.simulated) * len(steps))
        panels.append(
            (
                f"time on the machine, {unit}",
                [
                    (
                        f"{clock.hardware}, {clock.backend}",
                        series_colour(number),
                        [step * clock.seconds_per_step / scale for step in steps],
                    )
                    for number, clock in enumerate(training.simulated)
                ],
            )
        )

    def fill(figure: Figure) -> None:
        rows: list[Callable[[Axes, Sequence[Curve]], None]] = [lambda axes, curves: _losses(axes, training, curves)]
        if training.accuracies:
            rows.append(lambda axes, curves: _accuracies(axes, training, curves))
        grid = figure.subplots(
            len(rows), len(panels), squeeze=False, sharex="col", sharey="row", height_ratios=(1.6, 1)[: len(rows)]
        )
        for number, (draw, line) in enumerate(zip(rows, grid, strict=True)):
            for axes, (name, curves) in zip(line, panels, strict=True):
                draw(axes, curves)
                if number == len(rows) - 1:
                    axes.set_xlabel(name)
            line[0].set_ylabel(("loss", "accuracy, %")[number])
        if len(training.simulated) > 1:
            figure.legend(
                handles=[one for one in grid[0][-1].get_lines() if not one.get_label().startswith("_")],
                loc="outside upper right",
                ncols=2,
            )

    height = TWO if training.accuracies else ONE
    return picture(kind, (WIDTH, height), fill, title=_title(training), about=_about(training))


def _title(training: Training) -> str:
    known = [loss for loss in training.losses if loss is not None]
    count = len(training.losses)
    if not known:
        return f"No loss of {training.source} is a finite number"
    if len(known) < count:
        lost = next(step for step, loss in enumerate(training.losses) if loss is None)
        return f"The loss of {training.source} is no finite number from step {lost:,} on"
    first, last = known[0], known[-1]
    if training.held_out is not None:
        return f"{training.source} knows {training.held_out:.1%} of held-out {training.dataset} after {count:,} steps"
    changes = f"falls from {first:.3g} to" if last < first else f"rises from {first:.3g} to"
    return f"The loss of {training.source} {changes if last != first else 'stays at'} {last:.3g} in {count:,} steps"


def _about(training: Training) -> str:
    clocks = (
        f"{clock.hardware}, backend {clock.backend}: {time_text(clock.seconds_per_step)} a step"
        for clock in training.simulated
    )
    zero = ["losses of 0 have no place on the logarithmic axis"] if _is_log(training) and 0.0 in training.losses else []
    wide = len(training.losses) // SMOOTHED
    smooth = [f"bold: mean of {wide} steps"] if training.dataset is not None and wide > 1 else []
    return "; ".join([*([] if training.data is None else [training.data]), *clocks, *zero, *smooth])


def _is_log(training: Training) -> bool:
    """Whether losses differ so much that their axis is logarithmic."""
    values = [loss for loss in training.losses if loss is not None]
    positive = [loss for loss in values if loss > 0]
    return bool(positive) and min(values) >= 0 and max(values) > LOG_RATIO * min(positive)


def _losses(axes: Axes, training: Training, curves: Sequence[Curve]) -> None:
    """The losses; on a logarithmic axis, where they differ much, those of 0 are left out."""
    if _is_log(training):
        axes.set_yscale("log", nonpositive="mask")
    for number, (name, colour, places) in enumerate(curves):
        known = [(place, loss) for place, loss in zip(places, training.losses, strict=True) if loss is not None]
        _draw(axes, training, known, name, colour, number)


def _accuracies(axes: Axes, training: Training, curves: Sequence[Curve]) -> None:
    for number, (name, colour, places) in enumerate(curves):
        shares = [100 * share for share in training.accuracies]
        _draw(axes, training, list(zip(places, shares, strict=True)), name, colour, number)
    axes.set_ylim(0, 104)


def _draw(
    axes: Axes, training: Training, points: Sequence[tuple[float, float]], name: str, colour: str, number: int
) -> None:
    """A curve; where each step has another batch its mean over steps, with the steps themselves behind it."""
    mark = MARKS[number] if len(points) <= DOTS else None
    x, y = [place for place, _ in points], [value for _, value in points]
    wide = len(points) // SMOOTHED
    if training.dataset is not None and wide > 1:
        axes.plot(x, y, color=colour, linewidth=0.8, alpha=0.35)
        y, mark = [sum(y[max(0, n + 1 - wide) : n + 1]) / min(n + 1, wide) for n in range(len(y))], None
    axes.plot(x, y, color=colour, marker=mark, markersize=3.5, label=name, linewidth=1.6)
