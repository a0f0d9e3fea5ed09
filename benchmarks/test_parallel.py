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
