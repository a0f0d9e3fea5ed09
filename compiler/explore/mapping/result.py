"""
The result of a mapping search as plain data, JSON (`npuc.map/1`) and CSV.

Costs of a row are of one repetition; totals are over all of them. Cycles and energy in MACs' worth, buffers in
elements. Nothing here depends on how long the search took.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

from npuc.compiler.analysis.mapping.constraints.rules import NO_RULES, MapRules
from npuc.compiler.core.display import Displayed
from npuc.compiler.core.display.frame import DataFrame, frame
from npuc.compiler.core.display.shown import Shown, table_of
from npuc.compiler.explore.mapping.best import MappingCost, Objective
from npuc.compiler.report.as_csv import csv_text
from npuc.dialects.mapping import Clusters, MappingAttr

SCHEMA = "npuc.map/1"
FIELDS = (
    "layer",
    "phase",
    "repeat",
    "macs",
    "default_cycles",
    "cycles",
    "default_energy_mac_units",
    "energy_mac_units",
    "l1_elements",
    "l2_elements",
    "ratio",
    "utilization",
    "contraction",
    "bound",
    "gap",
    "evaluations",
    "mapping",
    "curve",
)


@dataclass(frozen=True)
class Found:
    """
    The search of one distinct contraction; `curve` are evaluations after which the best cost fell, and that cost.

    `default_allowed`: whether the default mapping meets the constraints. `default_fits` and `fits`: whether the machine
    can run the default mapping and the best one. The best may not fit where directives can express no mapping that the
    buffers hold. `bound` is the objective that no mapping is below, None where that is not known; the mapping is proved
    to be the best where its cost is no more.
    """

    default: MappingCost | None
    best: MappingCost
    mapping: MappingAttr
    evaluations: int
    curve: tuple[tuple[int, float], ...]
    default_fits: bool = True
    fits: bool = True
    bound: float | None = None
    default_allowed: bool = True

    @property
    def comparable(self) -> bool:
        """Whether the machine can run the default mapping, and it meets the constraints."""
        return self.default_fits and self.default_allowed


@dataclass(frozen=True)
class MappedRow:
    """A contraction of the program: layer, phase, repetitions, MACs, and the number of its search."""

    layer: str
    phase: str
    repeat: int
    macs: int
    number: int


@dataclass(frozen=True)
class Settings:
    """The settings of the search."""

    objective: Objective
    mapper: str
    budget: int
    seed: int
    levels: int
    parallel: int
    tiles: str


@dataclass(frozen=True, repr=False)
class SearchResult(Displayed):
    """
    Rows in program order and the searches that they refer to; `peak` is MACs a cycle.

    `interrupted`: the search was ended before its budget was, and these are the best so far. `rules` are the
    constraints of its mappings.
    """

    title: str
    source: str
    hardware: str
    mode: str
    peak: int
    settings: Settings
    rows: tuple[MappedRow, ...]
    found: tuple[Found, ...]
    interrupted: bool = False
    rules: MapRules = NO_RULES

    def of(self, row: MappedRow) -> Found:
        """The search of a row."""
        return self.found[row.number]

    def to_pandas(self) -> DataFrame:
        """The rows as a table of pandas, with the columns of `to_csv`. Raises `UsageError` without pandas."""
        rows = [_cells(self, row) for row in self.rows]
        return frame(FIELDS, rows, {"network": self.title, "hardware": self.hardware, "mapper": self.settings.mapper})

    def shown(self) -> Shown:
        names = ("layer", "phase", "repeat", "cycles", "utilization", "mapping")
        rows = [
            (row.layer, row.phase, row.repeat, found.best.cycles, self.utilization(row), mapping_text(found.mapping))
            for row in self.rows
            for found in (self.of(row),)
        ]
        best, title = self.total(default=False), f"of mappings of {self.title} on {self.hardware}"
        summary = f"{len(rows):,} contractions, {0 if best is None else best.cycles:,.0f} cycles"
        table = table_of(names, rows, "contractions")
        return Shown("SearchResult", title, f"{summary} by {self.settings.mapper}", table=table)

    @property
    def evaluations(self) -> int:
        """How many mappings were evaluated."""
        return sum(found.evaluations for found in self.found)

    def ratio(self, found: Found) -> float | None:
        """The default mapping's cost over the best one's."""
        objective = self.settings.objective
        return None if found.default is None else found.default.of(objective) / found.best.of(objective)

    def gap(self, found: Found) -> float | None:
        """By what share the best mapping's cost is above the lower bound at most; 0 where it is proved to be best."""
        return None if found.bound is None else found.best.of(self.settings.objective) / found.bound - 1

    def utilization(self, row: MappedRow) -> float:
        """The share of the array's peak under the best mapping."""
        return row.macs / (self.of(row).best.cycles * self.peak)

    @property
    def warnings(self) -> list[str]:
        """Warnings about the result."""
        layers = [f"{row.layer} ({row.phase})" for row in self.rows if not self.of(row).fits]
        if not layers:
            return []
        more = f" and {len(layers) - 1:,} more" if len(layers) > 1 else ""
        need = "directives keep whole windows in an element, for which the machine's buffers have no room"
        return [f"{layers[0]}{more}: {need}: the search is among those with the smallest tiles"]

    @property
    def disallowed(self) -> int:
        """The number of contractions whose default mapping does not meet the constraints."""
        return sum(not self.of(row).default_allowed for row in self.rows)

    @property
    def unfit(self) -> tuple[int, int]:
        """The number of contractions whose default mapping the machine cannot run, and the number of all."""
        return sum(not self.of(row).default_fits for row in self.rows), len(self.rows)

    @property
    def comparable(self) -> int:
        """The number of contractions whose default mapping is comparable."""
        return sum(self.of(row).comparable for row in self.rows)

    def total(self, *, default: bool, comparable: bool = False) -> MappingCost | None:
        """
        The program's cycles and energy, buffers the largest need; None where a contraction has no default mapping.

        With `comparable` only contractions count whose default mapping is.
        """
        costs: list[tuple[int, MappingCost]] = []
        for row in self.rows:
            if comparable and not self.of(row).comparable:
                continue
            cost = self.of(row).default if default else self.of(row).best
            if cost is None:
                return None
            costs.append((row.repeat, cost))
        return MappingCost(
            math.fsum(n * cost.cycles for n, cost in costs),
            math.fsum(n * cost.energy for n, cost in costs),
            max((cost.l1 for _, cost in costs), default=0.0),
            max((cost.l2 for _, cost in costs), default=0.0),
        )


