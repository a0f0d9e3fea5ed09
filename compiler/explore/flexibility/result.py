"""
The flexibility of a machine as plain data, JSON (`npuc.flexibility/1`) and CSV.

Costs of a row are of one repetition; totals are over all of them. Times are in cycles, energy in MACs' worth. Under
constraints a class may have no mapping: then it has no cost, and no gain.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from math import fsum

from npuc.compiler.analysis.mapping.constraints.rules import NO_RULES, MapRules
from npuc.compiler.analysis.mapping.flexibility.axes import AXES, Supports, class_of, classes
from npuc.compiler.analysis.mapping.flexibility.flexion import Flexion, OwnChoice
from npuc.compiler.analysis.mapping.flexibility.tiles import Estimate
from npuc.compiler.core.display import Displayed
from npuc.compiler.core.display.frame import DataFrame, frame
from npuc.compiler.core.display.shown import Shown, table_of
from npuc.compiler.driver.score import version
from npuc.compiler.explore.flexibility.classes import ClassBest
from npuc.compiler.explore.flexibility.shares import estimate_data, flexion_data, mean_of, number
from npuc.compiler.explore.mapping.best import MappingCost, Objective
from npuc.compiler.explore.mapping.result import mapping_text
from npuc.compiler.report.as_csv import csv_text

SCHEMA = "npuc.flexibility/1"
FIXED: Supports = ("fixed", "fixed", "fixed", "fixed")
FREE: Supports = ("any", "any", "any", "any")


@dataclass(frozen=True)
class FlexSettings:
    """How classes are searched and tiles counted; `samples` None: exactly where that is feasible."""

    objective: Objective
    budget: int
    seed: int
    samples: int | None


@dataclass(frozen=True)
class ContractionFlexion:
    """
    One distinct contraction: its sizes, the largest ones of contractions with the same dimensions, its flexion on the
    machine, and the best mapping of each class.

    `words` are the elements of the shared buffer for the tiles of a step; `bound` is the objective that no mapping on
    the array is below; `exact` says whether its tiles are counted; `alone` is the cost of the dataflow's mapping, which
    may break constraints.
    """

    sizes: tuple[tuple[str, int], ...]
    largest: tuple[tuple[str, int], ...]
    words: float | None
    own: OwnChoice
    hardware: Flexion
    workload: Flexion
    exact: bool
    best: tuple[ClassBest, ...]
    bound: float
    alone: MappingCost

    def of(self, supports: Supports) -> ClassBest:
        """The best mapping of a class."""
        return next(one for one in self.best if one.supports == supports)


@dataclass(frozen=True)
class FlexRow:
    """A contraction of the program: layer, phase, repetitions, MACs, and the number of its distinct contraction."""

    layer: str
    phase: str
    repeat: int
    macs: int
    number: int


@dataclass(frozen=True, repr=False)
class Flexibility(Displayed):
    """
    The flexibility of a machine for a program: rows in program order, and the distinct contractions that they refer to.

    `supports` are the machine's, `values` the words of its description; `peak` is MACs a cycle. `rules` are constraints
    that the mappings of all classes meet.
    """

    title: str
    source: str
    hardware: str
    dataflow: str
    supports: Supports
    values: tuple[str, str, str, str]
    block: int
    elements: int
    peak: int
    clock_mhz: float | None
    settings: FlexSettings
    rows: tuple[FlexRow, ...]
    found: tuple[ContractionFlexion, ...]
    rules: MapRules = NO_RULES

    @property
    def flexible(self) -> str:
        """The machine's class, four bits."""
        return class_of(self.supports)

    @property
    def compared(self) -> tuple[Supports, ...]:
        """What was searched: the sixteen classes, and the machine's own choices where those are none of them."""
        return tuple(dict.fromkeys((*classes(), self.supports)))

    def of(self, row: FlexRow) -> ContractionFlexion:
        """The distinct contraction of a row."""
        return self.found[row.number]

    @cached_property
    def phases(self) -> tuple[str, ...]:
        """The phases of the program, in order."""
        return tuple(dict.fromkeys(row.phase for row in self.rows))

    def missing(self, supports: Supports) -> int:
        """The number of contractions of which a class has no mapping that meets the constraints."""
        return sum(self.of(row).of(supports).cost is None for row in self.rows)

    def total(self, supports: Supports, phase: str | None = None) -> MappingCost | None:
        """
        What the contractions, of one phase or of all, take in a class; buffers are the largest need.

        None where the class has no mapping of one of them.
        """
        costs: list[tuple[int, MappingCost]] = []
        for row in self._of_phase(phase):
            cost = self.of(row).of(supports).cost
            if cost is None:
                return None
            costs.append((row.repeat, cost))
        return MappingCost(
            fsum(count * cost.cycles for count, cost in costs),
            fsum(count * cost.energy for count, cost in costs),
            max((cost.l1 for _, cost in costs), default=0.0),
            max((cost.l2 for _, cost in costs), default=0.0),
        )

    def objective(self, supports: Supports, phase: str | None = None) -> float | None:
        """The objective of a class, over one phase or all: the sum over its contractions; None as in `total`."""
        own, rows = self.settings.objective, self._of_phase(phase)
        costs = [self.of(row).of(supports).cost for row in rows]
        if None in costs:
            return None
        return fsum(row.repeat * cost.of(own) for row, cost in zip(rows, costs, strict=True) if cost is not None)

    def gain(self, supports: Supports, phase: str | None = None) -> float | None:
        """
        How many times less than with the dataflow alone a class takes, by the objective, in one phase or all; None as
        in `total`.
        """
        found, own, rows = self.objective(supports, phase), self.settings.objective, self._of_phase(phase)
        if found is None:
            return None
        return fsum(row.repeat * self.of(row).alone.of(own) for row in rows) / found

    def _of_phase(self, phase: str | None) -> list[FlexRow]:
        return [row for row in self.rows if phase in (None, row.phase)]

    @property
    def bound(self) -> float:
        """The objective that no mappings of the program are below."""
        return fsum(row.repeat * self.of(row).bound for row in self.rows)

    def mean(self, *, hardware: bool) -> tuple[Estimate | None, ...]:
        """
        The hardware or the workload flexion of each axis, and of all together: the mean over MACs.

        Contractions that no choice of an axis is of use for do not count; None where that is all of them.
        """
        picked = [
            (float(row.repeat * row.macs), (self.of(row).hardware if hardware else self.of(row).workload).shares)
            for row in self.rows
        ]
        return tuple(mean_of((weight, shares[at]) for weight, shares in picked) for at in range(len(AXES) + 1))

    def to_json(self) -> str:
        """The result as JSON."""
        return json_text(self)

    def to_csv(self) -> str:
        """The rows as CSV."""
        names, rows = rows_table(self)
        return csv_text(names, *rows)

    def to_pandas(self) -> DataFrame:
        """The rows as a table of pandas, with the columns of `to_csv`. Raises `UsageError` without pandas."""
        return frame(*rows_table(self), {"network": self.title, "hardware": self.hardware})

    def shown(self) -> Shown:
        gains = [(class_of(one), gain) for one in self.compared if (gain := self.gain(one)) is not None]
        best = max(gains, key=lambda one: one[1], default=("", 1.0))
        summary = f"class {self.flexible}; class {best[0]} is {best[1]:.3g}x as good as the dataflow alone"
        title = f"of {self.hardware} for {self.title}"
        return Shown("Flexibility", title, summary, table=table_of(("class", "gain"), gains, "classes"))

    def seconds(self, cycles: float) -> float | None:
        """The time of cycles; None without a clock."""
        return None if self.clock_mhz is None else cycles / (self.clock_mhz * 1e6)


