"""Graphs of choices against enumeration: bucket elimination, mini-buckets, the integer program."""

import math
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler.analysis.solvers.choices.descent import descend
from npuc.compiler.analysis.solvers.choices.dominance import undominated
from npuc.compiler.analysis.solvers.choices.graph import Choices, Table
from npuc.compiler.analysis.solvers.choices.minimise import marginals, minimise
from npuc.compiler.analysis.solvers.choices.order import SMALL, best_order, by_fill, by_weight
from tests.choices import KINDS, SHAPES, edges, every_choice, exactly, least, random_choices

seeds = st.integers(0, 10**6)


@given(seeds, st.sampled_from(SHAPES), st.sampled_from(KINDS))
@settings(max_examples=300)
def test_elimination_is_the_least_of_all_choices(seed: int, shape: str, kind: str) -> None:
    choices = random_choices(Random(seed), shape, kind)
    found = minimise(choices)
    assert found.exact
    assert found.bound == found.cost == least(choices)
    assert exactly(choices, found.choice) == found.cost


@given(seeds, st.sampled_from(SHAPES), st.sampled_from(KINDS), st.integers(1, 30))
@settings(max_examples=300)
def test_with_small_tables_the_optimum_is_between_bound_and_cost(seed: int, shape: str, kind: str, table: int) -> None:
    choices = random_choices(Random(seed), shape, kind)
    found = minimise(choices, max_table=table)
    assert found.bound <= least(choices) <= found.cost == exactly(choices, found.choice)
    assert found.exact == (found.bound == found.cost)


@given(seeds)
@settings(max_examples=100)
def test_bounds_of_floats_hold_whatever_the_rounding(seed: int) -> None:
    r = Random(seed)
    choices = random_choices(r, "clique", "float")
    scaled = [table * r.uniform(0.1, 3.0) for table in (*choices.unary, *choices.pairs.values())]
    rounded = Choices(
        choices.sizes, scaled[: len(choices.sizes)], dict(zip(choices.pairs, scaled[len(choices.sizes) :]))
    )
    found, optimum = minimise(rounded, max_table=1), least(rounded)
    if found.exact:
        assert found.cost == float(optimum)
    else:
        assert found.bound <= optimum <= math.nextafter(found.cost, math.inf)


@given(seeds, st.sampled_from(["clique", "grid", "any"]), st.sampled_from(KINDS))
@settings(max_examples=60)
def test_the_integer_program_goes_on_where_elimination_ends(seed: int, shape: str, kind: str) -> None:
    choices = random_choices(Random(seed), shape, kind)
    found = minimise(choices, max_table=1, solve_exactly=True)
    optimum = least(choices)
    assert found.bound <= optimum == found.cost == exactly(choices, found.choice)
    if kind in ("whole", "wide"):
        assert found.exact


def chain_optimum(unary: list[Table], pairs: list[Table]) -> int:
    """The least cost of a chain by a shortest path."""
    cost = unary[0]
    for own, between in zip(unary[1:], pairs, strict=True):
        cost = (cost[:, None] + between).min(axis=0) + own
    return int(cost.min())


def test_long_chains_are_eliminated_whole() -> None:
    r = np.random.default_rng(0)
    unary = [r.integers(0, 100, 11) for _ in range(3000)]
    pairs = [r.integers(0, 100, (11, 11)) for _ in range(2999)]
    shuffled = r.permutation(3000).tolist()
    places = {node: place for place, node in enumerate(shuffled)}
    choices = Choices(
        [11] * 3000,
        [unary[places[node]] for node in range(3000)],
        {(shuffled[n], shuffled[n + 1]): table for n, table in enumerate(pairs)},
    )
    found = minimise(choices, max_table=121)
    assert found.exact
    assert found.width == 1
    assert found.cost == chain_optimum(unary, pairs)


