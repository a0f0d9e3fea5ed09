"""
What a training is to reach: `loss < 0.1`, `accuracy > 0.9`, of the mean of the last steps.

    target = target_of("loss < 0.1")
    target.reached([2.3, 1.9, …])       # after how many steps, or None
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Literal, cast

from npuc.compiler.core.errors import UsageError

WINDOW = 10
"""Steps whose mean counts, as batches differ."""
Metric = Literal["loss", "accuracy"]
_FORM = re.compile(r"\s*(loss\s*<|accuracy\s*>)\s*([0-9.eE+-]+)\s*")


@dataclass(frozen=True)
class Target:
    """A loss to come below, or an accuracy to come above."""

    metric: Metric
    value: float

    def __str__(self) -> str:
        return f"{self.metric} {'<' if self.metric == 'loss' else '>'} {self.value:g}"

    def reached(self, values: Sequence[float]) -> int | None:
        """After how many steps the mean of the last ten is reached, by the value of each step; None if it is not."""
        for end in range(WINDOW, len(values) + 1):
            mean = sum(values[end - WINDOW : end]) / WINDOW
            if mean < self.value if self.metric == "loss" else mean > self.value:
                return end
        return None


def target_of(text: str) -> Target:
    """The target that a text names. Raises `UsageError`."""
    found = _FORM.fullmatch(text)
    try:
        value = float(found[2]) if found else float("nan")
    except ValueError:
        value = float("nan")
    if found is None or not isfinite(value):
        raise UsageError(
            f"--until {text}: expected a loss to come below or an accuracy to come above",
            hint="--until 'loss < 0.1', or --until 'accuracy > 0.9'",
        )
    return Target(cast("Metric", found[1].rstrip("<> \t")), value)