def _class_json(result: Flexibility, supports: Supports) -> dict[str, object]:
    cost = result.total(supports)
    by_phase = {phase: result.total(supports, phase) for phase in result.phases}
    return {
        "class": class_of(supports),
        "cycles": None if cost is None else number(cost.cycles),
        "seconds": None if cost is None else result.seconds(cost.cycles),
        "energy_mac_units": None if cost is None else number(cost.energy),
        "gain": result.gain(supports),
        "cycles_by_phase": {name: None if one is None else number(one.cycles) for name, one in by_phase.items()},
    }


def _contraction_json(result: Flexibility, found: ContractionFlexion) -> dict[str, object]:
    own = found.own
    return {
        "sizes": dict(found.sizes),
        "largest": dict(found.largest),
        "buffer_elements": None if found.words is None else number(found.words),
        "exact": found.exact,
        "own": {"tile": dict(own.tile), "order": own.order, "parallel": own.pair, "shape": own.shape},
        "hardware_flexion": flexion_data(found.hardware),
        "workload_flexion": flexion_data(found.workload),
        "bound": number(found.bound),
        "best": [_best_json(result, found, one) for one in found.best],
    }


def _best_json(result: Flexibility, found: ContractionFlexion, one: ClassBest) -> dict[str, object]:
    cost = one.cost
    return {
        "class": class_of(one.supports),
        "own": one.supports == result.supports,
        "cycles": None if cost is None else number(cost.cycles),
        "energy_mac_units": None if cost is None else number(cost.energy),
        "gap": None if cost is None else cost.of(result.settings.objective) / found.bound - 1,
        "evaluations": one.evaluations,
        "mapping": None if one.mapping is None else mapping_text(one.mapping),
    }


