"""
Trainings executed in the interpreter: steps of the programs of their phases, one after the other, on real data.

Parameters, states of optimizers and running statistics go from program to program by their names; a state that a
program has alone begins at 0 with its first step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any, cast

from npuc.backends.registry import get_backend
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.gc_pause import without_cycle_collection
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.driver.options import options_of
from npuc.compiler.driver.read import texts_of
from npuc.compiler.driver.running.data import Data, inputs_of, made_data
from npuc.compiler.driver.running.dataset import dataset
from npuc.compiler.driver.running.lower import lowered_source
from npuc.compiler.driver.running.options import RunKeywords, RunOptions, run_options
from npuc.compiler.explore.training.controlled import ControlledPrice, StepCost, controlled_price
from npuc.compiler.explore.training.phases import Training, programs_in_turn
from npuc.compiler.explore.training.price import program_options
from npuc.compiler.explore.training.result import TrainedRun, TrainingCost, TrainingResult
from npuc.compiler.explore.training.target import Target
from npuc.compiler.interpreter.execute import Run, argument_type, execute, the_function
from npuc.compiler.layers.base import Array
from npuc.compiler.report.training.document import finite
from npuc.compiler.transforms.quantize.formats import FAST
from npuc.dialects.train.signature import arguments_of
from npuc.frontends.source import Source, open_source

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

CHUNK = 10
"""Steps between two looks at the loss."""
NOT_RUN = ("only", "mapping", "objective", "tolerance")
"""Keywords of a compilation that a run does not have, or that are about schedules."""


@dataclass(frozen=True)
class _Runnable:
    """A program to execute: its source and module, its names, values that its source has, and its inputs' shapes."""

    source: Source
    module: ModuleOp
    names: frozenset[str]
    values: Mapping[str, Callable[[], Array]]
    data: Data
    inputs: str
    price: ControlledPrice | None = None
    """What steps cost whose formats a controller chooses; None where all cost the same."""


