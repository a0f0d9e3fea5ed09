"""Plans of networks: the reference through whole samples, and search against enumeration."""

import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from npuc.compiler.analysis.sharding.cost.cost_terms import CostTerm, TypeSequence
from npuc.compiler.analysis.sharding.graph.edges import PlanEdges
from npuc.compiler.analysis.sharding.graph.layer_groups import PlanGraph
from npuc.compiler.analysis.sharding.reference.strategies import Rule, rule_of
from npuc.compiler.analysis.sharding.search.least_movement import (
    candidate_types,
    elements_of,
    graph_of,
    search_all,
    search_levels,
)
from npuc.compiler.analysis.sharding.search.planning import Planned, plan_network, terms_of, total_of
from npuc.compiler.analysis.solvers.choices.minimise import minimise
from npuc.compiler.core.options import CONVENTIONS, STRATEGIES, Convention, Strategy
from npuc.compiler.interpreter.execute import the_function
from npuc.compiler.transforms.parallelize import plan_graph_for
from npuc.frontends import read_source, read_text

DATA = Path(__file__).parents[2] / "oracle" / "data" / "hypar" / "public.json"
SAMPLES = {
    "SFC": "sfc",
    "SCONV": "sconv",
    "Lenet-c": "lenet_c",
    "AlexNet": "alexnet_hypar",
    "VGG-A": "vgg_a",
    "VGG-C": "vgg_c",
}
NAMES: dict[str, str] = {"I": "dp", "II": "mp"}
STRATEGY_OF: dict[str, Strategy] = {
    "all_dp": "dp",
    "all_mp": "mp",
    "owt": "owt",
    "hypar": "hypar",
    "joint_optimum": "joint",
}
PAPERS: tuple[Convention, ...] = ("published", "table2")
TWO_WAYS: tuple[Strategy, ...] = ("dp", "mp", "owt", "hypar", "joint")


@cache
def reference() -> Any:
    return json.loads(DATA.read_text())["networks"]


@cache
def sample(name: str, batch: int) -> tuple[PlanGraph, PlanEdges]:
    """A network of the reference, as it is read from the sample."""
    return planned_from(read_text(f"samples:{SAMPLES[name]}"), batch=batch)


def planned_from(text: str, **defines: int) -> tuple[PlanGraph, PlanEdges]:
    return plan_graph_for(the_function(read_source(text, defines=defines)))


def choices(plan: Planned) -> list[list[str]]:
    """The choices of a chain, level by level."""
    return [[NAMES[type] for type in row] for row in zip(*plan.sequences, strict=True)]


@pytest.mark.oracle
@pytest.mark.parametrize("convention", PAPERS)
@pytest.mark.parametrize("name", SAMPLES)
def test_plans_of_samples_are_the_reference(name: str, convention: Convention) -> None:
    expected = reference()[name]["conventions"][convention]
    graph, edges = sample(name, reference()[name]["batch"])
    best = expected["joint_optimum"]
    for entry, strategy in STRATEGY_OF.items():
        plan = plan_network(graph, edges, strategy, convention, reference()[name]["levels"])
        assert plan.total == expected[entry]["total"]["elements"]
        assert plan.bound == best["total"]["elements"]
        if strategy == "hypar":
            assert choices(plan) == [level["choices"] for level in expected["hypar"]["levels"]]
            assert list(plan.levels) == [level["elements"] for level in expected["hypar"]["levels"]]
        elif strategy == "joint":
            assert [sequence.count("II") for sequence in plan.sequences] == best["mp_levels_per_layer"]
        else:
            assert list(plan.levels) == expected[entry]["level_elements"]


@pytest.mark.oracle
@pytest.mark.parametrize("name", SAMPLES)
def test_sweeps_of_samples_are_the_reference(name: str) -> None:
    for entry in reference()[name]["sweep_published"]:
        graph, edges = sample(name, entry["batch"])
        for key in ("hypar", "all_dp", "owt", "joint_optimum"):
            plan = plan_network(graph, edges, STRATEGY_OF[key], "published", entry["levels"])
            assert plan.total == entry[f"{key}_elements"]
            if key == "hypar":
                assert ["".join(type[0] for type in row) for row in choices(plan)] == entry["hypar_choices"]


@pytest.mark.oracle
@pytest.mark.parametrize("name", SAMPLES)
def test_three_types_of_samples_are_the_reference(name: str) -> None:
    expected, levels = reference()[name]["accpar_three_types"], reference()[name]["levels"]
    graph, edges = sample(name, reference()[name]["batch"])
    plan = plan_network(graph, edges, "accpar", "table2", levels)
    assert [list(row) for row in zip(*plan.sequences, strict=True)] == [e["choices"] for e in expected["levels"]]
    assert plan.total == expected["total"]["elements"]
    assert (
        plan_network(graph, edges, "accpar-joint", "table2", levels).total
        == (expected["joint_optimum_total"]["elements"])
    )


RESIDUAL = """
  c = linear(a, {g}, bias={bias})
  d = linear(relu(c), {h}, bias=false)
  b = d + a"""
