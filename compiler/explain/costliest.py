"""
Finds the costliest layers of a step, what limits them, and what changes gain.

    report = explain_costliest(open_source("samples:resnet50"), {}, "cycle")

Every gain is that of a program which was compiled with the change, by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from npuc.backends.registry import get_backend
from npuc.compiler.core.errors import NpucError, UsageError
from npuc.compiler.core.options import CompileKeywords, Say
from npuc.compiler.driver.compile import compile_program
from npuc.compiler.driver.options import options_of
from npuc.compiler.explain.changes import Situation, Trial, trials
from npuc.compiler.report import OpRow
from npuc.compiler.report.causes import added
from npuc.compiler.report.costliest import Change, CostliestReport, CostlyLayer
from npuc.compiler.report.layers import Line, by_layer, costing, equal_as_one
from npuc.compiler.report.text.summary.verdict import is_training
from npuc.frontends.source import Source

if TYPE_CHECKING:
    from npuc.compiler.driver.watch.watcher import Watcher

LAYERS = 5
CHANGES = 8
SMALL = 0.005
"""A change of which a layer gains less than this share is not the one to try for it."""


class Costliest:
    """
    A compiled step and the changes to try: `attempt` compiles one, in any process, `report` says what all of them gain.

    Raises `NpucError`s, among them `UsageError` for a backend that does not model what the objective is.
    """

    def __init__(
        self,
        source: Source,
        keywords: CompileKeywords,
        backend: str,
        *,
        layers: int,
        changes: int,
        say: Say | None = None,
        watchers: tuple[Watcher, ...] = (),
    ):
        self._options, self._model = options_of(keywords), get_backend(backend)
        found = compile_program(source, [backend], keywords, say, watchers=watchers, costs_alone=True)
        found.modules.clear()  # attempts may run in other processes, where no IR goes
        keywords = {**keywords, "print_after": None, "print_changed": None, "time_passes": False}  # of changed programs
        self._base = found.reports[0]
        whole = self._cost(self._base.ops)
        if whole is None:
            raise UsageError(
                f"--objective {self._objective}: the backend '{backend}' does not say it of this program",
                hint="leave out --objective" if self._objective != "time" else "-b cycle",
            )
        layers_of_step = costing(by_layer(self._base.ops))
        self._owner = {id(row): line.name for line in layers_of_step for row in line.rows}
        self._whole, self._lines = whole, equal_as_one(layers_of_step)
        self._top = sorted(self._lines, key=lambda line: -(self._cost(line.rows) or 0.0))[:layers]
        self._before = [(self._names(line), self._cost(line.rows)) for line in self._top]
        self._now = Situation(source, keywords, self._model, found, self._spent(self._base.ops))
        self.trials = trials(self._now, changes)

    @property
    def _objective(self) -> str:
        return self._options.objective

    def _cost(self, rows: Iterable[OpRow]) -> float | None:
        return _cost(rows, self._objective)

    def _spent(self, rows: Iterable[OpRow]) -> dict[str, float]:
        return added((row.repeat, self._model.time_parts(row)) for row in rows)

    def _names(self, line: Line) -> list[str]:
        """The layers of a line; updates count to the layer of their parameter."""
        return list(dict.fromkeys(self._owner[id(row)] for row in line.rows))

    def attempt(self, trial: Trial) -> Change:
        """A change that is compiled; what keeps it from having a cost is said in it."""
        try:
            found = compile_program(self._now.source, [self._model.name], trial.keywords, costs_alone=True)
        except NpucError as error:
            return _change(trial, 1.0, [None] * len(self._top), error=error.message)
        report = found.reports[0]
        samples = trial.samples**2 if self._objective == "edp" else trial.samples  # energy and time, each a sample
        rows = {line.name: line.rows for line in by_layer(report.ops)}
        gains = [_gain(cost, _of(rows, names, self._objective), samples) for names, cost in self._before]
        return _change(trial, samples, gains, self._whole, self._cost(report.ops))

    def report(self, changes: Iterable[Change]) -> CostliestReport:
        """The layers, and the changes in the order of their gain, those without a cost last."""
        tried = sorted(changes, key=lambda change: (change.gain is None, -(change.gain or 0.0)))
        base = self._base
        return CostliestReport(
            npuc=base.npuc,
            source=base.source,
            network=base.network or base.source,
            backend=self._model.name,
            hardware=self._now.machine.name,
            precision=base.precision,
            pipeline=base.pipeline,
            defines=base.defines,
            devices=self._options.devices,
            training=is_training(base),
            objective=self._objective,
            cost=self._whole,
            seconds=base.totals.seconds,
            spent={**self._now.spent},
            lines=len(self._lines),
            layers=[self._layer(number, line, tried) for number, line in enumerate(self._top)],
            changes=tried,
        )

    def _layer(self, number: int, line: Line, changes: Sequence[Change]) -> CostlyLayer:
        cost = self._cost(line.rows) or 0.0
        gain, place = max(((change.layers[number] or 0.0, -n) for n, change in enumerate(changes)), default=(0.0, 0))
        return CostlyLayer(
            layer=line.label,
            names=self._names(line),
            count=line.count,
            cost=cost,
            share=cost / self._whole if self._whole else 0.0,
            seconds=line.seconds,
            limit=line.limit,
            spent={**self._spent(line.rows)},
            change=-place if gain >= SMALL else None,
        )


def explain_costliest(
    source: Source, keywords: CompileKeywords, backend: str, *, layers: int = LAYERS, changes: int = CHANGES
) -> CostliestReport:
    """
    The so many costliest layers of a step, and the gains of at most so many changes.

    Raises what `Costliest` does.
    """
    found = Costliest(source, keywords, backend, layers=layers, changes=changes)
    return found.report([found.attempt(trial) for trial in found.trials])


def _cost(rows: Iterable[OpRow], objective: str) -> float | None:
    """The cost of rows in the unit of the objective; None where no row has one."""
    rows = list(rows)
    if objective == "edp":
        energy, time = _cost(rows, "energy"), _cost(rows, "time")
        return None if energy is None or time is None else energy * time
    known = [row.repeat * value for row in rows if (value := _row_cost(row, objective)) is not None]
    return sum(known) if known else None


def _row_cost(row: OpRow, objective: str) -> float | None:
    if objective == "energy":
        return row.energy_j
    if objective == "time":
        return row.seconds
    both = row.dram_read_bytes, row.dram_write_bytes
    return None if both == (None, None) else sum(size or 0 for size in both)


def _of(rows: Mapping[str, Sequence[OpRow]], names: Iterable[str], objective: str) -> float | None:
    """The cost of layers; None where they are not all there."""
    if not all(name in rows for name in names):
        return None
    return _cost([row for name in names for row in rows[name]], objective)


def _gain(before: float | None, after: float | None, samples: float) -> float | None:
    return 1 - after / samples / before if before and after is not None else None


def _change(
    trial: Trial,
    samples: float,
    layers: list[float | None],
    before: float | None = None,
    after: float | None = None,
    error: str | None = None,
) -> Change:
    return Change(
        option=trial.option,
        what=trial.what,
        per="step" if trial.samples == 1 else "sample",
        cost=None if after is None else after / samples,
        gain=_gain(before, after, samples),
        layers=layers,
        error=error,
    )
