"""Mappers on random chains: the genetic search against the dynamic program, which `test_exhaustive.py` tests."""

from collections.abc import Iterable
from fractions import Fraction
from random import Random

import pytest

from npuc.compiler.analysis.fusion.dynamic_program import best_plan
from npuc.compiler.analysis.fusion.genetic import genetic_plan
from npuc.compiler.analysis.fusion.problem import (
    FusedGroup,
    FusionPlan,
    FusionProblem,
    FusionStep,
    FusionValue,
    improving,
    plan_cost,
)
from npuc.compiler.analysis.programs.reported_costs import ReportedCost
from npuc.compiler.analysis.schedule.costs import Objective

SAMPLES = 8
MICRO = (1, 2, 4, 8)


class Chain:
    """
    Prices of a random chain by the model of DNNFuser: activations on chip take micro-batch x size of the room, weights
    are read once a micro-batch unless they fit too; the array is busy for MACs, at least a few cycles each time.
    """

    def __init__(self, seed: int, count: int):
        r = Random(seed)
        self.acts = [r.randint(1, 40) for _ in range(count + 1)]
        self.weights = [r.randint(0, 60) for _ in range(count)]
        self.macs = [r.randint(1, 120) for _ in range(count)]
        self.room = r.randint(10, 300)

    def problem(self, objective: Objective) -> FusionProblem:
        count = len(self.weights)
        steps = tuple(FusionStep(f"l{n}", True, self.macs[n], 0, (n,), (n + 1,)) for n in range(count))
        values = tuple(FusionValue(SAMPLES * size, True, n == count) for n, size in enumerate(self.acts))
        return FusionProblem(steps, values, SAMPLES, MICRO, self.room, objective, Fraction(1), 1)

    def alone(self, step: int) -> ReportedCost:
        return self._cost(step, step, SAMPLES, self.weights[step])

    def group(self, first: int, last: int, micro: int) -> ReportedCost | None:
        taken = sum(micro * self.acts[n] for n in range(first + 1, last + 1))
        if taken > self.room:
            return None
        weights = sum(self.weights[first : last + 1])
        return self._cost(first, last, micro, weights if taken + weights <= self.room else weights * SAMPLES // micro)

    def _cost(self, first: int, last: int, micro: int, weights: int) -> ReportedCost:
        moved = SAMPLES * (self.acts[first] + self.acts[last + 1]) + weights
        busy = sum(SAMPLES // micro * max(5, micro * self.macs[n] // 10) for n in range(first, last + 1))
        return ReportedCost(max(moved, busy), moved, moved * 1e-3 + busy * 1e-4)

    def ends(self, first: int) -> Iterable[int]:
        return range(first + 1, len(self.weights))


def score(chain: Chain, problem: FusionProblem, plan: FusionPlan) -> float:
    cost = plan_cost(problem, chain, plan)
    assert cost is not None
    return cost.score(problem.objective)


@pytest.mark.parametrize("seed", range(6))
def test_the_genetic_search_comes_within_five_percent(seed: int) -> None:
    chain = Chain(seed, 12)
    problem = chain.problem("time")
    least = score(chain, problem, best_plan(problem, chain))
    plan = genetic_plan(problem, chain, seed)
    assert plan == genetic_plan(problem, chain, seed)
    assert least <= score(chain, problem, plan) <= 1.05 * least


def test_no_group_fits() -> None:
    chain = Chain(1, 6)
    chain.room = 0
    problem = chain.problem("time")
    assert best_plan(problem, chain) == () == genetic_plan(problem, chain)


def test_what_does_not_pay_off_is_left_out() -> None:
    chain = Chain(2, 4)
    chain.acts = [1, 30, 1, 30, 1]
    chain.weights = [1, 1, 50, 50]
    chain.macs = [1, 1, 1, 1]
    chain.room = 64
    problem = chain.problem("traffic")
    good, bad = FusedGroup(0, 1, 1), FusedGroup(2, 3, 1)
    assert improving(problem, chain, (good, bad)) == (good,)
    assert improving(problem, chain, (FusedGroup(0, 1, 8),)) == ()  # does not fit