def mapping_text(mapping: MappingAttr) -> str:
    """A mapping in one line: cluster form, or directives separated by semicolons."""
    data = mapping.data
    parts = data.levels if isinstance(data, Clusters) else data.directives
    return (", " if isinstance(data, Clusters) else "; ").join(map(str, parts))


def _number(value: float) -> int | float:
    return int(value) if value.is_integer() else value


def _cost(cost: MappingCost | None) -> dict[str, int | float] | None:
    if cost is None:
        return None
    names = ("cycles", "energy_mac_units", "l1_elements", "l2_elements")
    values = (cost.cycles, cost.energy, cost.l1, cost.l2)
    return {name: _number(value) for name, value in zip(names, values, strict=True)}


def to_json(result: SearchResult, version: str) -> str:
    """The result as JSON."""
    settings = result.settings
    document = {
        "schema": SCHEMA,
        "npuc": version,
        "source": result.source,
        "network": result.title,
        "hardware": result.hardware,
        "mode": result.mode,
        "objective": settings.objective,
        "mapper": settings.mapper,
        "budget": settings.budget,
        "seed": settings.seed,
        "levels": settings.levels,
        "parallel": settings.parallel,
        "tiles": settings.tiles,
        "interrupted": result.interrupted,
        "constraints": result.rules.document,
        "totals": {"default": _cost(result.total(default=True)), "best": _cost(result.total(default=False))},
        "rows": [
            {
                "layer": row.layer,
                "phase": row.phase,
                "repeat": row.repeat,
                "macs": row.macs,
                "contraction": row.number,
                "utilization": result.utilization(row),
            }
            for row in result.rows
        ],
        "contractions": [
            {
                "default": _cost(found.default),
                "default_allowed": found.default_allowed,
                "default_fits": found.default_fits,
                "best": _cost(found.best),
                "fits": found.fits,
                "ratio": result.ratio(found),
                "bound": None if found.bound is None else _number(found.bound),
                "gap": result.gap(found),
                "mapping": mapping_text(found.mapping),
                "evaluations": found.evaluations,
                "curve": [[count, _number(cost)] for count, cost in found.curve],
            }
            for found in result.found
        ],
    }
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def to_csv(result: SearchResult) -> str:
    """The rows as CSV; a curve is `evaluations:cost` pairs, separated by blanks."""
    return csv_text(FIELDS, *(_cells(result, row) for row in result.rows))


def _cells(result: SearchResult, row: MappedRow) -> Sequence[object]:
    found = result.of(row)
    default, best = found.default, found.best
    return (
        row.layer,
        row.phase,
        row.repeat,
        row.macs,
        None if default is None else _number(default.cycles),
        _number(best.cycles),
        None if default is None else _number(default.energy),
        _number(best.energy),
        _number(best.l1),
        _number(best.l2),
        None if default is None else result.ratio(found),
        result.utilization(row),
        row.number,
        None if found.bound is None else _number(found.bound),
        None if found.bound is None else result.gap(found),
        found.evaluations,
        mapping_text(found.mapping),
        " ".join(f"{count}:{_number(cost)!r}" for count, cost in found.curve),
    )
