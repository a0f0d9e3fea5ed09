"""
The best labels of long chains and narrow grids, as a ratio to a shortest path in a plain loop over the same tables.

    pytest benchmarks/test_choices.py --benchmark-columns=mean,stddev

`extra_info` has `times_loop`, the ratio of process time to a loop in the same run that adds a table and takes minima
once for each node of a chain; for graphs with limits or bounds, also how far the cost is above the bound.
"""

from time import process_time
from typing import Any

import numpy as np
import pytest

from npuc.compiler.analysis.choices.graph import Choices, Table
from npuc.compiler.analysis.choices.limited import minimise_within
from npuc.compiler.analysis.choices.minimise import minimise

LABELS = 11


def grid(length: int, across: int, labels: int = LABELS) -> Choices:
    """Nodes in rows of so many, each paired with those beside it; one in a row is a chain."""
    r, count = np.random.default_rng(0), length * across
    pairs = [(n, n + 1) for n in range(count) if (n + 1) % across]
    pairs += [(n, n + across) for n in range(count - across)]
    tables = r.integers(0, 1000, (len(pairs), labels, labels))
    return Choices([labels] * count, list(r.integers(0, 1000, (count, labels))), dict(zip(pairs, tables, strict=True)))


def loop(choices: Choices) -> float:
    """Process time of a loop over the nodes of a chain."""
    start = process_time()
    cost: Table = choices.unary[0]
    for own, between in zip(choices.unary[1:], list(choices.pairs.values()), strict=False):
        cost = (cost[:, None] + between).min(axis=0) + own
    return process_time() - start


@pytest.mark.parametrize("nodes", [1000, 10_000])
def test_chain(benchmark: Any, nodes: int) -> None:
    choices = grid(nodes, 1)
    found = benchmark.pedantic(lambda: minimise(choices), rounds=3, warmup_rounds=1)
    assert found.exact
    benchmark.extra_info["times_loop"] = round(benchmark.stats.stats.min / loop(choices), 1)


@pytest.mark.parametrize("across", [2, 4])
def test_narrow(benchmark: Any, across: int) -> None:
    choices = grid(200, across, labels=6)
    found = benchmark.pedantic(lambda: minimise(choices), rounds=3, warmup_rounds=1)
    assert found.exact
    benchmark.extra_info["times_loop"] = round(benchmark.stats.stats.min / loop(grid(200, 1, labels=6)), 1)


@pytest.mark.parametrize("across", [10, 30])
def test_wide(benchmark: Any, across: int) -> None:
    """Tables would be too large: bounds of mini-buckets, and local search."""
    choices = grid(across, across, labels=4)
    found = benchmark.pedantic(lambda: minimise(choices), rounds=1)
    assert not found.exact
    benchmark.extra_info["above_bound"] = round(found.cost / found.bound - 1, 4)


def test_limit(benchmark: Any) -> None:
    """A resource on a chain, half of what the free optimum may take at most: how many free searches it takes."""
    choices, r = grid(2000, 1), np.random.default_rng(1)
    resource = list(r.integers(0, 1000, (2000, LABELS)))
    found = benchmark.pedantic(lambda: minimise_within(choices, resource, 400_000), rounds=1, warmup_rounds=1)
    start = process_time()
    minimise(choices)
    benchmark.extra_info["times_free"] = round(benchmark.stats.stats.min / (process_time() - start), 1)
    benchmark.extra_info["above_bound"] = found.cost / found.bound - 1