@dataclass
class Execution:
    """
    Executes trainings of a source, each from `seeds`, until `target` is reached or their phases end.

    `data` names a data set; without one a batch is made. `said` is what they are trained on. `done` is told of steps
    that have run, and of which training.
    """

    source: Source
    options: CompileKeywords
    data: str | None
    seeds: Sequence[int]
    target: Target | None
    done: Callable[[int, str], None]
    said: str = field(default="", init=False)
    _backend: str = field(default="", init=False)
    _prices: dict[str, ControlledPrice] = field(default_factory=dict[str, ControlledPrice], init=False)

    def result(self, trainings: Sequence[Training], priced: TrainingResult) -> TrainingResult:
        """The result of pricing the same trainings, with their runs. Raises `NpucError`s."""
        self._backend = priced.backend
        if options_of(self.options).hardware is None:  # the machine that is priced has a word on the types
            self.options = {**self.options, "hardware": get_backend(priced.backend).default_hardware}
        costs = [
            replace(cost, runs=tuple(self._run(training, cost, seed) for seed in self.seeds))
            for training, cost in zip(trainings, priced.trainings, strict=True)
        ]
        until = None if self.target is None else str(self.target)
        return replace(priced, trainings=tuple(costs), until=until, data=self.said)

    def _run(self, training: Training, cost: TrainingCost, seed: int) -> TrainedRun:
        programs = self._programs(training, cost, seed)
        steps = {one.name: StepCost(one.seconds, one.energy_j) for one in cost.programs}
        values: dict[str, Array] = {}
        losses: list[float] = []
        accuracies: list[float] = []
        spent: list[StepCost] = []
        reached = None
        for name, count in self._chunks(cost):
            run = self._steps(programs[name], values, len(losses), count, seed)
            if len(run.losses) != count:
                raise UsageError(f"{training.name}: program '{name}' has no loss to train by")
            losses += run.losses
            accuracies += run.accuracies
            spent += _costs(programs[name], run, steps[name], count)
            self.done(count, f"step of {training.name}")
            reached = None if self.target is None else self.target.reached(self._metric(training, losses, accuracies))
            if reached is not None:
                break
        end = len(losses) if reached is None else reached
        losses, accuracies, spent = losses[:end], accuracies[:end], spent[:end]
        energies = [one.energy_j for one in spent]
        known = [one for one in energies if one is not None]
        return TrainedRun(
            seed,
            tuple(finite(losses)),
            tuple(accuracies) if len(accuracies) == len(losses) else (),
            tuple(accumulate(one.seconds for one in spent)),
            tuple(accumulate(known)) if len(known) == len(energies) else None,
            reached,
        )

    def _metric(self, training: Training, losses: Sequence[float], accuracies: Sequence[float]) -> Sequence[float]:
        if self.target is None or self.target.metric == "loss":
            return losses
        if len(accuracies) != len(losses):
            raise UsageError(
                f"{training.name}: a program has no classes, of which --until {self.target} counts the right ones",
                hint="--until 'loss < 0.1'",
            )
        return accuracies

    def _chunks(self, cost: TrainingCost) -> Iterator[tuple[str, int]]:
        """The programs in their order, with so many steps at a time that a target is not missed by many."""
        for phase in cost.phases:
            for name, count in programs_in_turn(phase.mix, sum(phase.steps.values())):
                for start in range(0, count, CHUNK):
                    yield name, min(CHUNK, count - start)

    def _steps(self, program: _Runnable, values: dict[str, Array], at: int, count: int, seed: int) -> Run:
        """Run steps of a program from what the others have left, and leave what it has."""
        given = {name: value for name, value in values.items() if name in program.names}
        given |= {name: make() for name, make in program.values.items() if name in program.names - given.keys()}

        def feed(step: int) -> Mapping[str, Array]:
            return {name: one for name, one in program.data.batch(at + step).items() if name in program.names}

        try:
            with texts_of(program.source).quoted():
                run = execute(program.module, given, steps=count, seed=seed, feed=feed)
        except MemoryError as e:
            raise UsageError(f"out of memory: {e}", hint="make the network or its data smaller") from e
        values |= {**run.params, **values, **run.updated}
        return run

    def _programs(self, training: Training, cost: TrainingCost, seed: int) -> dict[str, _Runnable]:
        """The programs of a training; those of the same inputs share their data."""
        own: dict[str, Mapping[str, Any]] = {one.name: one.options for one in training.programs}
        sources = {one.name: open_source(one.source) for one in training.programs if one.source is not None}
        found: dict[str, _Runnable] = {}
        for name in training.used:
            asked = program_options(self.options, own.get(name, {}))
            price = None
            if asked.get("quantize") == FAST:
                asked["quantize"] = f"{FAST}={cost.steps}"
                price = self._controlled(name, sources.get(name, self.source), asked, cost.devices)
            kept = {k: v for k, v in asked.items() if k not in NOT_RUN}
            if kept.get("before") or kept.get("after"):  # of passes that a program which is scored has
                kept["level"] = "npu"
            if kept.get("method") == "gp-ideal":
                raise UsageError(
                    f"{training.name}: program '{name}' is priced, not executed: nobody knows the gradients of an "
                    "ideal predictor",
                    hint='method = "gp", or leave out --run and --until',
                )
            source = sources.get(name, self.source)
            made = self._runnable(source, run_options(cast("RunKeywords", {**kept, "seed": seed})))
            same = next((one for one in found.values() if one.inputs == made.inputs), made)
            found[name] = replace(made, data=same.data, price=price)
        seeds = f"seeds {self.seeds[0]} to {self.seeds[-1]}" if len(self.seeds) > 1 else f"seed {seed}"
        self.said = next(iter(found.values())).data.said.replace(f"seed {seed}", seeds)
        return found

    def _controlled(self, name: str, source: Source, options: Mapping[str, Any], devices: int) -> ControlledPrice:
        """The prices of a program whose formats a controller chooses, by its options."""
        key = repr((source.shown, sorted((one, repr(value)) for one, value in options.items())))
        if key not in self._prices:
            self.done(0, f"prices of {name}")
            asked = cast("CompileKeywords", options)
            self._prices[key] = controlled_price(source, self._backend, asked, devices)
        return self._prices[key]

    def _runnable(self, source: Source, options: RunOptions) -> _Runnable:
        values: dict[str, Callable[[], Array]] = {}
        data: list[Data] = []

        def choose(program: ModuleOp) -> None:
            make = made_data(program, options.seed) if self.data is None else dataset(self.data, program, options.seed)
            data.append(make)

        with without_cycle_collection():
            module = lowered_source(source, options, values, set(), read=choose)
        func = the_function(module)
        names = frozenset(one.name for one in arguments_of(func))
        inputs = ", ".join(f"{one.name}: {argument_type(func, one)}" for one in inputs_of(module))
        return _Runnable(source, module, names, values, data[0], inputs)


def _costs(program: _Runnable, run: Run, cost: StepCost, count: int) -> list[StepCost]:
    """What each of so many steps of a program costs: as it is priced, or as its formats were chosen."""
    if program.price is None:
        return [cost] * count
    return [program.price.of_step(program.module, chosen) for chosen in run.mantissas]
