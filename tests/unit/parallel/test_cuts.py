"""Under `physical` mp is a cut along the input's or the output's channels, and the report says which."""

import json
from fractions import Fraction

import pytest
from typing_extensions import Unpack

from npuc.compiler import compile_source, plan_parallel
from npuc.compiler.analysis.sharding.graph.edges import PlanEdges
from npuc.compiler.analysis.sharding.graph.layer_groups import PlanGraph
from npuc.compiler.analysis.sharding.reference.strategies import rule_of
from npuc.compiler.analysis.sharding.search.least_movement import search_all
from npuc.compiler.analysis.sharding.search.planning import plan_network, terms_of
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.interpreter.execute import the_function
from npuc.compiler.report import Report
from npuc.compiler.transforms.parallelize import plan_graph_for
from npuc.frontends import read_source

MLP = """
network mlp(batch=8) {
  input x: f32[batch, 64]
  input t: f32[batch, 64]
  h = relu(linear(x, 256, bias=false))
  y = linear(h, 64, bias=false)
  loss dot_loss(y, t)
  optimizer sgd(lr=0.1)
}
"""


def planned_from(text: str) -> tuple[PlanGraph, PlanEdges]:
    return plan_graph_for(the_function(read_source(text, defines={})))


def compiled(**more: Unpack[CompileKeywords]) -> Report:
    options: CompileKeywords = {"hardware": "hypar16", "devices": 4, "opt_level": 0, **more}
    return compile_source(MLP, **options)


def test_more_devices_than_sequences_are_searched_for() -> None:
    """The best of the plan level by level and that without cuts of outputs; nothing is proved."""
    text = MLP.replace("64", str(1 << 14)).replace("256", str(1 << 15)).replace("batch=8", f"batch={1 << 14}")
    graph, edges = planned_from(text)
    terms, sizes = terms_of(graph, edges, "physical"), (2,) * 13
    found = plan_network(graph, edges, "joint", "physical", 13)
    two = search_all(graph.groups, terms, rule_of("joint", "table2"), sizes)
    assert found.total <= min(two.elements, plan_network(graph, edges, "hypar", "physical", 13).total)
    assert found.bound is None


@pytest.mark.parametrize("strategy", ["joint", "hypar", "mp"])
def test_the_report_says_which_channels_are_cut(strategy: str) -> None:
    report = compiled(parallel=strategy, convention="physical")
    assert report.parallel is not None
    for level in report.parallel.levels:
        assert level.choices == {"h.linear": "mp", "y": "mp"}
        assert level.cuts == {"h.linear": "output", "y": "input"}
    (level, _) = json.loads(report.to_json())["parallel"]["levels"]
    assert level["cuts"] == {"h.linear": "output", "y": "input"}


def test_where_nothing_is_left_open_nothing_is_said() -> None:
    options: list[CompileKeywords] = [
        {"parallel": "joint"},
        {"parallel": "joint", "convention": "published"},
        {"parallel": "accpar-joint", "convention": "physical"},
        {"parallel": "dp", "convention": "physical"},
    ]
    for more in options:
        report = compiled(**more)
        assert report.parallel is not None
        assert all(level.cuts is None for level in report.parallel.levels)
        assert "cuts" not in json.loads(report.to_json())["parallel"]["levels"][0]


def test_a_plan_for_time_has_all_cuts_under_every_convention() -> None:
    """Messages take the same time, whatever a convention counts."""
    found = [
        compiled(parallel="joint", convention=convention, plan_objective="time").parallel
        for convention in ("table2", "published", "physical")
    ]
    assert [plan.levels[0].cuts for plan in found if plan is not None] == [{"h.linear": "output", "y": "input"}] * 3


def test_a_chain_by_its_sizes_has_the_types_of_the_papers() -> None:
    chain = [
        {"name": "h", "kind": "fc", "input": 512, "weight": 16384, "output": 2048},
        {"name": "y", "kind": "fc", "input": 2048, "weight": 16384, "output": 512},
    ]
    plan = plan_parallel(chain, 4, "joint", "physical")
    three = plan_parallel(chain, 4, "accpar-joint", "physical")
    assert all(level.cuts is None for level in plan.levels)
    assert Fraction(three.total.elements) < Fraction(plan.total.elements)
