"""Programs of whole numbers: values to begin with never change the best cost, whatever the solver makes of them."""

from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest

from npuc.compiler import compile_source
from npuc.compiler.analysis.solvers import linear
from npuc.compiler.analysis.solvers.linear import LinearProgram, solve

NET = """network net(batch=10) {
  input x: f32[batch, 32]
  h0 = linear(x, 32)
  w = param([32, 32])
  h1 = linear(h0, 32)
  loss mean(matmul(h1, w) ** 2)
  optimizer adam(lr=0.01)
}"""
COSTS, SIZES = np.array([-5.0, -4.0, -3.0]), np.array([4.0, 3.0, 2.0])


def knapsack(room: float = 5.0) -> LinearProgram:
    program = LinearProgram()
    taken = program.variables(3, 1.0, COSTS, whole=True)
    program.put(np.broadcast_to(program.rows(1, -np.inf, room), taken.shape), taken, SIZES)
    return program


def test_the_best_of_all_whatever_it_begins_with() -> None:
    r = Random(1)
    for _ in range(20):
        room = r.randint(0, 9)
        legal = [np.array(some) for some in product((0.0, 1.0), repeat=3) if np.array(some) @ SIZES <= room]
        found = solve(knapsack(room), purpose="this", nodes=100, start=r.choice(legal))
        assert found is not None
        assert found.values is not None
        assert found.proved
        assert found.values @ COSTS == pytest.approx(min(some @ COSTS for some in legal))


@pytest.mark.parametrize("start", [np.array([1.0, 0.0, 0.0]), None])
def test_values_that_cost_more_than_the_solver_says_are_not_taken(
    start: linear.Floats | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are asked for again without values to begin with; if they still cost more, nothing is proved."""
    starts: list[bool] = []
    costs = linear.costs_as_said

    def doubted(program: LinearProgram, values: linear.Floats | None, bound: float) -> bool:
        starts.append(True)
        return costs(program, np.array([1.0, 0.0, 0.0]), bound)

    monkeypatch.setattr(linear, "costs_as_said", doubted)
    found = solve(knapsack(), purpose="this", start=start)
    assert found is not None
    assert not found.proved
    assert len(starts) == 1 + (start is not None)


def test_a_plan_to_begin_with_is_left_for_a_better_one() -> None:
    """A step whose first plan moves a tenth more than the least: a version of HiGHS calls that plan the best."""
    machine: dict[str, Any] = {"memory.cache_mib": 3.5 / 1024, "compute.tflops": 0.01, "dram.gb_per_s": 2.0}
    machine |= {"roofline.bound": True, "roofline.plan": "single", "roofline.oversize": "flush"}
    report = compile_source(NET, backend="roofline", hardware="rtx2080ti", overrides=machine)
    assert report.native["traffic_bound_exact"]
