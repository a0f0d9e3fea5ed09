"""From a sweep, goals and constraints to the points that no other one beats."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field

from npuc.compiler.core.errors import UsageError
from npuc.compiler.explore.optimize.constraints import read_constraints
from npuc.compiler.explore.optimize.floors import PointFloors
from npuc.compiler.explore.optimize.goals import DEFAULT_GOALS, read_goals
from npuc.compiler.explore.optimize.machine_facts import GridMachines
from npuc.compiler.explore.optimize.metrics import is_by_mac
from npuc.compiler.explore.optimize.pricing import PointPricing, Scorer
from npuc.compiler.explore.optimize.record import PointRecord
from npuc.compiler.explore.optimize.result import OptimizedPoint, OptimizeResult, OptimizeSettings, PointCounts
from npuc.compiler.explore.pareto.search import FrontOutcome, FrontSearch
from npuc.compiler.explore.pareto.space import MOST_NUMBERS
from npuc.compiler.explore.sweep.point import SweepPoint
from npuc.compiler.explore.sweep.points import Points
from npuc.compiler.explore.sweep.sweep import Sweep
from npuc.compiler.explore.workers import Pool

DEFAULT_BUDGET = 1000
MOST_POINTS = MOST_NUMBERS
"""The most points that a search may be over."""


@dataclass(frozen=True)
class OptimizeCourse:
    """
    How a search runs: `budget` points are priced at most, by so many processes; `told` gets each point.

    `resume` is the file of a record, which the search continues, or begins.
    """

    budget: int = DEFAULT_BUDGET
    seed: int = 0
    jobs: int = 1
    resume: str | None = None
    told: Callable[[SweepPoint], None] = field(default=lambda _: None)


@dataclass(frozen=True)
class Optimized:
    """A result, what ended the search early, and how many points came from a record."""

    result: OptimizeResult
    interrupt: KeyboardInterrupt | None
    before: int


def optimize(
    sweep: Sweep,
    course: OptimizeCourse,
    goals: Sequence[str] = DEFAULT_GOALS,
    constraints: Sequence[str] = (),
) -> Optimized:
    """
    The points of a sweep that no other one beats in goals, under constraints.

    Raises `UsageError` for goals and constraints that cannot be, and for metrics that the backend does not model;
    `NpucError`s for what is wrong with all points, and `KeyboardInterrupt` before any point was priced.
    """
    if course.budget < 1:
        raise UsageError(f"found a budget of {course.budget} points, expected at least one")
    by_mac = is_by_mac(sweep.grid)
    settings = OptimizeSettings(
        read_goals(goals, by_mac=by_mac), read_constraints(constraints), course.budget, course.seed
    )
    points = sweep.scorer
    machines = GridMachines(points)
    floors = PointFloors(points, settings.goals, settings.constraints, machines)
    record = nullcontext() if course.resume is None else PointRecord(course.resume, sweep.grid, sweep.digest())
    with _pool(points, course.jobs) as pool, record as known:
        pricing = PointPricing(points, settings.goals, settings.constraints, floors, course.told, pool, known)
        search = FrontSearch(machines.space, len(settings.goals), pricing, course.budget, course.seed, floors)
        outcome = search.run()
    if outcome.interrupt is not None and not outcome.priced:
        raise outcome.interrupt
    return Optimized(_result(sweep, settings, pricing, outcome), outcome.interrupt, pricing.before)


@contextmanager
def _pool(points: Points, jobs: int) -> Generator[Pool[Sequence[int], list[SweepPoint]] | None]:
    """Processes that score points; None where this one does."""
    if jobs == 1:
        yield None
        return
    own = Points(points.source, points.grid, points.backend, points.options)
    with Pool[Sequence[int], list[SweepPoint]](Scorer(own), jobs) as pool:
        yield pool


def _result(sweep: Sweep, settings: OptimizeSettings, pricing: PointPricing, outcome: FrontOutcome) -> OptimizeResult:
    points: dict[int, OptimizedPoint] = {}
    for number, priced in outcome.priced.items():
        point, numbers = pricing.found[number], pricing.numbers.get(number, {})
        amounts: dict[str, float] = {}
        if priced.goals is not None:
            amounts = {goal.name: amount for goal in settings.goals if (amount := goal.amount(numbers)) is not None}
        points[number] = OptimizedPoint(number, point.values, amounts, numbers, point.error, priced.is_fine)
    failed = sum(point.error is not None for point in points.values())
    counts = PointCounts(
        sweep.grid.count,
        len(points),
        failed,
        sum(not point.amounts for point in points.values()) - failed,
        sum(bool(point.amounts) and not point.meets for point in points.values()),
        outcome.excluded,
        outcome.implied,
        outcome.forbidden,
        outcome.left,
    )
    return OptimizeResult(
        sweep.title,
        settings,
        {axis.key: axis.values for axis in sweep.grid.axes},
        tuple(points[number] for number in outcome.front),
        tuple(points.values()),
        counts,
        outcome.proved and outcome.interrupt is None,
        outcome.gap,
        len(outcome.broken),
        outcome.laws,
        outcome.interrupt is not None,
    )
