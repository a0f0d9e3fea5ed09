"""
The best plan by a dynamic program over the boundaries of groups.

Costs of ranges add up, so that the best plan of the steps before a boundary is part of the best plan of all, for time,
traffic and energy. A product of time and energy does not add up: there all pairs are kept of which none is better in
both. So the plan is the best of all with groups of a uniform micro-batch, which an exhaustive search confirms in the
tests for chains of up to eight layers. Branches change nothing: groups are ranges in the order of the program.
"""

from dataclasses import dataclass

from npuc.compiler.analysis.fusion.problem import FusedGroup, FusionPlan, FusionProblem, Prices, summed
from npuc.compiler.analysis.programs.reported_costs import ReportedCost


@dataclass(frozen=True)
class Reached:
    """What the steps before a boundary cost under a plan, which is a list of groups from the last to the first."""

    cost: ReportedCost
    groups: "tuple[FusedGroup, Reached] | None"
    count: int = 0
    """The number of groups."""


def best_plan(problem: FusionProblem, prices: Prices) -> FusionPlan:
    """The plan that costs least; of equal ones the one with fewer groups, so that nothing is fused for nothing."""
    count = len(problem.steps)
    reached: list[list[Reached]] = [[] for _ in range(count + 1)]
    reached[0] = [Reached(ReportedCost(0, 0, 0.0), None)]
    for step in range(count):
        alone = prices.alone(step)
        for before in reached[step]:
            _add(problem, reached[step + 1], Reached(summed((before.cost, alone)), before.groups, before.count))
        for last in prices.ends(step):
            for micro in problem.micro_batches:
                price = prices.group(step, last, micro)
                for before in reached[step] if price is not None else ():
                    assert price is not None
                    group = FusedGroup(step, last, micro)
                    _add(
                        problem,
                        reached[last + 1],
                        Reached(summed((before.cost, price)), (group, before), before.count + 1),
                    )
        reached[step] = []
    best = min(reached[count], key=lambda one: (one.cost.score(problem.objective), one.cost.moved))
    plan: list[FusedGroup] = []
    link = best.groups
    while link is not None:
        plan.append(link[0])
        link = link[1].groups
    return tuple(reversed(plan))


def _key(problem: FusionProblem, cost: ReportedCost) -> tuple[float, float]:
    if problem.objective == "edp":
        cost.score("energy")  # raises where the machine says no energies
        return cost.cycles, cost.joules or 0.0
    score = cost.score(problem.objective)
    return score, score


def _add(problem: FusionProblem, found: list[Reached], new: Reached) -> None:
    """Keep a cost unless one that is there is as good in all that counts; drop those that it beats."""
    own = _key(problem, new.cost)
    keys = [_key(problem, one.cost) for one in found]
    for number, (one, key) in enumerate(zip(found, keys, strict=True)):
        if key == own and new.count < one.count:
            found[number] = new
        if key[0] <= own[0] and key[1] <= own[1]:
            return
    found[:] = [one for one, key in zip(found, keys, strict=True) if not (own[0] <= key[0] and own[1] <= key[1])]
    found.append(new)
