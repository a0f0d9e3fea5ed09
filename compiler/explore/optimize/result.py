"""
The result of an optimization as plain data, JSON (`npuc.optimize/1`) and CSV.

Nothing here depends on how long the search took, or on how many processes worked on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from npuc.compiler.core.display import Displayed
from npuc.compiler.core.display.frame import DataFrame, frame
from npuc.compiler.core.display.shown import Shown, ShownTable, value_text
from npuc.compiler.core.display.svg import scatter
from npuc.compiler.explore.optimize.constraints import MetricConstraint
from npuc.compiler.explore.optimize.goals import MetricGoal
from npuc.compiler.explore.optimize.metrics import NUMBERS
from npuc.compiler.explore.plot.metrics import Numbers
from npuc.compiler.explore.sweep.messages import point_text
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


@dataclass(frozen=True, repr=False)
class OptimizedPoint(Displayed):
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

    def shown(self) -> Shown:
        amounts = ", ".join(f"{name} {amount:.4g}" for name, amount in self.amounts.items())
        text = self.error or f"{amounts or 'a metric is missing'}{'' if self.meets else ', breaks a constraint'}"
        return Shown("OptimizedPoint", f"{self.index} at {point_text(self.values)}", text)


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


@dataclass(frozen=True, repr=False)
class OptimizeResult(Displayed):
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
        names, rows = self._table()
        return csv_text(names, *rows)

    def to_pandas(self) -> DataFrame:
        """The front as a table of pandas, with the columns of `to_csv`. Raises `UsageError` without pandas."""
        goals = ",".join(goal.name for goal in self.settings.goals)
        return frame(*self._table(), {"title": self.title, "goals": goals, "proved": self.proved})

    def shown(self) -> Shown:
        counts = self.counts
        left = "" if self.proved or self.gap is None else f", none left is better by more than {self.gap:.4g} times"
        facts = {
            "goals": ", ".join(("most " if goal.most else "") + goal.name for goal in self.settings.goals),
            "under": ", ".join(one.text for one in self.settings.constraints),
            "points": f"{counts.priced:,} of {counts.points:,} priced, {counts.excluded:,} excluded by bounds"
            + (f", {counts.failed:,} do not fit" if counts.failed else ""),
            "front": f"that of all points{left}" if self.proved else f"not proved{left}",
        }
        summary = f"{len(self.front):,} of {counts.points:,} points{', exact' if self.proved else ', not proved'}"
        known = tuple((name, text) for name, text in facts.items() if text)
        return Shown("OptimizeResult", f"of {self.title}", summary, known, self._picture(), self._shown_table())

    def _shown_table(self) -> ShownTable:
        """The front with its keys, and its goals in their units."""
        goals = self.settings.goals
        rows = (
            (*map(value_text, point.values.values()), *(goal.text(point.amounts[goal.name]) for goal in goals))
            for point in self.front
        )
        return ShownTable((*self.keys, *(goal.name for goal in goals)), rows, len(self.front), 0, "points")

    def _picture(self) -> str:
        """The points by their first two goals, those of the front in another colour; empty with one goal."""
        if len(self.settings.goals) < 2 or not self.front:
            return ""
        first, second = self.settings.goals[:2]
        known = [point for point in self.points if first.name in point.amounts and second.name in point.amounts]
        (xs, x_name), (ys, y_name) = self._drawn(first, known), self._drawn(second, known)
        (best_xs, _), (best_ys, _) = self._drawn(first, self.front), self._drawn(second, self.front)
        return scatter(list(zip(xs, ys, strict=True)), list(zip(best_xs, best_ys, strict=True)), x_name, y_name)

    def _drawn(self, goal: MetricGoal, points: Sequence[OptimizedPoint]) -> tuple[list[float], str]:
        """The amounts of a goal at points in the unit of the front, and its name with the unit."""
        scale, unit = goal.metric.unit([point.amounts[goal.name] for point in self.front], goal.by_mac)
        name = goal.metric.name.replace("_", " ")
        return [point.amounts[goal.name] / scale for point in points], f"{name}, {unit}" if unit else name

    def _table(self) -> tuple[list[str], list[list[object]]]:
        """The front as names of columns and a row a point: keys, goals, totals and what follows from the machine."""
        goals, totals = [goal.name for goal in self.settings.goals], self._totals()
        rows: list[list[object]] = [
            [*point.values.values(), *(point.amounts[goal] for goal in goals), *map(point.numbers.get, totals)]
            for point in self.front
        ]
        return [*self.keys, *goals, *totals], rows

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