def json_text(result: Flexibility) -> str:
    """The result as JSON."""
    settings = result.settings
    means = {
        kind: result.mean(hardware=kind == "hardware_flexion") for kind in ("hardware_flexion", "workload_flexion")
    }
    document = {
        "schema": SCHEMA,
        "npuc": version(),
        "source": result.source,
        "network": result.title,
        "hardware": result.hardware,
        "dataflow": result.dataflow,
        "class": result.flexible,
        "supports": dict(zip(AXES, result.values, strict=True)),
        "block": result.block,
        "elements": result.elements,
        "objective": settings.objective,
        "budget": settings.budget,
        "seed": settings.seed,
        "samples": settings.samples,
        "constraints": result.rules.document,
        **{
            kind: {name: estimate_data(one) for name, one in zip((*AXES, "together"), shares, strict=True)}
            for kind, shares in means.items()
        },
        "own": _class_json(result, result.supports),
        "classes": [_class_json(result, supports) for supports in classes()],
        "bound": number(result.bound),
        "rows": [
            {"layer": one.layer, "phase": one.phase, "repeat": one.repeat, "macs": one.macs, "contraction": one.number}
            for one in result.rows
        ],
        "contractions": [_contraction_json(result, found) for found in result.found],
    }
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def rows_table(result: Flexibility) -> tuple[list[str], list[list[object]]]:
    """A row for each contraction of the program: its flexion, then the cycles of each class and of the machine."""
    names = (*AXES, "together")
    head = ["layer", "phase", "repeat", "macs", "contraction", "sizes", "buffer_elements", "exact"]
    for kind in ("hardware", "workload"):
        head += [f"{kind}_{name}{what}" for name in names for what in ("", "_error")]
    head += [f"cycles_{class_of(supports)}" for supports in classes()] + ["cycles_own", "bound"]
    return head, [_cells(result, row) for row in result.rows]


def _cells(result: Flexibility, row: FlexRow) -> list[object]:
    found = result.of(row)
    sizes = " ".join(f"{name}={size}" for name, size in found.sizes)
    words = None if found.words is None else number(found.words)
    cells: list[object] = [row.layer, row.phase, row.repeat, row.macs, row.number, sizes, words, found.exact]
    for flexion in (found.hardware, found.workload):
        for one in flexion.shares:
            cells += [None, None] if one is None else [one.value, one.error]
    costs = [found.of(supports).cost for supports in (*classes(), result.supports)]
    return [*cells, *(None if cost is None else number(cost.cycles) for cost in costs), number(found.bound)]
