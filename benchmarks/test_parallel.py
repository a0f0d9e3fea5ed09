"""
Planning a network for many devices, as ratios to reading its program.

    pytest benchmarks/test_parallel.py --benchmark-columns=mean,stddev

`extra_info` has ratios of process time in the same run: `times_read` to reading the sample. `above_bound` is how far
the plan is above what no plan of the same types goes below, as a part of it.
"""

from collections.abc import Callable
from time import process_time
from typing import Any

import pytest

from npuc.compiler import compile_file
from npuc.compiler.analysis.sharding.search.planning import Planned, plan_network
from npuc.compiler.core.options import Convention, Strategy
from npuc.compiler.interpreter.execute import the_function
from npuc.compiler.transforms.parallelize import plan_graph_for
from npuc.frontends import read_source, read_text

LEVELS = 10
"""1,024 devices."""


def seconds(work: Callable[[], object]) -> float:
    """The process time of some work, the least of three."""
    times: list[float] = []
    for _ in range(3):
        start = process_time()
        work()
        times.append(process_time() - start)
    return min(times)


@pytest.mark.parametrize("convention", ["table2", "physical"])
@pytest.mark.parametrize("strategy", ["hypar", "joint", "accpar"])
@pytest.mark.parametrize("name", ["resnet50", "bert_large", "t5_small", "gnmt"])
def test_plan(benchmark: Any, name: str, strategy: Strategy, convention: Convention) -> None:
    filename = f"samples:{name}"
    text = read_text(filename)
    func = the_function(read_source(text, filename=filename))

    def plan() -> Planned:
        return plan_network(*plan_graph_for(func.clone()), strategy, convention, LEVELS)

    found = benchmark.pedantic(plan, rounds=3, warmup_rounds=1)
    benchmark.extra_info["times_read"] = round(seconds(plan) / seconds(lambda: read_source(text, filename=filename)), 2)
    if found.bound is not None:
        benchmark.extra_info["above_bound"] = round(float(found.total / found.bound) - 1, 4)


@pytest.mark.parametrize("name", ["lstm_lm", "gnmt"])
def test_plan_for_time(benchmark: Any, name: str) -> None:
    """Pricing the work of layer groups and the search, with the passes of the program: 16 devices, four in a box."""
    levels = [{"kind": "pair", "size": 2, "gb_per_s": rate} for rate in (10, 10, 100, 100)]

    def plan() -> Any:
        return compile_file(
            f"samples:{name}",
            hardware="igo-large",
            overrides={"network.levels": levels},
            defines={"batch": 1024},
            devices=16,
            parallel="joint",
            plan_objective="time",
            opt_level=0,
        )

    found = benchmark.pedantic(plan, rounds=1)
    planned = found.parallel.planned
    benchmark.extra_info["above_bound"] = round(planned.value / planned.lower_bound - 1, 4)