ATTENTION = """
  q = linear(a, {h}, bias={bias})
  k = linear(a, {h}, bias=false)
  b = matmul(softmax(matmul(q, k, transpose_b=true)), linear(a, {g}))"""
HUB = """
  c = linear(a, {g}, bias={bias})
  d = linear(a, {g}, bias=false)
  b = concat([c * d, tanh(d)], 1)"""
SUMS = """
  c = linear(a, {g}, bias={bias})
  b = c - linear(tanh(a), {g}, bias=false)"""
FUSED = """
  u, v = split(linear(a, {h} * 2, bias={bias}), {h}, axis=1)
  b = u * sigmoid(v)"""
NET = """
network net(batch={batch}) {{
  input x: f32[batch, {wide}]
  input t: f32[batch, {out}]
  a = relu(linear(x, {h}, bias={bias}))
{middle}
  y = linear(b, {out}, bias=false)
  loss dot_loss(y, t)
  optimizer sgd(lr=0.1)
}}
"""
SIZE = st.sampled_from([1, 2, 3, 8, 16, 32, 100, 300])


@st.composite
def networks(draw: st.DrawFn) -> tuple[PlanGraph, PlanEdges]:
    """A network with a residual connection, attention, a value that several read, sums of addends, or parts of one."""
    sizes: dict[str, object] = {key: draw(SIZE) for key in ("batch", "wide", "h", "g", "out")}
    sizes["bias"] = draw(st.sampled_from(["true", "false"]))
    middle = draw(st.sampled_from([RESIDUAL, ATTENTION, HUB, SUMS, FUSED]))
    return planned_from(NET.format(middle=middle.format(**sizes), **sizes))


def every(graph: PlanGraph, rule: Rule, levels: int) -> list[list[TypeSequence]]:
    """All sequences of ways of each node."""
    return [list(product(candidate_types(group, rule), repeat=levels)) for group in graph.groups]


def least_of_all(terms: list[CostTerm], plans: Iterator[tuple[TypeSequence, ...]], levels: int) -> Fraction:
    """What the best plan moves: its terms, level by level, added up. A term is counted once for each of its ways."""
    sizes = (2,) * levels
    known: list[dict[tuple[TypeSequence, ...], Fraction | int]] = [{} for _ in terms]

    def moved(plan: tuple[TypeSequence, ...]) -> Fraction | int:
        total: Fraction | int = 0
        for term, amounts in zip(terms, known, strict=True):
            ways = tuple([plan[group] for group in term.groups])
            if ways not in amounts:
                amounts[ways] = sum(term.amounts(plan, sizes))
            total += amounts[ways]
        return total

    return min(elements_of(moved(plan), sizes) for plan in plans)


@settings(max_examples=40)
@given(networks(), st.sampled_from(CONVENTIONS), st.integers(1, 3))
def test_ways_at_the_bottom_are_as_good_as_all_sequences(
    net: tuple[PlanGraph, PlanEdges], convention: Convention, levels: int
) -> None:
    graph, edges = net
    terms, sizes, rule = terms_of(graph, edges, convention), (2,) * levels, rule_of("joint", "table2")
    found = search_all(graph.groups, terms, rule, sizes)
    best = minimise(graph_of(terms, every(graph, rule, levels), sizes))
    assert best.exact
    assert found.elements == found.bound == elements_of(best.cost, sizes)
    assert found.elements == least_of_all(terms, iter([found.sequences]), levels)


@settings(max_examples=30)
@given(networks(), st.sampled_from(CONVENTIONS), st.data())
def test_nodes_that_lack_ways_are_searched_as_all_sequences_are(
    net: tuple[PlanGraph, PlanEdges], convention: Convention, data: st.DataObject
) -> None:
    """As where a batch does not divide."""
    graph, edges = net
    groups = [
        replace(group, types=data.draw(st.sampled_from([group.types, group.types[1:], group.types[:2]])))
        for group in graph.groups
    ]
    graph = replace(graph, groups=tuple(groups))
    terms, sizes, rule = terms_of(graph, edges, convention), (2, 2), rule_of("joint", convention)
    found = search_all(graph.groups, terms, rule, sizes)
    best = minimise(graph_of(terms, every(graph, rule, 2), sizes))
    assert best.exact
    assert found.elements == found.bound == elements_of(best.cost, sizes)


@pytest.mark.parametrize("levels", [2, 3])
@settings(max_examples=12)
@example(batch=8, h=2, g=100, out=1, middle=ATTENTION)
@given(
    batch=st.sampled_from([4, 6, 8, 12]),
    h=st.sampled_from([1, 2, 3, 6]),
    g=st.sampled_from([30, 70, 100, 150]),
    out=st.sampled_from([1, 2, 3]),
    middle=st.sampled_from([RESIDUAL, ATTENTION]),
)
def test_joins_have_channels_below_what_is_whole(
    levels: int, batch: int, h: int, g: int, out: int, middle: str
) -> None:
    """Sizes with which it matters in which order a join is whole at one level and cut along channels at another."""
    given_sizes: dict[str, object] = {"batch": batch, "wide": 1, "h": h, "g": g, "out": out, "bias": "true"}
    graph, edges = planned_from(NET.format(middle=middle.format(**given_sizes), **given_sizes))
    terms, sizes, rule = terms_of(graph, edges, "physical"), (2,) * levels, rule_of("joint", "table2")
    found = search_all(graph.groups, terms, rule, sizes)
    best = minimise(graph_of(terms, every(graph, rule, levels), sizes))
    assert best.exact
    assert found.elements == found.bound == elements_of(best.cost, sizes)


