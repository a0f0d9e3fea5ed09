"""
A design search from end to end: goals and budgets in, machines with their mappings out, each scored by the backend.

Several goals share what was found: the search minimises one after another, under the whole area and, where the area is
a goal, under halves of it; what is known in the end is combined to machines that no other one beats in all goals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import inf

import numpy as np

from npuc.compiler.analysis.mapping.exact.arrays import Floats
from npuc.compiler.core.errors import CapacityError
from npuc.compiler.explore.design.budget import Budget
from npuc.compiler.explore.design.clusters import ClusterTimes
from npuc.compiler.explore.design.combine import Design, designs, pareto
from npuc.compiler.explore.design.energy import AccessEnergy
from npuc.compiler.explore.design.goal import Goal, GoalName
from npuc.compiler.explore.design.population import Population
from npuc.compiler.explore.design.search import DesignSearch, FoundDesign, elites_of, mappings_of
from npuc.compiler.explore.design.task import DesignTask
from npuc.compiler.explore.mapping.mappers.random import generator

HALVES = 5
"""The halves of the area under which machines are searched where the area is a goal."""
MOST_DESIGNS = 24
"""The designs of a front that are kept, those at equal distances along the first goal."""
CANDIDATE_CLUSTERS = 32
"""The best clusters of each search whose machines are combined in the end."""


@dataclass(frozen=True)
class Searched:
    """
    The designs that no other one beats in all goals, best first by the first goal; `bound` is the fewest cycles that a
    step takes on any clusters within the area, and `curve` the first goal's best value over evaluations.
    """

    designs: tuple[FoundDesign, ...]
    evaluations: int
    bound: float
    curve: tuple[tuple[int, float], ...]


def explore(
    task: DesignTask,
    budget: Budget,
    energy: AccessEnergy,
    goals: Sequence[Goal],
    *,
    area: bool,
    evaluations: int,
    seed: int,
    advance: Callable[[int], None],
) -> Searched:
    """
    Search for machines within a budget that are good in goals, and, with `area`, small.

    Raises `CapacityError` where no machine within the budget runs the step.
    """
    buffered = any(goal.buffered for goal in goals)
    populations = [
        Population(work, space, generator(seed, "design", number), energy, buffered)
        for number, (work, space) in enumerate(zip(task.works, task.spaces, strict=True))
    ]
    limits = [budget.limit_mm2 / 2**half for half in range(HALVES if area else 1)]
    random = generator(seed, "design")
    times, searches = ClusterTimes(task.works, task.spaces), list[DesignSearch]()
    pairs = list(product(limits, goals))
    for number, (limit, goal) in enumerate(pairs):
        search = DesignSearch(populations, replace(budget, limit_mm2=limit), goal, random, times)
        search.run(evaluations * (number + 1) // len(pairs), advance)
        searches.append(search)
    first = searches[0]
    if first.best is None:
        raise _impossible(budget, first)
    found = [one.best for one in searches if one.best is not None]
    if len(goals) > 1 or area:
        found = _front(populations, searches, goals, area=area)
    bound = first.bound
    return Searched(tuple(found), first.evaluations, bound, tuple(first.curve))


def _impossible(budget: Budget, search: DesignSearch) -> CapacityError:
    """The error of a budget that no machine meets, with what it lacks."""
    limit = f"{budget.limit_mm2:g} mm2"
    if not search.most:
        least = budget.area_mm2(1, search.least_l1, 1)
        return CapacityError(
            f"no processing element with its buffer fits into {limit}",
            hint=f"by the area model {budget.model.name} one takes {least:.3g} mm2, vector units included",
        )
    if budget.power_w is None:
        return CapacityError(f"no machine of {limit} has buffers for every contraction", hint="a larger --area-mm2")
    return CapacityError(
        f"no machine of {limit} was found that takes at most {budget.power_w:g} W on average over a step",
        hint="a larger --power-w, a slower clock (--set clock_mhz=N), or a larger --budget",
    )


def _front(
    populations: Sequence[Population], searches: Sequence[DesignSearch], goals: Sequence[Goal], *, area: bool
) -> list[FoundDesign]:
    """The designs of all clusters that were good in some search, without those that another one beats."""
    elites = elites_of(populations)
    assert elites is not None
    works = [one.work for one in populations]
    clusters: dict[tuple[int, ...], None] = {}
    for search in searches:
        known = sorted((value, one) for one, value in search.seen.items() if value < inf)
        clusters |= dict.fromkeys(one for _, one in known[:CANDIDATE_CLUSTERS])
    first = searches[0]
    best = None if first.best is None else first.best.design
    prices = sorted({price for goal in goals for price in goal.prices(best)})
    found = [FoundDesign(one.best.design, one.best.mappings) for one in searches if one.best is not None]
    for fanouts in clusters:
        for design in designs(works, elites, fanouts, first.budget, populations[0].energy, prices, smaller=area):
            if goals[0].allows(design):
                found.append(FoundDesign(design, ()))
    points = np.array([_point(one.design, [goal.name for goal in goals], area=area) for one in found])
    kept = [found[int(row)] for row in pareto(points)]
    kept.sort(key=lambda one: goals[0].key(one.design))
    if len(kept) > MOST_DESIGNS:
        kept = [kept[round(at * (len(kept) - 1) / (MOST_DESIGNS - 1))] for at in range(MOST_DESIGNS)]
    return [one if one.mappings else FoundDesign(one.design, mappings_of(one.design, elites)) for one in kept]


def _point(design: Design, goals: Sequence[GoalName], *, area: bool) -> Floats:
    """What is to be small of a design."""
    values = {"time": design.cycles, "energy": design.energy, "edp": design.cycles * design.energy}
    return np.array([*(values[name] for name in goals), *([design.area_mm2] if area else [])])
