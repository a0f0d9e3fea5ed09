"""Whether trainings are executed, and how: what is asked for, checked before anything is priced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.driver.running.dataset import check_dataset
from npuc.compiler.explore.training.execution import Execution
from npuc.compiler.explore.training.phases import Training
from npuc.compiler.explore.training.result import TrainingResult
from npuc.compiler.explore.training.target import target_of
from npuc.frontends.source import Source

SEEDS = 3
"""From how many seeds a training is executed, where nobody says."""


@dataclass(frozen=True)
class AskedRuns:
    """
    An execution: `run` to the end of the phases, or `until` a target, on a data set, from `seeds` seeds, the first
    `seed`.

    Raises `UsageError` for what cannot be, and for options of an execution without one.
    """

    run: bool = False
    until: str | None = None
    dataset: str | None = None
    seeds: int = SEEDS
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.run and self.until is None:
            given = {"dataset": self.dataset is not None, "seeds": self.seeds != SEEDS, "seed": self.seed != 0}
            for name in (name for name, said in given.items() if said):
                raise UsageError(f"--{name} is for a training that is executed", hint="add --run")
        for name, value, least in (("seeds", self.seeds, 1), ("seed", self.seed, 0)):
            if value < least:
                raise UsageError(f"{name} is {value}, expected at least {least}")
        if self.until is not None:
            target_of(self.until)
        if self.dataset is not None:
            check_dataset(self.dataset)

    @property
    def executes(self) -> bool:
        """Whether anything is executed."""
        return self.run or self.until is not None

    def executed(
        self,
        source: Source,
        options: CompileKeywords,
        trainings: Sequence[Training],
        priced: TrainingResult,
        done: Callable[[int, str], None] = lambda steps, what: None,
    ) -> TrainingResult:
        """The priced trainings with their executions, if any; `done` is told of steps that have run."""
        if not self.executes:
            return priced
        seeds = range(self.seed, self.seed + self.seeds)
        target = None if self.until is None else target_of(self.until)
        return Execution(source, options, self.dataset, seeds, target, done).result(trainings, priced)
