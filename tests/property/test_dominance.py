"""Labels that are in no best choice, against enumeration; elimination without them gives the same to the last bit."""

from random import Random
from unittest import mock

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler.analysis.solvers.choices import buckets, dominance
from npuc.compiler.analysis.solvers.choices import minimise as minimising
from npuc.compiler.analysis.solvers.choices.dominance import in_least, undominated
from npuc.compiler.analysis.solvers.choices.graph import Choices
from npuc.compiler.analysis.solvers.choices.minimise import can_eliminate, minimise
from tests.choices import KINDS, SHAPES, costs, edges, every_choice, exactly, least, random_choices

seeds = st.integers(0, 10**6)


def with_rounding(r: Random, choices: Choices) -> Choices:
    """Costs whose sums are rounded, and some of which are equal."""
    factor = r.choice([1 / 3, 0.1, 1e-3])
    unary = [table * factor for table in choices.unary]
    return Choices(choices.sizes, unary, {key: table * factor for key, table in choices.pairs.items()})


@given(seeds, st.sampled_from(SHAPES), st.sampled_from(KINDS))
@settings(max_examples=200)
def test_labels_of_every_best_choice_are_kept(seed: int, shape: str, kind: str) -> None:
    choices = random_choices(Random(seed), shape, kind)
    kept, optimum = in_least(choices), least(choices)
    assert [sorted(set(labels)) for labels in kept] == kept
    assert all(kept)
    for choice in every_choice(choices):
        if exactly(choices, choice) == optimum:
            assert all(label in own for label, own in zip(choice, kept, strict=True))


@given(seeds, st.sampled_from(SHAPES), st.sampled_from(KINDS), st.booleans())
@settings(max_examples=200)
def test_without_other_labels_the_same_choice_is_found(seed: int, shape: str, kind: str, rounded: bool) -> None:
    r = Random(seed)
    choices = random_choices(r, shape, kind)
    if rounded and choices.dtype == np.float64:
        choices = with_rounding(r, choices)
    found = minimise(choices)
    with mock.patch.object(minimising, "MUCH_WORK", -1):
        assert minimise(choices) == found
    assert can_eliminate(choices.sizes, choices.pairs)


def test_labels_that_cost_more_whatever_stands_beside_them_go_and_equal_ones_stay() -> None:
    pair = np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 1.5]])
    choices = Choices([3, 2], [np.array([0.0, 0.0, 0.0]), np.array([0.0, 0.0])], {(0, 1): pair})
    assert in_least(choices) == [[0, 1], [0, 1]]
    apart = Choices([3, 2], [np.array([0.0, 9.0, 3.0]), np.array([0.0, 0.5])], {(0, 1): pair})
    assert in_least(apart) == [[0], [0]]


@given(seeds, st.sampled_from(SHAPES), st.sampled_from([1, dominance.MOST_KNOWN]))
@settings(max_examples=150)
def test_pairs_that_share_an_array_are_as_those_with_their_own(seed: int, shape: str, most: int) -> None:
    """Arrays of both orders and their transposes are shared; few or all differences are kept."""
    r, nodes = Random(seed), 6
    kind, size = r.choice(["whole", "float"]), r.randint(2, 3)
    tables = [costs(r, (size, size), "whole", 4) for _ in range(2)]
    tables = tables if kind == "whole" else [table / 8 for table in tables]
    unary = [costs(r, (size,), "whole", 9) for _ in range(nodes)]
    pairs = {(i, j): r.choice([*tables, tables[0].T]) for i, j in sorted(edges(r, shape, nodes))}
    shared = Choices([size] * nodes, unary, pairs)
    own = Choices([size] * nodes, unary, {key: table.copy() for key, table in pairs.items()})
    with mock.patch.object(dominance, "MOST_KNOWN", most):
        for labels in (in_least, undominated):
            assert labels(shared) == labels(own)
    optimum = least(shared)
    assert minimise(shared).cost == minimise(shared, max_table=4, solve_exactly=True).cost == optimum
    kept = in_least(shared)
    for choice in every_choice(shared):
        if exactly(shared, choice) == optimum:
            assert all(label in left for label, left in zip(choice, kept, strict=True))


@given(seeds, st.sampled_from(["clique", "grid", "any"]), st.sampled_from(KINDS), st.integers(1, 9))
@settings(max_examples=100)
def test_sums_of_groups_that_are_there_at_once_are_those_made_twice(
    seed: int, shape: str, kind: str, limit: int
) -> None:
    choices = random_choices(Random(seed), shape, kind)
    found = minimise(choices, max_table=limit)
    with mock.patch.object(buckets, "MOST_AT_ONCE", 0):
        assert minimise(choices, max_table=limit) == found
