"""What a sweep gives from Python: its points, each as soon as it is known, or all of them as one result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

from npuc.compiler.core.arguments import argument
from npuc.compiler.core.display import Displayed
from npuc.compiler.core.display.frame import DataFrame, frame
from npuc.compiler.core.display.progress import watched
from npuc.compiler.core.display.shown import Shown, ShownTable, value_text
from npuc.compiler.core.display.svg import scatter
from npuc.compiler.core.display.words import counted
from npuc.compiler.core.errors import UsageError
from npuc.compiler.explore.sweep.compare import TIME, Comparison, axis_names
from npuc.compiler.explore.sweep.drawn import sweep_table
from npuc.compiler.explore.sweep.front import Front
from npuc.compiler.explore.sweep.grid import Grid
from npuc.compiler.explore.sweep.messages import point_text
from npuc.compiler.explore.sweep.partial import header
from npuc.compiler.explore.sweep.point import SweepPoint
from npuc.compiler.explore.sweep.sweep import Sweep
from npuc.compiler.explore.sweep.values import MOST_POINTS
from npuc.compiler.report.as_csv import csv_text


@dataclass(frozen=True, repr=False)
class SweepResult(Displayed, Sequence[SweepPoint]):
    """All points of a sweep, in their order: a sequence of them. `title` names the source, machine and backend."""

    title: str
    comparison: Comparison

    @property
    def points(self) -> tuple[SweepPoint, ...]:
        """The points."""
        return tuple(self.comparison.points)

    @property
    def grid(self) -> Grid:
        """The varied keys with their values."""
        return self.comparison.grid

    @property
    def best(self) -> SweepPoint | None:
        """The first point that costs least by the objective; None where none has a cost."""
        number = self.comparison.best
        return None if number is None else self.comparison.points[number]

    @property
    def front(self) -> tuple[SweepPoint, ...]:
        """The points that no other one beats in time, DRAM traffic and energy at once, in their order."""
        found = Front(self.grid, self.comparison.quantity.name)
        for point in self.comparison.points:
            found.add(point)
        return tuple(found.points)

    def __len__(self) -> int:
        return len(self.comparison.points)

    @overload
    def __getitem__(self, key: int) -> SweepPoint: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[SweepPoint, ...]: ...
    def __getitem__(self, key: int | slice) -> SweepPoint | tuple[SweepPoint, ...]:
        return self.points[key]

    def to_csv(self) -> str:
        """A row a point, as `npuc sweep --csv` writes it: the varied keys, all totals, the error."""
        names, rows = self._table()
        return csv_text(names, *rows)

    def to_json(self) -> str:
        """The points as `npuc sweep --json` writes them, for `npuc plot`."""
        return sweep_table(self.title, self.comparison).to_json()

    def to_pandas(self) -> DataFrame:
        """The points as a table of pandas, with the columns of `to_csv`. Raises `UsageError` without pandas."""
        return frame(*self._table(), {"title": self.title, "objective": self.comparison.quantity.name})

    def _table(self) -> tuple[list[str], list[list[object]]]:
        return header(self.grid), [list(point.row(self.grid.totals).values()) for point in self.comparison.points]

    def shown(self) -> Shown:
        best, quantity = self.best, self.comparison.quantity
        failed = sum(point.error is not None for point in self.comparison.points)
        per = " a MAC" if self.comparison.by_mac else ""
        facts = {
            "keys": axis_names(self.grid.axes),
            f"least {quantity.title}{per}": "no point fits" if best is None else point_text(best.values),
            "failed": counted(failed, "points") if failed else "",
        }
        known = tuple((name, text) for name, text in facts.items() if text)
        title = f"of {self.title}"
        return Shown("SweepResult", title, counted(len(self), "points"), known, self._picture(), self._shown_table())

    def _shown_table(self) -> ShownTable:
        keys = [axis.key for axis in self.grid.axes]
        own = tuple(dict.fromkeys((TIME, self.comparison.quantity)))
        failed = any(point.error is not None for point in self.comparison.points)
        names = (*keys, *(quantity.title for quantity in own), "of the best", *(["error"] if failed else []))
        return ShownTable(
            names,
            (self._cells(number, keys)[: len(names)] for number in range(len(self))),
            len(self),
            0,
            "points",
        )

    def _cells(self, number: int, keys: Sequence[str]) -> tuple[str, ...]:
        point, ratio = self.comparison.points[number], self.comparison.ratio(number)
        own = tuple(dict.fromkeys((TIME, self.comparison.quantity)))
        amounts = ((quantity, self.comparison.amount(quantity, number)) for quantity in own)
        texts = ("" if amount is None else quantity.text(amount) for quantity, amount in amounts)
        values = (value_text(point.values[key]) for key in keys)
        return (*values, *texts, "" if ratio is None else f"{ratio:.3g}x", point.error or "")

    def _picture(self) -> str:
        """The cost over the first key that is a number, the best points in another colour."""
        axis = next((axis for axis in self.grid.axes if axis.is_numeric and len(axis.values) > 1), None)
        if axis is None:
            return ""
        quantity = self.comparison.quantity
        found: dict[float, list[float]] = {}
        for number, point in enumerate(self.comparison.points):
            cost = self.comparison.costs[number]
            if cost is not None:
                found.setdefault(float(point.values[axis.key]), []).append(cost)
        if not found:
            return ""
        scale, unit = quantity.unit(
            min(min(costs) for costs in found.values()) * (1e9 if self.comparison.by_mac else 1)
        )
        scale /= 1e9 if self.comparison.by_mac else 1
        every = [(value, cost / scale) for value, costs in found.items() for cost in costs]
        least = [(value, min(costs) / scale) for value, costs in found.items()]
        per = " a GMAC" if self.comparison.by_mac else ""
        return scatter(every, least, axis.key, f"{quantity.title}{per}, {unit}")


class SweepPoints(Displayed, Iterator[SweepPoint]):
    """The points of a sweep, each as soon as it is known, once; `collect` waits for all of them."""

    def __init__(self, sweep: Sweep, *, jobs: int | None = None, dask: str | None = None):
        self._sweep = sweep
        self._points = sweep.points(jobs=jobs, dask=dask)
        self._taken = 0

    def __next__(self) -> SweepPoint:
        point = next(self._points)
        self._taken += 1
        return point

    def close(self) -> None:
        """End the sweep: no more points are scored."""
        close = getattr(self._points, "close", None)
        if close is not None:
            close()

    def collect(self, *, progress: bool | None = None) -> SweepResult:
        """
        All points as one result, with tables, the best and the front.

        `progress` shows a bar; by default in notebooks and interactive sessions. Raises `UsageError` where points were
        already taken, and where they are too many to be kept.
        """
        sweep = self._sweep
        shows = argument("progress", progress, bool | None)
        if self._taken:
            raise UsageError(f"{self._taken:,} points were already taken", hint="collect has all points: call it first")
        if sweep.grid.count > MOST_POINTS:
            raise UsageError(f"found {sweep.grid.count:,} points, of which at most {MOST_POINTS:,} are kept")
        points: list[SweepPoint] = []
        with watched("sweep", sweep.grid.count, shows) as advance:
            for point in self:
                points.append(point)
                advance(1)
        return SweepResult(sweep.title, sweep.compare(points))

    def shown(self) -> Shown:
        grid = self._sweep.grid
        count = f"{counted(grid.count, 'points')} of {axis_names(grid.axes)}, {self._taken:,} taken"
        return Shown("SweepPoints", f"of {self._sweep.title}", count, note=".collect() has all of them as one result")
