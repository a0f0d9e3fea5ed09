"""Networks of which some layer groups cannot split the batch, on more levels than all orders of types are searched."""

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler.analysis.sharding.graph.edges import PlanEdges
from npuc.compiler.analysis.sharding.graph.layer_groups import LayerGroup, PlanGraph, with_paper_types
from npuc.compiler.analysis.sharding.reference.strategies import rule_of
from npuc.compiler.analysis.sharding.search import least_movement, many_levels
from npuc.compiler.analysis.sharding.search.least_movement import candidate_types, elements_of, graph_of, search_all
from npuc.compiler.analysis.sharding.search.many_levels import is_enumerated, least, search_joint
from npuc.compiler.analysis.sharding.search.planning import terms_of
from npuc.compiler.analysis.solvers.choices.minimise import minimise
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.options import Convention
from npuc.compiler.interpreter.execute import the_function
from npuc.compiler.transforms.parallelize import plan_graph_for
from npuc.frontends import read_source
from tests.sharded_networks import ATTENTION, WORDS

CONVENTIONS: tuple[Convention, ...] = ("table2", "published")
NETWORKS = [plan_graph_for(the_function(read_source(text, defines={}))) for text in (ATTENTION, WORDS)]


def without_batch(graph: PlanGraph, dropped: set[int]) -> tuple[LayerGroup, ...]:
    """The groups, some of which are of axes that devices do not divide, as a batch of them alone is."""
    return tuple(
        replace(group, types=tuple(type for type in group.types if type != "I") or group.types)
        if number in dropped
        else group
        for number, group in enumerate(with_paper_types(graph, by_batch=False).groups)
    )


@pytest.fixture(autouse=True, scope="module")
def _few_levels() -> object:
    """Two levels are as many as all orders are searched for, so that three are many."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (least_movement, many_levels):
            patch.setattr(module, "MOST_LEVELS_ON_GRAPHS", 2)
        yield


@given(st.data(), st.sampled_from(NETWORKS), st.sampled_from(CONVENTIONS), st.sampled_from((3, 4)))
@settings(max_examples=40)
def test_the_bound_is_below_the_best_of_all_orders(
    data: st.DataObject, network: tuple[PlanGraph, PlanEdges], convention: Convention, levels: int
) -> None:
    graph, edges = network
    dropped = data.draw(st.sets(st.sampled_from(range(len(graph.groups))), max_size=4))
    groups, sizes, rule = without_batch(graph, dropped), (2,) * levels, rule_of("joint", convention)
    terms = terms_of(graph, edges, convention)
    labels = [list(product(candidate_types(group, rule), repeat=levels)) for group in groups]
    every = minimise(graph_of(terms, labels, sizes))
    plan, bound = search_joint(groups, terms, rule, sizes), least(groups, terms, rule, sizes)
    assert bound is not None
    assert max(plan.bound, bound) <= elements_of(every.cost, sizes)
    assert plan.elements >= elements_of(every.bound, sizes)
    assert plan.elements <= search_all(groups, terms, rule, sizes).elements


def test_one_order_of_types_is_not_the_best_where_a_layer_cannot_split_the_batch() -> None:
    """Of the network of attention with a first layer whose batch is not divisible, 8 devices."""
    graph, edges = NETWORKS[0]
    groups, sizes, rule = without_batch(graph, {1}), (2, 2, 2), rule_of("joint", "table2")
    terms = terms_of(graph, edges, "table2")
    assert not is_enumerated(groups, rule, sizes)
    assert search_all(groups, terms, rule, sizes).elements == 13_472
    plan = search_joint(groups, terms, rule, sizes)
    assert plan.bound <= plan.elements == 12_960
    assert least(groups, terms, rule, sizes) == plan.bound


def test_many_levels_that_are_no_halves_are_refused() -> None:
    graph, edges = NETWORKS[0]
    groups, sizes, rule = without_batch(graph, {1}), (2, 3, 2), rule_of("joint", "table2")
    terms = terms_of(graph, edges, "table2")
    for search in (search_joint, least):
        with pytest.raises(UsageError, match="found 3 levels, not all of 2 parts"):
            search(groups, terms, rule, sizes)
