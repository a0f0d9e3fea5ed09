"""All methods on one network: each priced as a whole training, and run for a while where that is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, isfinite
from typing import Literal, get_args

from xdsl.dialects.func import FuncOp

from npuc.compiler.core.errors import NpucError
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.driver.options import options_of
from npuc.compiler.driver.running.lower import lowered_source
from npuc.compiler.driver.running.options import run_options
from npuc.compiler.explore.training.asked import AskedRuns
from npuc.compiler.explore.training.phases import Unit
from npuc.compiler.explore.training.price import Pricing
from npuc.compiler.explore.training.result import TrainingCost, TrainingResult
from npuc.compiler.explore.training.target import WINDOW, Target
from npuc.compiler.transforms.quantize.operands import layers_in_order
from npuc.frontends.source import Source
from npuc.studies.training_methods.methods import Method, methods

Preset = Literal["priced", "executed"]
PRESETS: tuple[Preset, ...] = get_args(Preset)
EPOCHS = 90
STEPS_PER_EPOCH = 1000
"""Of what is priced; a step of all methods takes the same batch, so that only the schedule depends on them."""
EXECUTED_STEPS = 60
SEEDS = 3
GOAL_STEPS = 40
"""The loss to come to is that of plain training after so many steps, which leaves time for slower methods."""


@dataclass(frozen=True)
class MethodRow:
    """
    A method beside plain training: what a whole training costs, and what a short one learned.

    `error` says why a method does not apply to the network; then there are no figures. Of runs there are means over the
    seeds: `loss` and `accuracy` of the last ten steps, `steps_to_loss` and `seconds_to_loss` until the mean of ten
    losses is that of plain training from the same seed after 40 steps, of the runs that came there, `reached`.
    """

    method: str
    changes: str
    source: str
    published: str
    seconds: float | None = None
    gain: float | None = None
    energy_j: float | None = None
    energy_gain: float | None = None
    dram_bytes: float | None = None
    peak_bytes: int | None = None
    loss: float | None = None
    accuracy: float | None = None
    reached: int | None = None
    steps_to_loss: float | None = None
    seconds_to_loss: float | None = None
    error: str | None = None


@dataclass(frozen=True)
class MethodsResults:
    """The study: its rows, plain training first, and the trainings that they are from, for the picture."""

    preset: Preset
    network: str
    hardware: str
    settings: Mapping[str, object]
    backend: str
    length: str
    seeds: int
    data: str | None
    rows: tuple[MethodRow, ...]
    trainings: TrainingResult
    warnings: tuple[str, ...] = ()


@dataclass
class MethodsStudy:
    """Prices each method on a source, and runs it; `said` gets warnings of compilations."""

    source: Source
    backend: str
    options: CompileKeywords
    preset: Preset
    dataset: str | None = None

    def chosen(self) -> tuple[Method, ...]:
        """The methods, for the number of layers that the network has."""
        module = lowered_source(self.source, run_options({"level": "npu", **self._defines()}), {}, set())
        func = next(op for op in module.ops if isinstance(op, FuncOp))
        return methods(len(layers_in_order(func)))

    def run(self, chosen: Sequence[Method], advance: Callable[[str, int], None]) -> MethodsResults:
        """The results. Raises what plain training raises; another method that fails is a row that says why."""
        unit: Unit = "epochs" if self.preset == "priced" else "steps"
        length = EPOCHS if self.preset == "priced" else EXECUTED_STEPS
        said: list[str] = []
        pricing = Pricing(self.source, self.backend, self.options, said.append)
        asked = AskedRuns(run=self.preset == "executed", dataset=self.dataset, seeds=SEEDS)
        found: list[tuple[Method, TrainingResult | str]] = []
        for number, method in enumerate(chosen):
            training = method.training(unit, length, STEPS_PER_EPOCH if unit == "epochs" else None)
            try:
                priced = pricing.result([training])
                found.append((method, asked.executed(self.source, self.options, [training], priced)))
            except NpucError as error:
                if not number:
                    raise
                found.append((method, error.message))
            advance(method.name, 1)
        (_, plain), *_ = found
        assert isinstance(plain, TrainingResult)
        rows = tuple(_row(method, one, plain.trainings[0]) for method, one in found)
        costs = tuple(one.trainings[0] for _, one in found if isinstance(one, TrainingResult))
        together = TrainingResult(plain.title, plain.source, plain.hardware, plain.backend, costs, None, plain.data)
        return MethodsResults(
            self.preset,
            plain.title,
            plain.hardware,
            dict(options_of(self.options).overrides or {}),
            plain.backend,
            f"{length} {unit}",
            SEEDS if self.preset == "executed" else 0,
            plain.data,
            rows,
            together,
            tuple(dict.fromkeys(said)),
        )

    def _defines(self) -> CompileKeywords:
        defines = options_of(self.options).defines
        return {"defines": defines} if defines else {}


def _end(losses: Sequence[float | None]) -> float:
    last = [float("inf") if one is None else one for one in losses[-WINDOW:]]
    return fsum(last) / len(last)


def _row(method: Method, found: TrainingResult | str, plain: TrainingCost) -> MethodRow:
    if isinstance(found, str):
        return MethodRow(method.name, method.changes, method.source, method.published, error=found)
    (cost,) = found.trainings
    peaks = [one.peak_bytes for one in cost.programs if one.peak_bytes is not None]
    seconds, energy = _spent(cost)
    base = plain.energy_j
    came = [*_reached(cost, plain)]
    accuracies = [fsum(run.accuracies[-WINDOW:]) / WINDOW for run in cost.runs if len(run.accuracies) >= WINDOW]
    return MethodRow(
        method.name,
        method.changes,
        method.source,
        method.published,
        seconds,
        plain.seconds / seconds,
        energy,
        None if energy is None or base is None else base / energy,
        cost.dram_bytes,
        max(peaks, default=None),
        _mean([_end(run.losses) for run in cost.runs]),
        _mean(accuracies),
        len(came) if cost.runs else None,
        _mean([steps for steps, _ in came]),
        _mean([seconds for _, seconds in came]),
    )


def _spent(cost: TrainingCost) -> tuple[float, float | None]:
    """The time and energy of a training: of what was executed, where that was, as a mean over the seeds."""
    if not cost.runs:
        return cost.seconds, cost.energy_j
    energies = [run.energy_j[-1] for run in cost.runs if run.energy_j]
    seconds = fsum(run.seconds[-1] for run in cost.runs) / len(cost.runs)
    return seconds, _mean(energies) if len(energies) == len(cost.runs) else None


def _reached(cost: TrainingCost, plain: TrainingCost) -> Iterator[tuple[float, float]]:
    """
    After how many steps, and after what time, runs come to the loss of the plain one of the same seed after
    `GOAL_STEPS`; those that do.
    """
    for run, beside in zip(cost.runs, plain.runs, strict=True):
        goal = _end(beside.losses[:GOAL_STEPS]) * (1 + 1e-9)
        if not isfinite(goal):
            continue
        target = Target("loss", goal)
        steps = target.reached([float("inf") if one is None else one for one in run.losses])
        if steps is not None:
            yield float(steps), run.seconds[steps - 1]


def _mean(values: Sequence[float]) -> float | None:
    return fsum(values) / len(values) if values else None
