"""
The result of a design search as plain data, JSON (`npuc.design/1`) and CSV.

Costs are of one step; every design's are those that the backend reports for its machine and mappings. Nothing here
depends on how long the search took.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from npuc.compiler.analysis.mapping.constraints.rules import NO_RULES, MapRules
from npuc.compiler.core.display import Displayed
from npuc.compiler.core.display.frame import DataFrame, frame
from npuc.compiler.core.display.shown import Shown, table_of
from npuc.compiler.report.as_csv import csv_text

SCHEMA = "npuc.design/1"
FIELDS = (
    "design",
    "num_pes",
    "clusters",
    "l1_bytes",
    "spm_kib",
    "area_mm2",
    "cycles",
    "seconds",
    "energy_mac_units",
    "energy_j",
    "watts",
    "utilization",
    "gap",
    "class",
)


@dataclass(frozen=True)
class DesignSettings:
    """What was asked for: goals, the first of which is the objective; budgets; how to search."""

    goals: tuple[str, ...]
    area_model: str
    area_mm2: float
    power_w: float | None
    budget: int
    seed: int
    levels: int
    tiles: str
    classes: tuple[str, ...] = ("1110",)
    """Classes of flexibility, subsets first: of several the result has the best machine of each."""


@dataclass(frozen=True)
class DesignedMapping:
    """The mapping of a contraction of the program on a design, as text, with its cycles."""

    layer: str
    phase: str
    repeat: int
    cycles: int
    mapping: str


@dataclass(frozen=True)
class DesignedMachine:
    """
    A machine with the cost of a step on it.

    `energy` is in MACs' worth. `gap` is by what share its cycles are above those that no machine of the area is below;
    `seconds`, `energy_j` and `watts` are None where the machine has no clock or no energy of a MAC. `flexible` is its
    class of flexibility, four bits (T, O, P, S). `parts` are mm2 by part. `limits` say what of a real machine's limits
    the model leaves out where this one is near them.
    """

    clusters: tuple[int, ...]
    l1_bytes: int
    spm_bytes: int
    area_mm2: float
    cycles: int
    energy: float
    seconds: float | None
    energy_j: float | None
    utilization: float
    gap: float | None
    mappings: tuple[DesignedMapping, ...]
    flexible: str
    parts: tuple[tuple[str, float], ...] = ()
    limits: tuple[str, ...] = ()

    @property
    def num_pes(self) -> int:
        """Processing elements."""
        product = 1
        for count in self.clusters:
            product *= count
        return product

    @property
    def reshaped(self) -> bool:
        """Whether its array takes another shape for each contraction; `clusters` are those of its best shape so far."""
        return self.flexible[-1] == "1"

    def value(self, goal: str) -> float:
        """What a goal (`time`, `energy`, `edp`, `area`) wants to be small."""
        values = {"time": self.cycles, "energy": self.energy, "edp": self.cycles * self.energy}
        return values.get(goal, self.area_mm2)

    @property
    def watts(self) -> float | None:
        """The average power of a step, without idle parts."""
        return self.energy_j / self.seconds if self.energy_j is not None and self.seconds else None


@dataclass(frozen=True)
class GivenMachine:
    """The machine that bandwidths and clock are of, with its own default mappings; None where that is not known."""

    name: str
    num_pes: int
    area_mm2: float | None
    cycles: int
    energy: float


@dataclass(frozen=True, repr=False)
class DesignResult(Displayed):
    """
    Designs, best first by the objective, of equal ones that with the least choice first.

    `bound` is in cycles, `curve` the objective's best over evaluations. `interrupted`: they are the best of a search
    that did not come to its end. `rules` are constraints that all mappings meet.
    """

    title: str
    source: str
    settings: DesignSettings
    given: GivenMachine
    evaluations: int
    bound: float
    curve: tuple[tuple[int, float], ...]
    designs: tuple[DesignedMachine, ...]
    interrupted: bool = False
    rules: MapRules = NO_RULES

    def to_pandas(self) -> DataFrame:
        """A row a design as a table of pandas, with the columns of `to_csv`. Raises `UsageError` without pandas."""
        return frame(FIELDS, table_rows(self), {"network": self.title, "given": self.given.name})

    def shown(self) -> Shown:
        best = self.designs[0] if self.designs else None
        found = "none fits" if best is None else f"best {best.num_pes:,} PEs, {best.area_mm2:.4g} mm2"
        summary = f"{len(self.designs):,} of {self.evaluations:,} evaluated; {found}"
        table = table_of(FIELDS, table_rows(self), "designs")
        return Shown("DesignResult", f"for {self.title}", summary, table=table)


def to_json(result: DesignResult, version: str) -> str:
    """The result as JSON."""
    settings, given = result.settings, result.given
    document = {
        "schema": SCHEMA,
        "npuc": version,
        "source": result.source,
        "network": result.title,
        "hardware": given.name,
        "goals": list(settings.goals),
        "area_model": settings.area_model,
        "area_mm2": settings.area_mm2,
        "power_w": settings.power_w,
        "budget": settings.budget,
        "seed": settings.seed,
        "levels": settings.levels,
        "tiles": settings.tiles,
        "classes": list(settings.classes),
        "constraints": result.rules.document,
        "evaluations": result.evaluations,
        "interrupted": result.interrupted,
        "bound_cycles": result.bound,
        "given": {
            "num_pes": given.num_pes,
            "area_mm2": given.area_mm2,
            "cycles": given.cycles,
            "energy_mac_units": given.energy,
        },
        "designs": [
            {
                **dict(zip(FIELDS[1:], _values(one), strict=True)),
                "clusters": list(one.clusters),
                "area_by_part_mm2": dict(one.parts),
                "limits": list(one.limits),
                "mappings": [
                    {
                        "layer": row.layer,
                        "phase": row.phase,
                        "repeat": row.repeat,
                        "cycles": row.cycles,
                        "mapping": row.mapping,
                    }
                    for row in one.mappings
                ],
            }
            for one in result.designs
        ],
        "curve": [list(point) for point in result.curve],
    }
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def to_csv(result: DesignResult) -> str:
    """A row a design."""
    return csv_text(FIELDS, *table_rows(result))


def table_rows(result: DesignResult) -> list[tuple[object, ...]]:
    """The values of `FIELDS`, for each design."""
    return [(number, *_values(one)) for number, one in enumerate(result.designs, 1)]


def _values(one: DesignedMachine) -> tuple[object, ...]:
    """The values of `FIELDS` behind the first."""
    return (
        one.num_pes,
        "x".join(map(str, one.clusters)),
        one.l1_bytes,
        one.spm_bytes / 1024,
        one.area_mm2,
        one.cycles,
        one.seconds,
        one.energy,
        one.energy_j,
        one.watts,
        one.utilization,
        one.gap,
        one.flexible,
    )
