"""The progress of trainings over time: a line each, with a mark where a phase ends."""

from __future__ import annotations

from typing import Annotated

import msgspec

from npuc.compiler.core.drawing.figure import WIDTH, Figure, picture
from npuc.compiler.core.drawing.palette import QUIET, SERIES
from npuc.compiler.explore.training.result import HOUR, TrainingResult, to_json
from npuc.compiler.explore.training.table import long_time_text

Amount = Annotated[float, msgspec.Meta(ge=0, le=1e150)]


class _PhaseDrawn(msgspec.Struct):
    end: Annotated[int, msgspec.Meta(ge=1, le=1 << 60)]
    seconds: Amount


class _TrainingDrawn(msgspec.Struct):
    name: str
    unit: str
    seconds: Annotated[float, msgspec.Meta(gt=0, le=1e150)]
    plain_seconds: Amount
    phases: Annotated[tuple[_PhaseDrawn, ...], msgspec.Meta(min_length=1)]


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
    return picture(
        kind,
        (WIDTH, 4.4),
        lambda figure: _fill(figure, result),
        title=f"Training {result.network} takes {long_time_text(best.seconds)}, {gain:.3g} times as fast as plain",
        about=f"{result.hardware}, backend {result.backend}; nothing is said of accuracy",
    )


def _fill(figure: Figure, result: _Drawn) -> None:
    axes = figure.subplots()
    slowest = max(max(one.seconds, one.plain_seconds) for one in result.trainings)
    scale, unit = (HOUR, "hours") if slowest >= HOUR else (1.0, "seconds")
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
