"""
What a whole training costs, as plain data, JSON (`npuc.training/1`) and CSV.

Seconds, joules and bytes of programs are those of one step, of phases and trainings those of all their steps. Energy
and bytes are of all devices together, None where the backend does not know them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from math import fsum
from operator import add

from npuc.compiler.analysis.sparsity.products import NO_PRODUCTS, ProductCounts
from npuc.compiler.core.display import Displayed
from npuc.compiler.core.display.frame import DataFrame, frame
from npuc.compiler.core.display.shown import Shown, table_of
from npuc.compiler.core.display.svg import curves
from npuc.compiler.core.display.words import cut
from npuc.compiler.explore.training.phases import Unit
from npuc.compiler.report.as_csv import csv_text

SCHEMA = "npuc.training/1"
HOUR = 3600.0


@dataclass(frozen=True)
class ProgramCost:
    """
    A step of a program: what it costs, the samples that it takes, 0 where its source does not say, and the MACs of its
    products, with those that formats of sparse operands leave.
    """

    name: str
    seconds: float
    energy_j: float | None
    dram_bytes: int | None
    peak_bytes: int | None
    samples: int
    products: ProductCounts = NO_PRODUCTS


@dataclass(frozen=True)
class PhaseCost:
    """A phase, from `first` to below `end` in its unit, its steps of each program, and how many of each in turn."""

    name: str
    first: int
    end: int
    mix: Mapping[str, int]
    steps: Mapping[str, int]
    seconds: float
    energy_j: float | None
    dram_bytes: int | None


@dataclass(frozen=True)
class TrainedRun:
    """
    A training that was executed from a seed on, step by step: losses (None where not finite), accuracies on what is
    trained on (empty without classes), and when each step ends by the model, in seconds.

    `reached` is the number of steps that a target took; None where there is none, or it was not reached.
    """

    seed: int
    losses: tuple[float | None, ...]
    accuracies: tuple[float, ...]
    seconds: tuple[float, ...]
    energy_j: tuple[float, ...] | None
    reached: int | None


@dataclass(frozen=True)
class TrainingCost:
    """
    The cost of a training on `devices`, and its `runs`, where it was executed.

    `plain_seconds` is what the same epochs or steps take with the program of the call alone.
    """

    name: str
    unit: Unit
    programs: tuple[ProgramCost, ...]
    phases: tuple[PhaseCost, ...]
    plain_seconds: float
    devices: int
    usd_per_hour: float | None
    runs: tuple[TrainedRun, ...] = ()

    @property
    def length(self) -> int:
        """Its epochs or steps."""
        return self.phases[-1].end

    @property
    def steps(self) -> int:
        """Its steps."""
        return sum(sum(one.steps.values()) for one in self.phases)

    @property
    def seconds(self) -> float:
        """Its time."""
        return fsum(one.seconds for one in self.phases)

    @property
    def energy_j(self) -> float | None:
        """Its energy."""
        return total(one.energy_j for one in self.phases)

    @property
    def dram_bytes(self) -> int | None:
        """What it moves from and to DRAM."""
        known = [one.dram_bytes for one in self.phases if one.dram_bytes is not None]
        return sum(known) if len(known) == len(self.phases) else None

    @property
    def device_hours(self) -> float:
        """The hours of all devices together."""
        return self.seconds / HOUR * self.devices

    @property
    def usd(self) -> float | None:
        """What these hours are charged; None where a device has no price."""
        return None if self.usd_per_hour is None else self.device_hours * self.usd_per_hour

    @property
    def products(self) -> ProductCounts:
        """The products of all steps, and what formats of sparse operands leave of them."""
        by_name = {one.name: one.products for one in self.programs}
        steps = [(name, count) for one in self.phases for name, count in one.steps.items()]
        return reduce(add, (by_name[name].times(count) for name, count in steps), NO_PRODUCTS)

    @property
    def gain(self) -> float:
        """How many times as fast as the plain training it is."""
        return self.plain_seconds / self.seconds if self.seconds else 1.0


@dataclass(frozen=True, repr=False)
class TrainingResult(Displayed):
    """Trainings of one network on one machine; `until` and `data` say of their runs what ends them, and on what."""

    title: str
    source: str
    hardware: str
    backend: str
    trainings: tuple[TrainingCost, ...]
    until: str | None = None
    data: str | None = None

    def to_pandas(self) -> DataFrame:
        """A row for each program of each phase as a table of pandas. Raises `UsageError` without pandas."""
        about = {"network": self.title, "hardware": self.hardware, "backend": self.backend}
        return frame(NAMES, table_rows(self), about)

    def shown(self) -> Shown:
        rows = [_shown_row(one) for one in self.trainings]
        runs = [[loss for loss in run.losses if loss is not None] for one in self.trainings for run in one.runs]
        hours = ", ".join(f"{cut(one.name)} {one.device_hours:.4g} device hours" for one in self.trainings[:4])
        return Shown(
            "TrainingResult",
            f"of {self.title} on {self.hardware} ({self.backend})",
            hours,
            tuple((name, text) for name, text in (("until", self.until), ("data", self.data)) if text),
            curves(runs, "step", "loss"),
            table_of(SHOWN, rows, "trainings"),
        )


SHOWN = ("training", "steps", "seconds", "kWh", "device hours", "USD", "as fast as plain")


def _shown_row(one: TrainingCost) -> tuple[object, ...]:
    """The cells of `SHOWN`."""
    energy = None if one.energy_j is None else one.energy_j / 1000 / HOUR
    return one.name, one.steps, one.seconds, energy, one.device_hours, one.usd, one.gain


def total(values: Iterable[float | None]) -> float | None:
    """The sum of values that are all known, else None."""
    known = list(values)
    return None if None in known else fsum(one for one in known if one is not None)


def to_json(result: TrainingResult, version: str) -> str:
    """The result as JSON."""
    facts = {
        "schema": SCHEMA,
        "npuc": version,
        "source": result.source,
        "network": result.title,
        "hardware": result.hardware,
        "backend": result.backend,
        "until": result.until,
        "data": result.data,
        "trainings": [_facts(one) for one in result.trainings],
    }
    return json.dumps(facts, indent=1, allow_nan=False) + "\n"


def _facts(one: TrainingCost) -> dict[str, object]:
    sums = ("seconds", "energy_j", "dram_bytes", "device_hours", "usd", "gain", "steps")
    facts = {**asdict(one), **{name: getattr(one, name) for name in sums}}
    programs = [{**asdict(program), "products": _shares(program.products)} for program in one.programs]
    return {**facts, "programs": programs, "products": _shares(one.products)}


def _shares(products: ProductCounts) -> dict[str, object]:
    """Counts of products as JSON has them: MACs of dense steps, and shares of them."""
    shares = {"sparse_share": float(products.sparse_share), "left_share": float(products.left_share)}
    return {"macs": products.macs, **shares}


NAMES = ("training", "phase", "unit", "first", "end", "program", "steps", "step_seconds", "seconds")


def to_csv(result: TrainingResult) -> str:
    """A row for each program of each phase."""
    return csv_text(NAMES, *table_rows(result))


def table_rows(result: TrainingResult) -> list[tuple[object, ...]]:
    """The values of `NAMES`, for each program of each phase."""
    return [row for one in result.trainings for row in _rows(one)]


def _rows(training: TrainingCost) -> Sequence[tuple[object, ...]]:
    times = {one.name: one.seconds for one in training.programs}
    return [
        (training.name, one.name, training.unit, one.first, one.end, name, steps, times[name], steps * times[name])
        for one in training.phases
        for name, steps in one.steps.items()
    ]
