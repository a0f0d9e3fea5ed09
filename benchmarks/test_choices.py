"""
The best labels of chains and grids, as ratios.

    pytest benchmarks/test_choices.py --benchmark-columns=mean,stddev

`extra_info` has ratios of process time in the same run: `times_loop` to a plain loop over the tables of the chain,
`times_chain` of a grid to a chain as long, `times_free` of a search within a limit to one without. `above_bound` is how
far the cost is above the bound, as a part of it.
"""

from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
import pytest

from npuc.compiler.analysis.solvers.choices.graph import Choices, Table
from npuc.compiler.analysis.solvers.choices.limited import minimise_within
from npuc.compiler.analysis.solvers.choices.minimise import minimise

LABELS = 11


def grid(length: int, across: int, labels: int = LABELS) -> Choices:
    """Nodes in rows of so many, each paired with those beside it; one in a row is a chain."""
    r, count = np.random.default_rng(0), length * across
    pairs = [(n, n + 1) for n in range(count) if (n + 1) % across]
    pairs += [(n, n + across) for n in range(count - across)]
    tables = r.integers(0, 1000, (len(pairs), labels, labels))
    return Choices([labels] * count, list(r.integers(0, 1000, (count, labels))), dict(zip(pairs, tables, strict=True)))


def seconds(work: Callable[[], object]) -> float:
    """The process time of some work."""
    start = process_time()
    work()
    return process_time() - start


def loop(choices: Choices) -> None:
    """The least cost of a chain, node by node."""
    cost: Table = choices.unary[0]
    for own, between in zip(choices.unary[1:], list(choices.pairs.values()), strict=True):
        cost = (cost[:, None] + between).min(axis=0) + own


@pytest.mark.parametrize("nodes", [1000, 10_000])
def test_chain(benchmark: Any, nodes: int) -> None:
    choices = grid(nodes, 1)
    found = benchmark.pedantic(lambda: minimise(choices), rounds=3, warmup_rounds=1)
    assert found.exact
    benchmark.extra_info["times_loop"] = round(seconds(lambda: minimise(choices)) / seconds(lambda: loop(choices)), 1)


@pytest.mark.parametrize("across", [2, 4])
def test_narrow(benchmark: Any, across: int) -> None:
    choices = grid(200, across, labels=6)
    found = benchmark.pedantic(lambda: minimise(choices), rounds=3, warmup_rounds=1)
    assert found.exact
    chain = grid(200, 1, labels=6)
    benchmark.extra_info["times_chain"] = round(
        seconds(lambda: minimise(choices)) / seconds(lambda: minimise(chain)), 1
    )


@pytest.mark.parametrize("across", [10, 30])
def test_wide(benchmark: Any, across: int) -> None:
    """Tables would be too large: bounds of mini-buckets, and local search."""
    choices = grid(across, across, labels=4)
    found = benchmark.pedantic(lambda: minimise(choices), rounds=1)
    assert not found.exact
    benchmark.extra_info["above_bound"] = round(found.cost / found.bound - 1, 4)


def test_limit(benchmark: Any) -> None:
    """A resource on a chain, of which the free optimum takes a million: as long as how many searches without it."""
    choices, r = grid(2000, 1), np.random.default_rng(1)
    resource = list(r.integers(0, 1000, (2000, LABELS)))
    found = benchmark.pedantic(lambda: minimise_within(choices, resource, 400_000), rounds=1)
    within = seconds(lambda: minimise_within(choices, resource, 400_000))
    benchmark.extra_info["times_free"] = round(within / seconds(lambda: minimise(choices)), 1)
    benchmark.extra_info["above_bound"] = found.cost / found.bound - 1
