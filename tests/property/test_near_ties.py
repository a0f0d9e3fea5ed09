"""Near ties: within the tolerance the next measure decides, and no level of -O is better than a higher one."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler import compile_file
from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.table import Energy, Machine
from npuc.compiler.analysis.nest.elements import uniform_widths
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.analysis.schedule.exact_cost import ExactCost, exact_costs
from npuc.compiler.analysis.schedule.near_ties import best_of, next_measures
from npuc.compiler.analysis.schedule.search import OBJECTIVES, best_schedule
from npuc.compiler.core.errors import UsageError
from tests.schedules import gemm

COSTS = st.builds(ExactCost, st.integers(100, 110).map(float), st.integers(1, 9).map(float), st.none() | st.just(1.0))


@given(st.lists(COSTS, min_size=1, max_size=6), st.sampled_from(OBJECTIVES), st.sampled_from((0.0, 0.03, 0.2)))
def test_the_next_measure_decides_within_the_tolerance(
    costs: list[ExactCost], objective: Objective, tolerance: float
) -> None:
    costs = [ExactCost(cost.time, cost.moved, costs[0].joules) for cost in costs]
    taken = best_of(costs, lambda cost: cost, objective, tolerance)
    least = min(cost.score(objective) for cost in costs)
    assert taken.score(objective) <= least * (1 + tolerance)
    for cost in costs:
        if tolerance and cost.score(objective) <= least * (1 + tolerance):
            assert next_measures(taken, objective) <= next_measures(cost, objective)


def test_a_limit_holds() -> None:
    fast, frugal = ExactCost(100.0, 9.0, 9.0), ExactCost(104.0, 1.0, 1.0)
    assert best_of([fast, frugal], lambda cost: cost, "time", 0.05) is frugal
    assert best_of([fast, frugal], lambda cost: cost, "time", 0.05, [103.0]) is fast
    assert best_of([fast, frugal], lambda cost: cost, "time", 0.0) is fast


@settings(max_examples=12)
@given(
    st.tuples(*[st.integers(1, 24)] * 3),
    st.sampled_from(OBJECTIVES),
    st.sampled_from((0.005, 0.1)),
    st.sampled_from((60, 200, 900)),
    st.sampled_from((1, 2)),
)
def test_a_schedule_near_the_best_is_no_worse_by_the_next_measure(
    sizes: tuple[int, int, int], objective: Objective, tolerance: float, spm: int, cores: int
) -> None:
    nest, machine = (
        gemm(*sizes),
        Machine(
            Array(4, 4), spm, Fraction(1, 2), 1000.0, 4, element_bytes=1, energy=Energy(0.2, 1.0, 20.0), cores=cores
        ),
    )
    widths = uniform_widths(nest, machine)
    strict, near = (
        exact_costs(nest, best_schedule(nest, machine, objective, widths, (), one), machine, widths)
        for one in (0.0, tolerance)
    )
    assert near.score(objective) <= strict.score(objective) * (1 + tolerance)
    assert next_measures(near, objective)[0] <= next_measures(strict, objective)[0]


@pytest.mark.parametrize("value", [-0.1, 1.0, 2, float("nan"), True])
def test_what_is_no_tolerance_is_wrong_usage(value: Any) -> None:
    with pytest.raises(UsageError, match="tolerance"):
        compile_file("samples:mlp", tolerance=value)


def test_the_report_says_the_tolerance() -> None:
    assert compile_file("samples:mlp").tolerance == 0.005
    report = compile_file("samples:mlp", tolerance=0.0)
    assert report.tolerance == 0.0
    assert "tolerance=0.0" in report.pipeline
    assert compile_file("samples:mlp", backend="roofline").tolerance is None
