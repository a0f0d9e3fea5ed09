"""The losses of a training that ran, and how long its steps take on machines: a document, written as JSON."""

from __future__ import annotations

from math import isfinite
from typing import Literal

import msgspec

from npuc.compiler.report.as_json import to_json

SCHEMA = "npuc.run/1"


class Clock(msgspec.Struct, frozen=True):
    """The seconds that a step takes on a machine, by a backend."""

    backend: str
    hardware: str
    seconds_per_step: float


class Training(msgspec.Struct, frozen=True):
    """
    The losses of each step of a source, before its update, and the shares of rows that it classifies right.

    A loss that is no finite number is None. `seed` is that of data and parameters which nobody gave, `data` says what
    the data are. Without a loss of classes `accuracies` is empty. `held_out` is the accuracy on samples of a data set
    that were not trained on, None without one.
    """

    schema: Literal["npuc.run/1"]
    source: str
    steps: int
    seed: int
    dataset: str | None
    data: str | None
    held_out: float | None
    losses: list[float | None]
    accuracies: list[float]
    simulated: list[Clock]

    def to_json(self) -> str:
        """The document as JSON text."""
        return to_json(self)


def finite(losses: list[float]) -> list[float | None]:
    """Losses with None for what JSON has no number for."""
    return [loss if isfinite(loss) else None for loss in losses]
