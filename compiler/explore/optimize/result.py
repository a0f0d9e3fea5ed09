"""
The result of an optimization as plain data, JSON (`npuc.optimize/1`) and CSV.

Nothing here depends on how long the search took, or on how many processes worked on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from npuc.compiler.explore.optimize.constraints import MetricConstraint
from npuc.compiler.explore.optimize.goals import MetricGoal
from npuc.compiler.explore.optimize.metrics import NUMBERS
from npuc.compiler.explore.plot.metrics import Numbers
from npuc.compiler.report.as_csv import csv_text, total_names
from npuc.compiler.report.as_json import block, dumps

SCHEMA = "npuc.optimize/1"


@dataclass(frozen=True)
class OptimizeSettings:
    """What was asked for: goals, constraints, points to price at most, and the seed."""

    goals: tuple[MetricGoal, ...]
    constraints: tuple[MetricConstraint, ...]
    budget: int
    seed: int


@dataclass(frozen=True)
class OptimizedPoint:
    """
    A priced point: its number in the grid, the varied keys, each goal's amount by its name, and all that is known of
    it; without amounts and numbers it does not fit (`error`) or lacks a metric. It `meets` all constraints or not.
    """

    index: int
    values: Mapping[str, Any]
    amounts: Mapping[str, float]
    numbers: Numbers
    error: str | None
    meets: bool


@dataclass(frozen=True)
class PointCounts:
    """
    How many of all points were priced, of those do not fit, lack a metric or break a constraint, and of the others are
    excluded by bounds of the goals (`excluded`, of which `implied` by what priced points say of others), break a
    constraint for certain (`forbidden`), or are `left`, None where there are too many to look at.
    """

    points: int
    priced: int
    failed: int
    incomplete: int
    infeasible: int
    excluded: int
    implied: int
    forbidden: int
    left: int | None


@dataclass(frozen=True)
class OptimizeResult:
    """
    The points that no other one beats in all goals, by the first goal, and all that were priced, in their order.

    `proved`: no point of the grid beats them. Otherwise `gap` is the factor by which one that is left may be better in
    every goal at most, None where bounds do not say. `broken` points cost less than a bound said, so that none was
    used; `laws` are those by which priced points excluded others. `title` names the source, the machine and the
    backend.
    """

    title: str
    settings: OptimizeSettings
    keys: Mapping[str, tuple[Any, ...]]
    front: tuple[OptimizedPoint, ...]
    points: tuple[OptimizedPoint, ...]
    counts: PointCounts
    proved: bool
    gap: float | None
    broken: int = 0
    laws: tuple[str, ...] = ()
    interrupted: bool = False

    def to_csv(self) -> str:
        """The front: a row a point with the varied keys, the goals, all totals, area, cost and power."""
        goals = [goal.name for goal in self.settings.goals]
        totals = self._totals()
        head = [*self.keys, *goals, *totals]
        rows = (
            [*point.values.values(), *(point.amounts[goal] for goal in goals), *map(point.numbers.get, totals)]
            for point in self.front
        )
        return csv_text(head, *rows)

    def to_json(self, npuc: str = "") -> str:
        """The result as JSON; `npuc` is the version that made it."""
        settings, counts, totals = self.settings, self.counts, self._totals()
        fields: dict[str, object] = {
            "schema": SCHEMA,
            "npuc": npuc,
            "title": self.title,
            "goals": [
                {"name": goal.name, "heading": goal.heading, "most": goal.most, "by_mac": goal.by_mac}
                for goal in settings.goals
            ],
            "constraints": [one.text for one in settings.constraints],
            "budget": settings.budget,
            "seed": settings.seed,
            "keys": [{"key": key, "values": list(values)} for key, values in self.keys.items()],
            "counts": {name: getattr(counts, name) for name in PointCounts.__dataclass_fields__},
            "proved": self.proved,
            "gap": self.gap,
            "broken": self.broken,
            "interrupted": self.interrupted,
        }
        return (
            block(
                [
                    *((name, dumps(value)) for name, value in fields.items()),
                    ("front", _lines([self._row(point, totals) for point in self.front])),
                    ("points", _lines([self._short(point) for point in self.points])),
                ]
            )
            + "\n"
        )

    def _totals(self) -> list[str]:
        """The names of a row's numbers; shares that are assumed where a point has any."""
        assumed = any("assumed.seconds" in point.numbers for point in self.front)
        return [*total_names(assumed=assumed), *NUMBERS.values()]

    @staticmethod
    def _row(point: OptimizedPoint, totals: Sequence[str]) -> dict[str, object]:
        return {
            "values": dict(point.values),
            "goals": dict(point.amounts),
            "totals": {name: point.numbers.get(name) for name in totals},
        }

    @staticmethod
    def _short(point: OptimizedPoint) -> dict[str, object]:
        return {"values": dict(point.values), "goals": dict(point.amounts), "error": point.error, "meets": point.meets}


def _lines(rows: list[dict[str, object]]) -> str:
    inner = ",\n".join(f"    {dumps(row)}" for row in rows)
    return f"[\n{inner}\n  ]" if rows else "[]"
