"""The dynamic program against all plans: random chains of up to eight steps, small programs with the real prices."""

from collections.abc import Iterator
from functools import cache
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from npuc.backends.cycle.backend import CycleBackend
from npuc.compiler.analysis.fusion.dynamic_program import best_plan
from npuc.compiler.analysis.fusion.problem import FusedGroup, FusionPlan, FusionProblem, Prices, plan_cost
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.programs.reported_costs import ReportedCost
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.driver.compile import lowered_module
from npuc.compiler.transforms.fuse_layers.chain import chain_of
from npuc.compiler.transforms.fuse_layers.design import Designs
from npuc.compiler.transforms.schedule.searches import known_machine
from npuc.frontends.source import text_source
from tests.unit.fusion.test_plans_of_groups import Chain

OBJECTIVES: tuple[Objective, ...] = ("time", "traffic", "energy", "edp")


class Remembered:
    """Prices, each asked for once."""

    def __init__(self, prices: Prices):
        self.prices = prices
        self.alone, self.group = cache(prices.alone), cache(prices.group)

    def ends(self, first: int) -> list[int]:
        return list(self.prices.ends(first))


class Below(Remembered):
    """The same with lower bounds: the price less a random part of it in each measure."""

    def __init__(self, prices: Prices, seed: int, objective: Objective):
        super().__init__(prices)
        self.objective: Objective = objective
        self.random = Random(seed)
        self.asked = 0
        self.exact = False

    def least(self, first: int, last: int, micro: int) -> ReportedCost:
        price = self.group(first, last, micro)
        if price is None:
            return ReportedCost(0, 0, 0.0)
        share = 1 if self.exact else self.random.choice((0, 1, 1, self.random.random()))
        return ReportedCost(int(share * price.cycles), int(share * price.moved), share * (price.joules or 0.0))

    def within(self, first: int, last: int, micro: int, limit: float) -> ReportedCost | None:
        self.asked += 1
        price = self.group(first, last, micro)
        return None if price is None or price.score(self.objective) > limit * (1 + 1e-12) else price


def plans(problem: FusionProblem, prices: Prices, first: int = 0) -> Iterator[FusionPlan]:
    """All plans of possible groups of the steps from a first one."""
    if first >= len(problem.steps):
        yield ()
        return
    yield from plans(problem, prices, first + 1)
    for last in prices.ends(first):
        for micro in problem.micro_batches:
            if prices.group(first, last, micro) is not None:
                group = FusedGroup(first, last, micro)
                yield from ((group, *rest) for rest in plans(problem, prices, last + 1))


def scored(problem: FusionProblem, prices: Prices, plan: FusionPlan) -> float:
    """What a possible plan costs."""
    cost = plan_cost(problem, prices, plan)
    assert cost is not None
    return cost.score(problem.objective)


def check_best(problem: FusionProblem, prices: Prices, plan: FusionPlan) -> int:
    """That no plan costs less than one, nor as much with fewer groups; the number of all plans."""
    found = scored(problem, prices, plan)
    every = [(scored(problem, prices, other), len(other)) for other in plans(problem, prices)]
    least = min(score for score, _ in every)
    assert found == pytest.approx(least, rel=1e-12)
    if problem.objective in ("time", "traffic"):
        assert found == least
        assert len(plan) == min(count for score, count in every if score == least)
    return len(every)


@settings(max_examples=24)
@given(seed=st.integers(0, 10**6), count=st.integers(1, 8), objective=st.sampled_from(OBJECTIVES))
def test_no_plan_of_a_chain_is_better(seed: int, count: int, objective: Objective) -> None:
    chain = Chain(seed, count)
    prices, problem = Remembered(chain), chain.problem(objective)
    plan = best_plan(problem, prices)
    check_best(problem, prices, plan)
    below = Below(chain, seed, objective)
    assert best_plan(problem, below) == plan


def test_eight_steps_have_thousands_of_plans() -> None:
    """With room for all: four micro-batches of each of the ranges, and bounds spare most of the prices."""
    chain = Chain(5, 8)
    chain.room = 10**6
    prices, problem = Remembered(chain), chain.problem("time")
    plan = best_plan(problem, prices)
    assert check_best(problem, prices, plan) == 3281
    below = Below(chain, 0, "time")
    below.exact = True
    assert best_plan(problem, below) == plan
    assert below.asked < 4 * 28 / 2


CHAIN = """network chain(batch=4) {
  input x: f32[batch, 3, 8, 8]
  a = relu(conv2d(x, 8, kernel=3, padding=1))
  b = relu(conv2d(a, 8, kernel=3, padding=1))
  output y = conv2d(b, 4, kernel=3, padding=1)
}"""
STEP = """network step(batch=4) {
  input x: f32[batch, 32]
  input t: f32[batch, 16]
  loss mse(linear(relu(linear(x, 64)), 16), t)
}"""


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(("text", "kib"), [(CHAIN, 4), (CHAIN, 24), (STEP, 3), (STEP, 24)])
def test_no_plan_of_a_program_is_better(text: str, kib: int, objective: Objective) -> None:
    module, machine = scheduled(text)
    func = next(op for op in module.walk() if isinstance(op, FuncOp))
    chain = chain_of(func.body.block, machine)
    assert chain is not None
    designs = Designs(chain, machine, 1024 * kib, objective)
    problem, prices = chain.problem(designs.machine, objective), Remembered(designs)
    assert check_best(problem, prices, best_plan(problem, designs)) > 1


def scheduled(text: str) -> tuple[ModuleOp, Machine]:
    """A network, with a loss its training step, scheduled for a small array."""
    pipeline = f"{'autodiff,' if 'loss' in text else ''}lower-to-npu,schedule"
    keywords: CompileKeywords = {
        "hardware": "igo-small",
        "overrides": {"array.rows": 8, "array.cols": 8},
        "pipeline": pipeline,
        "inference": "loss" not in text,
    }
    module, _ = lowered_module(text_source(text, "dsl", "f.dsl"), CycleBackend(), keywords, None, [])
    return module, known_machine(module, "the test")