@given(seeds, st.sampled_from(["tree", "chain", "ring", "series-parallel"]), st.integers(1, 60))
@settings(max_examples=60)
def test_series_parallel_graphs_need_tables_of_three_nodes_at_most(seed: int, shape: str, count: int) -> None:
    r = Random(seed)
    sizes = [r.randint(1, 30) for _ in range(count)]
    found = edges(r, shape, count)
    near = [[j for j in range(count) if (i, j) in found or (j, i) in found] for i in range(count)]
    order = by_weight(sizes, near, series=True)
    assert order.width <= 2
    assert sorted(order.nodes) == list(range(count))
    assert sum(best_order(sizes, near, order.largest).tables) <= sum(order.tables)


@given(seeds, st.integers(3, 14), st.integers(1, 1 << 20))
@settings(max_examples=60)
def test_of_the_orders_by_each_rule_the_best_is_taken(seed: int, count: int, limit: int) -> None:
    r = Random(seed)
    sizes, found = [r.randint(1, 30) for _ in range(count)], edges(r, "any", count)
    near = [[j for j in range(count) if (i, j) in found or (j, i) in found] for i in range(count)]
    orders = [by_weight(sizes, near, series=True), by_weight(sizes, near, series=False), by_fill(sizes, near)]
    best = best_order(sizes, near, limit)
    assert sorted(best.nodes) == list(range(count))
    for order in orders:
        assert order is not None
        if order.largest <= limit:
            assert best.largest <= limit
        if (order.largest <= limit) == (best.largest <= limit) and best.largest > SMALL:
            assert sum(best.tables) <= sum(order.tables)


@given(seeds, st.sampled_from(SHAPES), st.sampled_from(KINDS))
@settings(max_examples=100)
def test_the_local_search_never_makes_labels_worse(seed: int, shape: str, kind: str) -> None:
    r = Random(seed)
    choices = random_choices(r, shape, kind)
    labels = tuple(r.randrange(size) for size in choices.sizes)
    found = descend(choices, labels)
    assert exactly(choices, found) <= exactly(choices, labels)
    for node in range(len(labels)):
        others = [(*found[:node], label, *found[node + 1 :]) for label in range(choices.sizes[node])]
        assert exactly(choices, found) <= min(exactly(choices, other) for other in others)


@given(seeds, st.sampled_from(SHAPES), st.sampled_from(KINDS))
@settings(max_examples=200)
def test_marginals_are_the_least_of_all_choices_with_a_label(seed: int, shape: str, kind: str) -> None:
    choices = random_choices(Random(seed), shape, kind)
    found = marginals(choices)
    assert found is not None
    for node, table in enumerate(found):
        for label in range(choices.sizes[node]):
            best = min(exactly(choices, choice) for choice in every_choice(choices) if choice[node] == label)
            assert table[label] == (pytest.approx(float(best)) if kind == "float" else best)


def test_no_marginals_where_tables_are_too_large() -> None:
    choices = random_choices(Random(0), "chain", "whole")
    assert marginals(choices, max_table=1) is None


@given(seeds, st.sampled_from(SHAPES), st.sampled_from(KINDS))
@settings(max_examples=200)
def test_labels_that_are_never_needed(seed: int, shape: str, kind: str) -> None:
    """Among those left there is a choice that costs least; of whole numbers none is left that another stands for."""
    choices = random_choices(Random(seed), shape, kind)
    kept = undominated(choices)
    left = choices.restricted(kept)
    assert least(left) == least(choices)
    assert [sorted(set(labels)) for labels in kept] == kept
    assert all(kept)
    if kind != "whole":
        assert kept == [list(range(size)) for size in choices.sizes]
    assert kind != "whole" or undominated(left) == [list(range(size)) for size in left.sizes]


def test_a_label_goes_where_another_costs_no_more_whatever_stands_beside_it() -> None:
    """Where the second label of the first node is dear, so that it goes, two labels of the second node are needless."""
    pair = np.array([[0, 1, 5], [3, 1, 2]])
    choices = Choices([2, 3], [np.array([0, 0]), np.array([4, 4, 2])], {(0, 1): pair})
    assert undominated(choices) == [[0, 1], [0, 1, 2]]
    dearer = Choices([2, 3], [np.array([0, 4]), np.array([4, 4, 2])], {(0, 1): pair})
    assert undominated(dearer) == [[0], [0]]
