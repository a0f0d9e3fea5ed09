"""
The best plan by a dynamic program over the boundaries of groups.

Costs of ranges add up, so that the best plan of the steps before a boundary is part of the best plan of all, for time,
traffic and energy. A product of time and energy does not add up: there all pairs are kept of which none is better in
both. So the plan is the best of all with groups of a uniform micro-batch, which an exhaustive search confirms in the
tests for chains of up to eight layers. Branches change nothing: groups are ranges in the order of the program.

Where prices have lower bounds (`Bounded`), the groups that end at a boundary are priced in the order of their bounds,
and those not at all that cannot be better than what is known: the plan is the same.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import TypeAlias

from npuc.compiler.analysis.fusion.problem import Bounded, FusedGroup, FusionPlan, FusionProblem, Prices, summed
from npuc.compiler.analysis.programs.reported_costs import ReportedCost

Key: TypeAlias = tuple[float, float]
"""What counts of a cost: a plan is no better than another one that is no larger in both."""


@dataclass(frozen=True)
class Reached:
    """What the steps before a boundary cost under a plan, which is a list of groups from the last to the first."""

    cost: ReportedCost
    key: Key
    groups: "tuple[FusedGroup, Reached] | None" = None
    count: int = 0
    """The number of groups."""
    rank: tuple[int, int] = (0, 0)
    """Decides between plans of equal cost with equally many groups: where the last one begins, its micro-batch."""


def best_plan(problem: FusionProblem, prices: Prices) -> FusionPlan:
    """The plan that costs least; of equal ones the one with fewer groups, so that nothing is fused for nothing."""
    count = len(problem.steps)
    firsts: list[list[int]] = [[] for _ in range(count)]
    for first in range(count):
        for last in prices.ends(first):
            firsts[last].append(first)
    bounded = prices if isinstance(prices, Bounded) else None
    start = ReportedCost(0, 0, 0.0)
    reached = [[Reached(start, _key(problem, start))]]
    for last in range(count):
        alone, found = prices.alone(last), list[Reached]()
        for before in reached[last]:
            cost = summed((before.cost, alone))
            _add(found, Reached(cost, _key(problem, cost), before.groups, before.count, (last, 0)))
        for before, group in _by_bound(problem, bounded, last, firsts[last], reached, found):
            if bounded is None:
                price = prices.group(group.first, last, group.micro)
            else:
                price = bounded.within(group.first, last, group.micro, _limit(problem, before, found))
            if price is not None:
                _add(found, _with(problem, before, group, price))
        reached.append(found)
    best = min(reached[count], key=lambda one: (one.cost.score(problem.objective), one.cost.moved))
    return tuple(reversed(list(_groups(best))))


def _limit(problem: FusionProblem, before: Reached, found: list[Reached]) -> float:
    """The score of a group above which a plan that goes on with it is worse than one that is found."""
    return inf if problem.objective == "edp" else min(one.key[0] for one in found) - before.key[0]


def _groups(reached: Reached) -> Iterator[FusedGroup]:
    """The groups of a plan, from the last to the first."""
    link = reached.groups
    while link is not None:
        yield link[0]
        link = link[1].groups


def _by_bound(
    problem: FusionProblem,
    bounded: Bounded | None,
    last: int,
    firsts: list[int],
    reached: list[list[Reached]],
    found: list[Reached],
) -> Iterator[tuple[Reached, FusedGroup]]:
    """The groups that end with a step, after plans before them, that may be better than what is `found` by then."""
    least: list[tuple[Reached, FusedGroup, Reached]] = []
    for first in firsts:
        for micro in problem.micro_batches:
            group = FusedGroup(first, last, micro)
            bound = ReportedCost(0, 0, 0.0) if bounded is None else bounded.least(first, last, micro)
            least += [(before, group, _with(problem, before, group, bound)) for before in reached[first]]
    for before, group, bound in sorted(least, key=lambda one: (one[2].key, one[2].count, one[2].rank)):
        if not any(_is_no_worse(one, bound) for one in found):
            yield before, group


def _with(problem: FusionProblem, before: Reached, group: FusedGroup, price: ReportedCost) -> Reached:
    """A plan with one more group."""
    cost = summed((before.cost, price))
    return Reached(cost, _key(problem, cost), (group, before), before.count + 1, (group.first, group.micro))


def _key(problem: FusionProblem, cost: ReportedCost) -> Key:
    if problem.objective == "edp":
        cost.score("energy")  # raises where the machine says no energies
        return cost.cycles, cost.joules or 0.0
    score = cost.score(problem.objective)
    return score, score


def _is_no_worse(one: Reached, other: Reached) -> bool:
    """Whether a plan may replace another one, which costs as much as it says or more."""
    if one.key == other.key:
        return (one.count, one.rank) <= (other.count, other.rank)
    return one.key[0] <= other.key[0] and one.key[1] <= other.key[1]


def _add(found: list[Reached], new: Reached) -> None:
    """Keep a plan unless there is one that may replace it; drop those that it replaces."""
    if not any(_is_no_worse(one, new) for one in found):
        found[:] = [one for one in found if not _is_no_worse(new, one)]
        found.append(new)