@settings(max_examples=40)
@given(networks(), st.sampled_from(CONVENTIONS), st.sampled_from([(3,), (3, 3), (4, 4), (3, 2), (2, 4), (2, 3, 2)]))
def test_meshes_of_any_sizes_are_searched_as_all_sequences_are(
    net: tuple[PlanGraph, PlanEdges], convention: Convention, sizes: tuple[int, ...]
) -> None:
    graph, edges = net
    terms = terms_of(graph, edges, convention)
    found = plan_network(graph, edges, "joint", convention, sizes)
    best = minimise(graph_of(terms, every(graph, rule_of("joint", convention), len(sizes)), sizes))
    assert best.exact
    assert found.total == found.bound == elements_of(best.cost, sizes)
    for strategy in ("dp", "mp", "owt", "hypar"):
        other = plan_network(graph, edges, strategy, convention, sizes)
        assert other.bound is not None
        assert found.total == other.bound <= other.total


def plans(graph: PlanGraph, rule: Rule, levels: int) -> Iterator[tuple[TypeSequence, ...]]:
    return product(*every(graph, rule, levels))


@settings(max_examples=15)
@given(networks(), st.sampled_from(CONVENTIONS), st.sampled_from(("joint", "accpar-joint")))
def test_the_best_plan_is_that_of_enumeration(
    net: tuple[PlanGraph, PlanEdges], convention: Convention, strategy: Strategy
) -> None:
    graph, edges = net
    terms = terms_of(graph, edges, convention)
    found = plan_network(graph, edges, strategy, convention, 1)
    assert found.total == least_of_all(terms, plans(graph, rule_of(strategy, convention), 1), 1)


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize(
    ("strategy", "middle"), [("joint", "  b = a + linear(a, 12)"), ("accpar-joint", "  b = linear(a, 12)")]
)
def test_the_best_plan_of_two_levels_is_that_of_enumeration(
    strategy: Strategy, middle: str, convention: Convention
) -> None:
    graph, edges = planned_from(NET.format(middle=middle, batch=6, wide=40, h=12, out=3, bias="false"))
    terms = terms_of(graph, edges, convention)
    found = plan_network(graph, edges, strategy, convention, 2)
    assert found.total == least_of_all(terms, plans(graph, rule_of(strategy, convention), 2), 2)


@settings(max_examples=30)
@given(networks(), st.sampled_from(CONVENTIONS), st.integers(1, 3))
def test_order_of_strategies(net: tuple[PlanGraph, PlanEdges], convention: Convention, levels: int) -> None:
    """The optimum is no worse than any other plan, and one more type makes it no worse; bounds are below."""
    graph, edges = net
    found = {s: plan_network(graph, edges, s, convention, levels) for s in STRATEGIES}
    for plan in found.values():
        assert plan.total == total_of(plan.levels) == sum(2**h * amount for h, amount in enumerate(plan.levels))
        assert plan.bound is not None
        assert plan.bound <= plan.total
    assert found["joint"].total == min(found[s].total for s in TWO_WAYS)
    assert found["accpar-joint"].total <= min(found["joint"].total, found["accpar"].total)


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("levels", [1, 4])
def test_order_of_strategies_of_a_chain(levels: int, convention: Convention) -> None:
    graph, edges = sample("Lenet-c", 256)
    found = {s: plan_network(graph, edges, s, convention, levels) for s in STRATEGIES}
    for plan in found.values():
        assert plan.bound is not None
        assert plan.bound <= plan.total
    assert found["joint"].total == min(found[s].total for s in TWO_WAYS)
    assert found["accpar-joint"].total <= min(found["joint"].total, found["accpar"].total)


@settings(max_examples=30)
@given(networks(), st.sampled_from(TWO_WAYS[1:]), st.integers(1, 3))
def test_no_plan_moves_more_than_by_cuts_of_inputs_alone(
    net: tuple[PlanGraph, PlanEdges], strategy: Strategy, levels: int
) -> None:
    graph, edges = net
    terms, sizes = terms_of(graph, edges, "physical"), (2,) * levels
    search = search_levels if strategy == "hypar" else search_all
    before = search(graph.groups, terms, rule_of(strategy, "physical").without_outputs(), sizes)
    found = plan_network(graph, edges, strategy, "physical", levels)
    assert found.total <= before.elements
    assert found.bound is not None
    assert found.bound <= found.total
    if strategy == "joint":
        assert found.total == plan_network(graph, edges, "accpar-joint", "physical", levels).total
