"""
A design search from end to end: goals and budgets in, machines with their mappings out, each scored by the backend.

Several goals share what was found: the search minimises one after another, under the whole area and, where the area is
a goal, under halves of it; what is known in the end is combined to machines that no other one beats in all goals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, product
from math import ceil, floor, inf, log10

import numpy as np

from npuc.compiler.analysis.mapping.exact.arrays import Floats
from npuc.compiler.analysis.mapping.flexibility.axes import Supports, class_of, is_within
from npuc.compiler.core.errors import CapacityError
from npuc.compiler.explore.design.budget import Budget
from npuc.compiler.explore.design.classes import DEFAULT_CLASS, class_space, class_spreads, is_free, of_any_shape
from npuc.compiler.explore.design.clusters import ClusterTimes
from npuc.compiler.explore.design.combine import Design, designs
from npuc.compiler.explore.design.energy import AccessEnergy
from npuc.compiler.explore.design.evaluation import Evaluation, evaluating, recorded
from npuc.compiler.explore.design.goal import Goal, GoalName
from npuc.compiler.explore.design.population import Population
from npuc.compiler.explore.design.search import DesignSearch, FoundDesign, Shared, mappings_of
from npuc.compiler.explore.design.task import DesignTask
from npuc.compiler.explore.pareto.front import pareto
from npuc.compiler.explore.seeds import generator

HALVES = 5
"""The halves of the area under which machines are searched where the area is a goal."""
MOST_DESIGNS = 24
"""The designs of a front that are kept, those at equal distances along the first goal."""
CANDIDATE_CLUSTERS = 32
"""The best clusters of each search whose machines are combined in the end."""

LEAST_AXES = 2
"""The free axes from which on each further one doubles the evaluations of a class."""


@dataclass(frozen=True)
class Searched:
    """
    The designs that no other one beats in all goals, or the best of each class, best first by the first goal.

    `bound` is the fewest cycles that a step takes on any clusters within the area, and `curve` the first goal's best
    value over evaluations.

    `interrupt` is what ended the search early, `before` how many mappings a record had.
    """

    designs: tuple[FoundDesign, ...]
    evaluations: int
    bound: float
    curve: tuple[tuple[int, float], ...]
    interrupt: KeyboardInterrupt | None = None
    before: int = 0


@dataclass(frozen=True)
class Course:
    """
    How a search is run: `evaluations` mappings in all, by so many processes; `advance` is told how many were evaluated.

    `resume` is the file of a record, which the search continues, or begins.
    """

    evaluations: int
    seed: int
    advance: Callable[[int], None]
    jobs: int = 1
    resume: str | None = None


def explore(
    task: DesignTask,
    budget: Budget,
    energy: AccessEnergy,
    goals: Sequence[Goal],
    course: Course,
    *,
    area: bool,
    classes: Sequence[Supports] = (DEFAULT_CLASS,),
) -> Searched:
    """
    Search for machines within a budget that are good in goals, and, with `area`, small.

    Of several classes, for one goal, the result is the best machine of each, a class before its supersets: whatever is
    found for a class is known to them, so that more choice is never worse.

    Where the search is interrupted, the result has the best so far. Raises `CapacityError` where no machine within the
    budget runs the step, and `UsageError` for a file that is no record of this search.
    """
    evaluation = Evaluation(task.works, task.spaces, energy, any(goal.buffered for goal in goals), task.owns)
    limits = [budget.limit_mm2 / 2**half for half in range(HALVES if area else 1)]
    parts = list(product(limits, goals, classes))
    weights = [_weight(supports) if len(classes) > 1 else 1 for *_, supports in parts]
    # several searches share the mappings, of which each has a part: that is another search with more of them
    several = course.evaluations if len(parts) > 1 else None
    content = evaluation, budget.content, goals, area, course.seed, several, classes
    interrupt: KeyboardInterrupt | None = None
    searches: list[DesignSearch] = []
    with (
        evaluating(evaluation, course.jobs) as evaluate,
        recorded(evaluate, course.resume, content, divided=len(parts) > 1) as (evaluate, record),
    ):
        populations = _populations(task, classes, course.seed)
        shared = Shared(populations, {kind: _times(task, kind) for kind in populations}, evaluate, energy)
        random = generator(course.seed, "design")
        try:
            for (limit, goal, supports), share in zip(parts, accumulate(weights), strict=True):
                search = DesignSearch(shared, replace(budget, limit_mm2=limit), goal, random, supports)
                if len(classes) > 1:
                    search.begin_with(searches)
                searches.append(search)
                search.run(course.evaluations * share // sum(weights), course.advance)
        except KeyboardInterrupt as raised:
            interrupt = raised
    found = [one.best for one in searches if one.best is not None]
    if not found or (len(classes) == 1 and searches[0].best is None):
        if interrupt is not None:
            interrupt.add_note("no machine was found yet that runs the step")
            raise interrupt
        raise _impossible(budget, searches[-1 if len(classes) > 1 else 0])
    bound, curve = searches[0].bound, searches[0].curve
    if len(classes) > 1:
        # the best one first, of equal ones that with the least choice, which was searched first
        found.sort(key=lambda one: goals[0].key(one.design)[0])
        bound, curve = min(one.bound for one in searches), _falling([one.curve for one in searches])
    elif len(parts) > 1:
        found = _front(shared, searches, goals, area=area)
    before = 0 if record is None else record.before
    return Searched(tuple(found), shared.evaluations, bound, tuple(curve), interrupt, before)


def _populations(task: DesignTask, classes: Sequence[Supports], seed: int) -> dict[Supports, tuple[Population, ...]]:
    """The populations of all contractions for each class of mappings."""
    found: dict[Supports, tuple[Population, ...]] = {}
    # a superset before its subsets, whose mappings it is told
    for kind in dict.fromkeys(of_any_shape(one) for one in reversed(classes)):
        purpose = () if is_free(kind) else (class_of(kind),)
        found[kind] = tuple(
            Population(
                number,
                work,
                class_space(space, space.fanouts[0], kind),
                generator(seed, "design", number, *purpose),
                kind,
                [some[number] for other, some in found.items() if is_within(kind, other)],
            )
            for number, (work, space) in enumerate(zip(task.works, task.spaces, strict=True))
        )
    return found


def _weight(supports: Supports) -> int:
    """The part of all evaluations that a class has: a further axis has a larger space of mappings."""
    return 2 ** max(supports.count("any"), LEAST_AXES)


def _times(task: DesignTask, kind: Supports) -> ClusterTimes:
    owns = task.owns or (None,) * len(task.works)
    spreads = [class_spreads(space, own, kind) for space, own in zip(task.spaces, owns, strict=True)]
    return ClusterTimes(task.works, task.spaces, spreads)


def _falling(curves: Sequence[Sequence[tuple[int, float]]]) -> list[tuple[int, float]]:
    """The best value of any search so far."""
    found: list[tuple[int, float]] = []
    for point in (point for curve in curves for point in curve):
        if not found or point[1] < found[-1][1]:
            found.append(point)
    return found


def _impossible(budget: Budget, search: DesignSearch) -> CapacityError:
    """The error of a budget that no machine meets: which one, and what would do."""
    limit, model = f"{budget.limit_mm2:g} mm2", budget.model.name
    least = budget.area_mm2(1, search.least_l1, max(search.least_l1, search.least_l2))
    smallest = f"the smallest one takes {least:.3g} mm2 by the area model {model}"
    if least > budget.limit_mm2:
        return CapacityError(
            f"no machine of {limit} runs the step: {smallest}",
            hint=f"--area-mm2 {_above(least):g}, for an element and its buffers{budget.model.beside}",
        )
    if search.constrained and search.least_watts == inf:
        return CapacityError(
            f"no machine of {limit} was found whose mappings meet the constraints",
            hint="weaker constraints, or a larger --area-mm2 or --budget",
        )
    if budget.power_w is None or search.least_watts == inf:
        return CapacityError(f"no machine of {limit} was found: {smallest}", hint="a larger --area-mm2 or --budget")
    return CapacityError(
        f"no machine of {limit} was found that takes at most {budget.power_w:g} W on average over a step",
        hint=f"--power-w {_above(search.least_watts):g}, a slower clock (--set clock_mhz=N), or a larger --budget",
    )


def _above(value: float) -> float:
    """A number of three digits that is not below a value."""
    unit = 10.0 ** (floor(log10(value)) - 2)
    return ceil(value / unit) * unit


def _front(shared: Shared, searches: Sequence[DesignSearch], goals: Sequence[Goal], *, area: bool) -> list[FoundDesign]:
    """The designs of all clusters that were good in some search, without those that another one beats."""
    first = searches[0]
    elites, supports = first.elites(), first.supports
    assert elites is not None
    works = [one.work for one in first.populations]
    clusters: dict[tuple[int, ...], None] = {}
    for search in searches:
        known = sorted((value, one) for one, value in search.seen.items() if value < inf)
        clusters |= dict.fromkeys(one for _, one in known[:CANDIDATE_CLUSTERS])
    best = None if first.best is None else first.best.design
    prices = sorted({price for goal in goals for price in goal.prices(best)})
    found = [one.best for one in searches if one.best is not None]
    for fanouts in clusters:
        for design in designs(works, elites, fanouts, first.budget, shared.energy, prices, smaller=area):
            if goals[0].allows(design):
                found.append(FoundDesign(design, (), supports))
    points = np.array([_point(one.design, [goal.name for goal in goals], area=area) for one in found])
    kept = [found[int(row)] for row in pareto(points)]
    kept.sort(key=lambda one: goals[0].key(one.design))
    if len(kept) > MOST_DESIGNS:
        kept = [kept[round(at * (len(kept) - 1) / (MOST_DESIGNS - 1))] for at in range(MOST_DESIGNS)]
    return [one if one.mappings else replace(one, mappings=mappings_of(one.design, elites)) for one in kept]


def _point(design: Design, goals: Sequence[GoalName], *, area: bool) -> Floats:
    """What is to be small of a design."""
    values = {"time": design.cycles, "energy": design.energy, "edp": design.cycles * design.energy}
    return np.array([*(values[name] for name in goals), *([design.area_mm2] if area else [])])
