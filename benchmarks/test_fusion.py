"""
Plans of groups of layers: the learned mapper beside the genetic search and the dynamic program, each with its prices.

    pytest benchmarks/test_fusion.py --benchmark-columns=mean

On training steps of samples, and on networks, machines and rooms that the training of the learned mapper never sees.
`extra_info` has `times_genetic`, how much less processor time the learned mapper takes than the genetic search, and
`over_dp` and `over_genetic`, the cost of the whole step under its plan over those under theirs. The learned mapper runs
first: what is remembered of its prices makes only the others faster.
"""

from time import process_time
from typing import Any

import pytest

from npuc.compiler.analysis.fusion.problem import FusionPlan, plan_cost
from npuc.compiler.explore.fusion.problems import FIRST_TRAINED, PricedProblem, problems_of, random_problems
from npuc.compiler.transforms.fuse_layers import MAPPERS
from npuc.frontends.source import open_source

SAMPLES = ("resnet50", "bert_base")
SEEDS = (0, 5, 6, 7, 16)
WARM_UP = 1
"""Another seed, with which modules and weights are loaded."""


def problem_of(name: str | int) -> PricedProblem:
    """The step of a sample on a machine of the interleaved-gradient study, or the first problem of a seed."""
    if isinstance(name, int):
        assert name < FIRST_TRAINED
        return random_problems(name)[0]
    return next(problems_of(open_source(f"samples:{name}"), {"hardware": "igo-large"}, 1, "time"))


def run(mapper: str, one: PricedProblem) -> tuple[FusionPlan, float]:
    """The plan of a mapper, and its processor time."""
    start = process_time()
    plan = MAPPERS[mapper](one.problem, one.prices)
    return plan, process_time() - start


def score(one: PricedProblem, plan: FusionPlan) -> float:
    cost = plan_cost(one.problem, one.prices, plan)
    assert cost is not None
    return cost.score(one.problem.objective)


@pytest.mark.parametrize("name", [*SAMPLES, *SEEDS])
def test_learned_mapper(benchmark: Any, name: str | int) -> None:
    run("learned", problem_of(WARM_UP))
    problem, genetic_problem, dp_problem = problem_of(name), problem_of(name), problem_of(name)
    plan, fast = benchmark.pedantic(lambda: run("learned", problem), rounds=1)
    found, (genetic, slow) = score(problem, plan), run("genetic", genetic_problem)
    dp, _ = run("dp", dp_problem)
    benchmark.extra_info["cpu_seconds"] = round(fast, 3)
    benchmark.extra_info["genetic_cpu_seconds"] = round(slow, 3)
    benchmark.extra_info["times_genetic"] = round(slow / fast, 1)
    benchmark.extra_info["over_genetic"] = round(found / score(genetic_problem, genetic), 4)
    benchmark.extra_info["over_dp"] = round(found / score(dp_problem, dp), 4)
