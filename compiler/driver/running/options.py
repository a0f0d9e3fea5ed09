"""
From the keywords of a run to `RunOptions`: what they are checked for, and the form that each then has.

    options = run_options({"steps": 10, "devices": 4})
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from npuc.compiler.core.arguments import keywords_of
from npuc.compiler.core.errors import UsageError, did_you_mean
from npuc.compiler.core.foreign import Foreign, summary
from npuc.compiler.core.options import BEST_BUCKETS, DEFAULT_TOLERANCE, OBJECTIVES, Options, ProgramKeywords
from npuc.compiler.driver.options import check_choices, check_passes, fields_of
from npuc.compiler.driver.running.dataset import check_dataset

LEVELS = ("train", "npu", "tiles")
DTYPES = ("float32", "float64")


class RunKeywords(ProgramKeywords, total=False):
    """The keywords of `run_file` and `run_source`; what is left out has the default of `RunOptions`."""

    inputs: Mapping[str, npt.ArrayLike] | None
    dtype: str | None
    steps: int
    seed: int
    level: str | None
    dataset: str | None


@dataclass(frozen=True, kw_only=True)
class RunOptions(Options):
    """What was asked of a run: the options of a compilation that a run has, and its own."""

    inputs: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict[str, npt.NDArray[Any]])
    dtype: str | None = None
    steps: int = 1
    seed: int = 0
    level: str | None = None
    dataset: str | None = None


def run_options(keywords: RunKeywords) -> RunOptions:
    """The options that the keywords of a run mean. Raises `TypeError`, and `UsageError` for a choice that is none."""
    keywords = keywords_of(keywords, RunKeywords)
    check_choices(keywords)
    fields = fields_of(keywords)
    inputs = keywords.get("inputs") or {}
    fields["inputs"] = {name: _array(name, value) for name, value in inputs.items()}
    options = RunOptions(**fields)
    check_passes(options, leveled=options.level is not None)
    if options.plan_objective == "time":
        raise UsageError(
            "--plan-objective time needs a backend that says how long work takes, and a program that runs has none",
            hint="plan for bytes or memory; npuc compile plans for time",
        )
    if options.bucket_mib == BEST_BUCKETS:
        raise UsageError(
            "--bucket-mib best needs a backend that says how long work takes, and a program that runs has none",
            hint="give a number of MiB; npuc compile finds the best buckets",
        )
    for name, value, known in (("dtype", options.dtype, DTYPES), ("level", options.level, LEVELS)):
        if value is not None and value not in known:
            raise UsageError(f"unknown {name} '{value}'", hint=did_you_mean(str(value), known))
    if options.dataset is not None:
        check_dataset(options.dataset)
        if options.inference:
            raise UsageError(
                f"--dataset {options.dataset} does not apply with --inference, which trains nothing",
                hint="leave out one of them",
            )
    if options.steps < 1:
        raise UsageError(f"steps is {options.steps}, expected at least 1")
    if options.seed < 0:
        raise UsageError(f"seed is {options.seed}, expected at least 0")
    return options


def is_lowered(options: RunOptions) -> bool:
    """Whether more passes run than those that derive the step and set its types."""
    return options.names_passes or options.opt_level is not None or options.level in ("npu", "tiles")


def check_goals_used(options: RunOptions, *, scheduled: bool) -> None:
    """Raise `UsageError` for an objective or a tolerance where no pass but those of -p chooses schedules."""
    only_asked = options.pipeline is not None and options.level is None
    for name, value, default in (
        ("--objective", options.objective, OBJECTIVES[0]),
        ("--tolerance", options.tolerance, DEFAULT_TOLERANCE),
    ):
        if value != default and (only_asked or not scheduled):
            why = "the passes of -p have their own" if only_asked else "nothing is scheduled"
            raise UsageError(f"{name} {value} does not apply: {why}", hint=f"leave out {name}")


def _array(name: str, value: npt.ArrayLike) -> npt.NDArray[Any]:
    """A value of `inputs` as an array. Raises `UsageError` for what is none, such as rows of unequal lengths."""
    with Foreign(lambda e: UsageError(f"input '{name}' is no array of numbers: {summary(e)}")):
        return np.asarray(value)
