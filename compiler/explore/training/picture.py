"""The progress of trainings over time: a line each, with a mark where a phase ends."""

from __future__ import annotations

from math import fsum, nan
from typing import Annotated

import msgspec

from npuc.compiler.core.drawing.figure import WIDTH, Axes, Figure, picture
from npuc.compiler.core.drawing.palette import QUIET, SERIES
from npuc.compiler.explore.training.result import HOUR, TrainingResult, to_json
from npuc.compiler.explore.training.table import long_time_text
from npuc.compiler.explore.training.target import WINDOW
from npuc.compiler.report.text.quantities import time_unit

Amount = Annotated[float, msgspec.Meta(ge=0, le=1e150)]


class _PhaseDrawn(msgspec.Struct):
    end: Annotated[int, msgspec.Meta(ge=1, le=1 << 60)]
    seconds: Amount


class _RunDrawn(msgspec.Struct):
    losses: tuple[Annotated[float, msgspec.Meta(ge=-1e150, le=1e150)] | None, ...]
    seconds: tuple[Amount, ...]


class _TrainingDrawn(msgspec.Struct):
    name: str
    unit: str
    seconds: Annotated[float, msgspec.Meta(gt=0, le=1e150)]
    plain_seconds: Amount
    phases: Annotated[tuple[_PhaseDrawn, ...], msgspec.Meta(min_length=1)]
    runs: tuple[_RunDrawn, ...]


class _Drawn(msgspec.Struct):
    """What a picture shows of the file of a result."""

    network: str
    hardware: str
    backend: str
    trainings: Annotated[tuple[_TrainingDrawn, ...], msgspec.Meta(min_length=1)]


def draw(result: TrainingResult, kind: str) -> bytes:
    """The picture of a result as a file of a kind (`svg`, `png`, `pdf`)."""
    return draw_file(to_json(result, "").encode(), kind)


def draw_file(data: bytes, kind: str) -> bytes:
    """The same of a result that was written as JSON. Raises `msgspec.MsgspecError` for what is none."""
    result = msgspec.json.decode(data, type=_Drawn)
    best = min(result.trainings, key=lambda one: one.seconds)
    gain = best.plain_seconds / best.seconds
    runs = any(one.losses for training in result.trainings for one in training.runs)

    def fill(figure: Figure) -> None:
        above, *below = figure.subplots(1 + runs, 1, squeeze=False)[:, 0]
        _fill_epochs(above, result)
        for axes in below:
            _fill_losses(axes, result)

    return picture(
        kind,
        (WIDTH, 7.6 if runs else 4.4),
        fill,
        title=f"Training {result.network} takes {long_time_text(best.seconds)}, {gain:.3g} times as fast as plain",
        about=f"{result.hardware}, backend {result.backend}; nothing is said of accuracy",
    )


def _fill_losses(axes: Axes, result: _Drawn) -> None:
    """The mean of the last ten losses over the modelled time, a thin line an execution."""
    ends = [one.seconds[-1] for training in result.trainings for one in training.runs if one.seconds]
    scale, unit = time_unit(max(ends))
    for number, training in enumerate(result.trainings):
        for at, run in enumerate(training.runs):
            losses = [nan if one is None else one for one in run.losses]
            means = [fsum(losses[max(0, end - WINDOW) : end]) / min(end, WINDOW) for end in range(1, len(losses) + 1)]
            axes.plot(
                [one / scale for one in run.seconds],
                means,
                color=SERIES[number % len(SERIES)],
                linewidth=1.0,
                alpha=0.7,
                label=training.name if at == 0 else None,
            )
    axes.set_xlim(left=0)
    axes.set_xlabel(f"{unit} of training, steps as executed")
    axes.set_ylabel(f"loss, mean of {WINDOW} steps")
    axes.legend()


def _fill_epochs(axes: Axes, result: _Drawn) -> None:
    slowest = max(max(one.seconds, one.plain_seconds) for one in result.trainings)
    scale, unit = (HOUR, "h") if slowest >= HOUR else time_unit(slowest)
    plain = max(result.trainings, key=lambda one: one.phases[-1].end)
    axes.plot(
        [0, plain.plain_seconds / scale],
        [0, plain.phases[-1].end],
        color=QUIET,
        linestyle=(0, (4, 2)),
        label="plain",
    )
    for number, one in enumerate(result.trainings):
        times, ends = [0.0], [0]
        for phase in one.phases:
            times.append(times[-1] + phase.seconds / scale)
            ends.append(phase.end)
        axes.plot(times, ends, marker=".", color=SERIES[number % len(SERIES)], label=one.name)
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(f"{unit} of training")
    axes.set_ylabel(" or ".join(dict.fromkeys(one.unit for one in result.trainings)))
    axes.legend()
