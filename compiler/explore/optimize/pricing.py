"""What points cost: scored here or in several processes, or taken from a record, as the search wants to have it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from npuc.compiler.core.errors import UsageError
from npuc.compiler.explore.optimize.constraints import MetricConstraint
from npuc.compiler.explore.optimize.floors import PointFloors
from npuc.compiler.explore.optimize.goals import MetricGoal
from npuc.compiler.explore.optimize.metrics import AREA, numbers_of
from npuc.compiler.explore.optimize.record import PointRecord
from npuc.compiler.explore.pareto.priced import Priced
from npuc.compiler.explore.plot.metrics import Numbers
from npuc.compiler.explore.sweep.point import SweepPoint
from npuc.compiler.explore.sweep.points import Points
from npuc.compiler.explore.workers import Pool

Told = Callable[[SweepPoint], None]


@dataclass(frozen=True)
class Scorer:
    """Scores lists of points, in this process or in others."""

    points: Points

    def __call__(self, numbers: Sequence[int]) -> list[SweepPoint]:
        """The points of those numbers, in their order."""
        return list(self.points.score_some(numbers))


@dataclass
class PointPricing:
    """
    Prices points of a sweep; `told` gets each, also those that the record had.

    `found` has the points by their numbers, and `numbers` what is known of those that fit; `before` is how many came
    from the record.
    """

    points: Points
    goals: Sequence[MetricGoal]
    constraints: Sequence[MetricConstraint]
    floors: PointFloors
    told: Told
    pool: Pool[Sequence[int], list[SweepPoint]] | None = None
    record: PointRecord | None = None
    found: dict[int, SweepPoint] = field(default_factory=dict[int, SweepPoint])
    numbers: dict[int, Numbers] = field(default_factory=dict[int, Numbers])
    before: int = 0

    def __post_init__(self) -> None:
        self.floors.priced = self.numbers
        self._past = {} if self.record is None else {point.index: point for point in self.record.points}

    def __call__(self, numbers: Sequence[int]) -> Iterator[Priced]:
        """The prices of points, in the order of their numbers. Raises `NpucError`s as a sweep does."""
        ordered = sorted(numbers)
        scored = self._scored([number for number in ordered if number not in self._past])
        complete = 0
        for number in ordered:
            if number in self._past:
                point = self._past[number]
                self.before += 1
            else:
                point = next(scored)
                if self.record is not None:
                    self.record.add(point)
            self.found[number] = point
            self.told(point)
            priced = self._priced(point)
            complete += priced.goals is not None
            yield priced
        self._check(ordered, complete)

    def _scored(self, numbers: Sequence[int]) -> Iterator[SweepPoint]:
        if self.pool is None:
            yield from self.points.score_some(numbers)
            return
        for some in self.pool.each([*self._lots(numbers)]):
            yield from some

    def _lots(self, numbers: Sequence[int]) -> Iterator[list[int]]:
        """What processes get at a time: points that are scored together, else one."""
        run = self.points.grid.run
        for _, some in groupby(numbers, lambda number: number // run):
            together = [*some]
            if self.points.choices.backend_of(together[0]).level == "train":
                yield together
            else:
                yield from ([one] for one in together)

    def _priced(self, point: SweepPoint) -> Priced:
        if point.totals is None:
            return Priced(point.index, None)
        known = numbers_of(point, self.points.grid, self.floors.machine_numbers(point.index))
        self.numbers[point.index] = known
        amounts = [goal.amount(known) for goal in self.goals]
        excesses = [one.excess(known) for one in self.constraints]
        if any(one is None for one in (*amounts, *excesses)):
            return Priced(point.index, None)
        small = tuple(goal.small(one) for goal, one in zip(self.goals, amounts, strict=True) if one is not None)
        return Priced(point.index, small, sum(one for one in excesses if one is not None))

    def _check(self, numbers: Sequence[int], complete: int) -> None:
        """Raise `UsageError` where nothing that was priced so far has all metrics that are asked for."""
        fitting = [number for number in numbers if number in self.numbers]
        if complete or not fitting or len(self.found) > len(numbers):
            return
        known = self.numbers[fitting[0]]
        asked = [*(goal.metric for goal in self.goals), *(one.metric for one in self.constraints)]
        missing = next(metric for metric in asked if metric.of(known) is None)
        backend = self.points.choices.backend_of(fitting[0]).name
        hint = "--set technology.node_nm=28" if missing.name in (AREA, "energy", "power", "edp") else None
        raise UsageError(f"the backend '{backend}' does not say '{missing.name}' on this machine", hint=hint)
