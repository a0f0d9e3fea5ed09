"""The picture: losses over the modelled time where the methods were executed, else time and energy beside plain."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, fsum, nan

from npuc.compiler.core.drawing.figure import Figure, picture
from npuc.compiler.core.drawing.palette import BLUE, QUIET, VERMILION
from npuc.compiler.explore.training.result import TrainingCost
from npuc.compiler.explore.training.target import WINDOW
from npuc.compiler.report.text.quantities import time_unit
from npuc.studies.training_methods.study import MethodsResults

COLUMNS = 4


def draw(study: MethodsResults, kind: str) -> bytes:
    """The picture of a study as a file of a kind (`png`, `pdf`, `svg`)."""
    title = f"Methods of training: {study.network} on {study.hardware}"
    if study.seeds:
        rows = ceil((len(study.trainings.trainings) - 1) / COLUMNS)
        return picture(
            kind,
            (11.0, 2.1 * rows + 1.0),
            lambda figure: _losses(figure, study, rows),
            title=title,
            about=f"loss over modelled time, mean of {study.seeds} seeds and of ten steps; grey: plain training in f32",
        )
    return picture(
        kind,
        (8.0, 0.36 * len(study.rows) + 1.6),
        lambda figure: _gains(figure, study),
        title=title,
        about="how many times as fast, and with how many times less energy, as plain training in f32",
    )


def _losses(figure: Figure, study: MethodsResults, rows: int) -> None:
    """A panel a method, with the line of plain training in each."""
    plain, *others = study.trainings.trainings
    scale, unit = time_unit(max(run.seconds[-1] for one in study.trainings.trainings for run in one.runs))
    base = _curve(plain, scale)
    grid = figure.subplots(rows, COLUMNS, squeeze=False, sharex=True, sharey=True)
    for number, axes in enumerate(grid.flat):
        if number >= len(others):
            axes.set_axis_off()
            continue
        axes.plot(*base, color=QUIET, linewidth=1)
        axes.plot(*_curve(others[number], scale), color=BLUE, linewidth=1.6)
        axes.set_title(others[number].name, fontsize=9, loc="left")
    for axes in grid[-1]:
        axes.set_xlabel(unit)
    for axes in grid[:, 0]:
        axes.set_ylabel("loss")


def _curve(cost: TrainingCost, scale: float) -> tuple[list[float], list[float]]:
    """When each ten steps end, and their mean loss, both as means over the seeds."""
    losses = [_smooth([nan if one is None else one for one in run.losses]) for run in cost.runs]
    times = [run.seconds[WINDOW - 1 :] for run in cost.runs]
    return _means(times, 1 / scale), _means(losses, 1.0)


def _smooth(losses: Sequence[float]) -> list[float]:
    return [fsum(losses[end - WINDOW : end]) / WINDOW for end in range(WINDOW, len(losses) + 1)]


def _means(series: Sequence[Sequence[float]], factor: float) -> list[float]:
    return [factor * fsum(values) / len(values) for values in zip(*series, strict=True)]


def _gains(figure: Figure, study: MethodsResults) -> None:
    rows = [row for row in study.rows if row.gain is not None]
    axes = figure.subplots()
    places = range(len(rows))
    axes.barh([place - 0.2 for place in places], [row.gain or 0.0 for row in rows], 0.38, color=BLUE, label="time")
    energies = [row.energy_gain or 0.0 for row in rows]
    if any(energies):
        axes.barh([place + 0.2 for place in places], energies, 0.38, color=VERMILION, label="energy")
    axes.axvline(1.0, color=QUIET, linewidth=1)
    axes.set_yticks([*places], [row.method for row in rows])
    axes.invert_yaxis()
    axes.set_xlabel("plain training over the method")
    axes.legend(fontsize=8)
