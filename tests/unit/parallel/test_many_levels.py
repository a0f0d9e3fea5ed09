"""Three types among many devices: closed forms over all levels, the relaxation, and plans of sequences of few runs."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler.analysis.sharding.cost.closed_forms import least_totals, totals
from npuc.compiler.analysis.sharding.cost.cost_terms import EdgeRate, Rate, ReductionRate
from npuc.compiler.analysis.sharding.cost.paper_terms import InterLayerRate
from npuc.compiler.analysis.sharding.graph.chain import BASIC_TYPES, Layer
from npuc.compiler.analysis.sharding.graph.edges import PlanEdges
from npuc.compiler.analysis.sharding.graph.layer_groups import PlanGraph
from npuc.compiler.analysis.sharding.graph.partition_types import PARTITION_TYPES, PartitionType
from npuc.compiler.analysis.sharding.reference.chain_terms import chain_groups, chain_terms
from npuc.compiler.analysis.sharding.reference.strategies import rule_of
from npuc.compiler.analysis.sharding.search.least_movement import elements_of, graph_of, search_all
from npuc.compiler.analysis.sharding.search.many_levels import relaxation
from npuc.compiler.analysis.sharding.search.planning import plan_chain, plan_network, terms_of
from npuc.compiler.analysis.sharding.search.type_sequences import (
    compositions,
    counts_of,
    few_orders,
    neighbours,
    of_runs,
    ordered_sequences,
)
from npuc.compiler.analysis.solvers.choices.minimise import minimise
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.options import CONVENTIONS, STRATEGIES, Convention, Strategy
from npuc.compiler.interpreter.execute import the_function
from npuc.compiler.layers.base import Combine
from npuc.compiler.transforms.parallelize import plan_graph_for
from npuc.frontends import read_source, read_text
from tests.chains import LAYERS

AXES = st.tuples(*(st.sampled_from((None, 0, 1)) for _ in PARTITION_TYPES))
FLAGS = st.tuples(*(st.booleans() for _ in PARTITION_TYPES))
JOIN: tuple[PartitionType, ...] = ("I", "III", "whole")


@pytest.mark.parametrize(("levels", "parts"), [(0, 1), (4, 1), (0, 3), (1, 4), (3, 2), (5, 3), (3, 5)])
def test_compositions_are_all_counts_of_that_sum_in_order(levels: int, parts: int) -> None:
    expected = [counts for counts in product(range(levels + 1), repeat=parts) if sum(counts) == levels]
    assert [tuple(row) for row in compositions(levels, parts).tolist()] == expected


@st.composite
def rates(draw: st.DrawFn) -> tuple[Rate, tuple[PartitionType, ...], tuple[PartitionType, ...]]:
    """What a boundary may cost, and the ways of its two sides."""
    layers = draw(st.booleans()), draw(st.booleans())
    before, after = (BASIC_TYPES if weighted else JOIN for weighted in layers)
    if draw(st.booleans()):
        return InterLayerRate(draw(st.sampled_from(("table2", "published"))), layers), before, after
    if draw(st.booleans()):
        cut, hows = draw(AXES), draw(st.tuples(*(st.sampled_from((None, *Combine)) for _ in PARTITION_TYPES)))
        adds = tuple(how if axis is None else None for how, axis in zip(hows, cut, strict=True))
        return ReductionRate(cut, adds, draw(FLAGS)), before, after
    required, flags = draw(AXES), draw(FLAGS)
    partial_gradient = tuple(flag and axis is None for flag, axis in zip(flags, required, strict=True))
    produced, scattered, active = draw(AXES), draw(st.booleans()), draw(st.booleans())
    deferred_gradient = tuple(flag and axis is None for flag, axis in zip(draw(FLAGS), produced, strict=True))
    both = zip(draw(FLAGS), required, partial_gradient, strict=True)
    partial_value = tuple(flag and axis is None and not own for flag, axis, own in both)
    return (
        EdgeRate(produced, required, partial_gradient, active, True, True, scattered, deferred_gradient, partial_value),
        before,
        after,
    )


@given(rates(), st.integers(1, 3))
def test_totals_are_the_sums_of_all_levels_and_the_least_of_all_orders(
    case: tuple[Rate, tuple[PartitionType, ...], tuple[PartitionType, ...]], levels: int
) -> None:
    rate, before, after = case
    first, second = list(product(before, repeat=levels)), list(product(after, repeat=levels))
    found = totals(rate, first, second)
    least: dict[tuple[int, ...], int] = {}
    for i, producer in enumerate(first):
        for j, consumer in enumerate(second):
            amount = sum(rate.amounts((producer, consumer), (2,) * levels))
            assert found[i, j] == amount
            both = list(zip(producer, consumer, strict=True))
            counts = tuple(both.count(cell) for cell in product(before, after))
            least[counts] = min(amount, least.get(counts, amount))
    cases = np.array(list(least), np.int64).reshape(-1, len(before), len(after))
    assert least_totals(rate, before, after, cases).tolist() == list(least.values())


@given(st.integers(1, 6), st.integers(1, 4))
def test_sequences_of_few_runs_are_those_of_all(levels: int, most: int) -> None:
    every = list(product(BASIC_TYPES, repeat=levels))
    few = [p for p in every if sum(a != b for a, b in pairwise(p)) < most]
    assert sorted(of_runs(BASIC_TYPES, levels, most)) == sorted(few)
    counts = {counts_of(BASIC_TYPES, sequence) for sequence in every}
    assert sorted(counts_of(BASIC_TYPES, sequence) for sequence in ordered_sequences(BASIC_TYPES, levels)) == sorted(
        counts
    )
    assert {counts_of(BASIC_TYPES, sequence) for sequence in few_orders(BASIC_TYPES, levels)} == counts


def test_what_is_near_a_pattern() -> None:
    sequence: tuple[PartitionType, ...] = ("I", "III", "I", "III")
    found = neighbours(BASIC_TYPES, [sequence], 4, 3)
    assert found[0] == sequence
    shares = {counts_of(BASIC_TYPES, other) for other in found}
    assert shares == {(2, 0, 2), (1, 1, 2), (1, 0, 3), (2, 1, 1), (3, 0, 1)}
    assert ("III", "I", "I", "II") in found
    assert ("I", "II", "I", "III") not in found


@settings(max_examples=30)
@given(st.lists(LAYERS, min_size=1, max_size=4), st.integers(1, 4), st.sampled_from(CONVENTIONS))
def test_no_plan_of_a_chain_goes_below_the_relaxation(layers: list[Layer], levels: int, convention: Convention) -> None:
    groups, terms, sizes = chain_groups(layers), chain_terms(layers, convention), (2,) * levels
    bound = relaxation(groups, terms, rule_of("accpar-joint", "table2"), sizes).bound
    least = search_all(groups, terms, rule_of("accpar-joint", "table2"), sizes).elements
    assert bound <= least
    if convention == "physical":
        assert bound == least


@settings(max_examples=10)
@given(st.lists(LAYERS, min_size=2, max_size=3), st.sampled_from(CONVENTIONS))
def test_plans_of_many_levels_beside_all_sequences(layers: list[Layer], convention: Convention) -> None:
    levels = 6 if convention == "physical" else 9
    plan = plan_chain(layers, "accpar-joint", convention, levels)
    assert plan.bound is not None
    assert plan.bound <= plan.total
    for strategy in STRATEGIES:
        assert plan.total <= plan_chain(layers, strategy, convention, levels).total
    if convention == "physical":
        terms, sizes = chain_terms(layers, convention), (2,) * levels
        every = [list(product(BASIC_TYPES, repeat=levels)) for _ in layers]
        least = elements_of(minimise(graph_of(terms, every, sizes)).cost, sizes)
        assert plan.bound == least <= plan.total


BLOCK = """
  c{n} = linear(b{n}, {width}, bias=false)
  d{n} = linear(relu(c{n}), {wide})
  b{next} = relu(d{n} + {skip})"""
NET = """
network net(batch={batch}) {{
  input x: f32[batch, {wide}]
  input t: f32[batch, {out}]
  b0 = linear(x, {wide}){blocks}
  y = linear(b{last}, {out}, bias=false)
  loss dot_loss(y, t)
  optimizer sgd(lr=0.1)
}}
"""
SIZE = st.sampled_from([1, 8, 64, 512, 4096])


@st.composite
def residual_networks(draw: st.DrawFn) -> tuple[PlanGraph, PlanEdges]:
    """Blocks with residual connections, some of which have a layer of their own."""
    wide, count = draw(SIZE), draw(st.integers(1, 3))
    blocks = ""
    for n in range(count):
        skip = draw(st.sampled_from((f"b{n}", f"linear(b{n}, {wide}, bias=false)")))
        blocks += BLOCK.format(n=n, next=n + 1, width=draw(SIZE), wide=wide, skip=skip)
    text = NET.format(batch=draw(SIZE), wide=wide, out=draw(SIZE), blocks=blocks, last=count)
    return plan_graph_for(the_function(read_source(text)))


@settings(max_examples=12)
@given(residual_networks(), st.sampled_from(CONVENTIONS))
def test_plans_of_residual_networks_on_64_devices(net: tuple[PlanGraph, PlanEdges], convention: Convention) -> None:
    graph, edges = net
    found = {s: plan_network(graph, edges, s, convention, 6) for s in STRATEGIES}
    best = found["accpar-joint"]
    assert best.total == min(plan.total for plan in found.values())
    for strategy in ("accpar", "accpar-joint"):
        bound = found[strategy].bound
        assert bound is not None
        assert bound <= best.total


@settings(max_examples=10)
@given(residual_networks(), st.sampled_from(CONVENTIONS), st.integers(1, 3))
def test_no_plan_of_a_network_goes_below_the_relaxation(
    net: tuple[PlanGraph, PlanEdges], convention: Convention, levels: int
) -> None:
    graph, edges = net
    terms, sizes = terms_of(graph, edges, convention), (2,) * levels
    bound = relaxation(graph.groups, terms, rule_of("accpar-joint", "table2"), sizes).bound
    assert bound <= search_all(graph.groups, terms, rule_of("accpar-joint", "table2"), sizes).bound


@pytest.mark.parametrize("levels", [6, 10])
@pytest.mark.parametrize("convention", ["physical", "published"])
def test_the_plan_of_a_sample_is_proved_to_be_the_least(convention: Convention, levels: int) -> None:
    graph, edges = plan_graph_for(the_function(read_source(read_text("samples:alexnet_hypar"))))
    plan = plan_network(graph, edges, "accpar-joint", convention, levels)
    assert plan.total == plan.bound
    level_by_level = plan_network(graph, edges, "accpar", convention, levels)
    assert level_by_level.bound == plan.total < level_by_level.total


@pytest.mark.parametrize("strategy", ["accpar", "accpar-joint"])
def test_the_relaxation_is_of_halves_alone(strategy: Strategy) -> None:
    graph, edges = plan_graph_for(the_function(read_source(read_text("samples:lenet_c"))))
    with pytest.raises(UsageError, match="found 6 levels, not all of 2 parts, expected at most 5"):
        plan_network(graph, edges, strategy, "physical", (2, 2, 2, 2, 2, 3))
