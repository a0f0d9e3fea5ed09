"""Plans for time and for memory: against enumeration, against the programs' own rows, and their errors."""

from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.backends.exchanges import exchanges
from npuc.compiler import compile_source
from npuc.compiler.analysis.interconnect.topology import KINDS, NetworkLevel
from npuc.compiler.analysis.sharding.cost.cost_terms import TypeSequence, layout_of, physical_terms
from npuc.compiler.analysis.sharding.cost.device_memory import KeptTensor, kept_tensors
from npuc.compiler.analysis.sharding.cost.resharding import part_count
from npuc.compiler.analysis.sharding.cost.step_time import (
    Times,
    key_of,
    message_seconds,
    times_attr,
    times_from,
    work_seconds,
)
from npuc.compiler.analysis.sharding.graph.edges import PlanEdges
from npuc.compiler.analysis.sharding.graph.layer_groups import PlanGraph
from npuc.compiler.analysis.sharding.reference.strategies import Rule, rule_of
from npuc.compiler.analysis.sharding.search.least_movement import candidate_types, uniform
from npuc.compiler.analysis.sharding.search.objectives import candidate_sequences, fastest, smallest
from npuc.compiler.analysis.sharding.search.planning import Goal, plan_network, terms_of
from npuc.compiler.core.errors import SourceError, UsageError
from npuc.compiler.core.options import Options
from npuc.compiler.core.verify import SourceTexts
from npuc.compiler.driver.read import read_program
from npuc.compiler.interpreter.execute import the_function
from npuc.compiler.transforms.parallelize import plan_graph_for
from npuc.compiler.transforms.parallelize.memory_limit import room_of
from npuc.frontends import read_source
from npuc.frontends.source import text_source
from npuc.hardware import Hardware, load_hardware
from tests.sharded_networks import ATTENTION, IMAGES, WORDS, precisions, spread_by

CHAIN = """
network chain(batch=16) {
  input x: f32[batch, 256]
  labels y: i32[batch]
  a = relu(linear(x, 1024))
  b = relu(linear(a, 512))
  logits = linear(b, 16)
  loss cross_entropy(logits, y)
  optimizer adam(lr=0.01)
}
"""
TWO, THREE = rule_of("joint", "table2"), rule_of("joint", "physical")
RESIDUAL = """
network residual(batch=8) {
  input x: f32[batch, 16]
  input t: f32[batch, 8]
  a = linear(x, 32, bias=false)
  b = a + linear(a, 32, bias=false)
  c = linear(b, 8, bias=false)
  loss mse(c, t)
  optimizer sgd(lr=0.5)
}
"""
MACHINE = load_hardware("hypar16")
SLOW: dict[str, Any] = {"network.levels": [{"kind": "pair", "size": 2, "gb_per_s": 0.05, "latency_ns": 5000.0}] * 3}
speeds = st.integers(1, 1000).map(lambda n: Fraction(n, 7) * 10**6)
latencies = st.integers(0, 50).map(lambda n: Fraction(n, 10**7))


def levels_of(draw: st.DrawFn, sizes: tuple[int, ...]) -> tuple[NetworkLevel, ...]:
    return tuple(
        NetworkLevel(
            "pair" if size == 2 and draw(st.booleans()) else draw(st.sampled_from(KINDS[1:])),
            size,
            draw(speeds),
            draw(latencies),
        )
        for size in sizes
    )


networks_of = st.composite(levels_of)


@pytest.mark.parametrize("text", [ATTENTION, IMAGES, WORDS], ids=["attention", "images", "words"])
@settings(max_examples=15)
@given(sizes=st.sampled_from(((2,), (2, 2), (2, 2, 2), (4, 2))), data=st.data())
def test_messages_of_any_plan_take_what_those_of_its_program_do(
    text: str, sizes: tuple[int, ...], data: st.DataObject
) -> None:
    source = text_source(text, "dsl", "net.dsl")
    module = read_program(source, Options(), SourceTexts({source.filename: source.text}), [])
    data.draw(precisions(module))
    width = data.draw(st.sampled_from((4, None)))
    times = Times(data.draw(networks_of(sizes)), width, ())
    graph, edges, sequences = spread_by(module, data, sizes)
    machine = Hardware({**MACHINE.values, **({"memory.element_bytes": width} if width else {})})
    moved = exchanges(the_function(module), times.place(sizes), machine)
    costs = [exchange.cost for exchange in moved]
    found = message_seconds(graph.program, physical_terms(edges), sequences, times, sizes)
    assert found == sum((cost.seconds for cost in costs if cost is not None), Fraction(0))


def random_times(data: st.DataObject, graph: PlanGraph, levels: int, rule: Rule) -> Times:
    work: list[dict[str, float]] = []
    for group in graph.groups:
        keys = {key_of(p) for p in product(candidate_types(group, rule), repeat=levels)}
        work.append({key: float(data.draw(st.integers(0, 40))) * 1e-6 for key in sorted(keys)})
    return Times(data.draw(networks_of((2,) * levels)), None, tuple(work), 1e-6)


def planned_from(text: str) -> tuple[PlanGraph, PlanEdges]:
    return plan_graph_for(the_function(read_source(text, defines={})))


def seconds(graph: PlanGraph, edges: PlanEdges, plan: tuple[TypeSequence, ...], times: Times, levels: int) -> float:
    messages = message_seconds(graph.program, physical_terms(edges), plan, times, (2,) * levels)
    return work_seconds(times, plan) + float(messages)


@settings(max_examples=12)
@given(data=st.data(), rule=st.sampled_from((TWO, THREE)), levels=st.integers(1, 2))
def test_the_shortest_step_is_that_of_enumeration(data: st.DataObject, rule: Rule, levels: int) -> None:
    text = RESIDUAL if levels == 1 else CHAIN
    graph, edges = planned_from(text)
    times = random_times(data, graph, levels, rule)
    every = product(*(list(product(candidate_types(group, rule), repeat=levels)) for group in graph.groups))
    best = min(seconds(graph, edges, plan, times, levels) for plan in every)
    found = fastest(graph, edges, rule, (2,) * levels, times)
    assert found.cost == pytest.approx(best, rel=1e-9)
    assert found.bound == pytest.approx(best, rel=1e-9)
    assert seconds(graph, edges, found.sequences, times, levels) == pytest.approx(found.cost, rel=1e-9)


@settings(max_examples=5)
@given(data=st.data())
def test_many_levels_are_searched_by_one_change_of_way(data: st.DataObject) -> None:
    graph, edges = planned_from(RESIDUAL)
    times = random_times(data, graph, 7, TWO)
    found = fastest(graph, edges, TWO, (2,) * 7, times)
    assert seconds(graph, edges, found.sequences, times, 7) == pytest.approx(found.cost, rel=1e-9)
    assert found.bound <= found.cost * (1 + 1e-12)
    alike = tuple(uniform("I", 7) for _ in graph.groups)
    assert found.cost <= seconds(graph, edges, alike, times, 7) * (1 + 1e-12)


@pytest.mark.parametrize("levels", [1, 2, 4, 6, 10])
def test_patterns_are_all_sequences_or_those_of_one_change(levels: int) -> None:
    found = candidate_sequences(("I", "III", "whole"), levels)
    assert len(found) == len(set(found))
    few = 3**levels <= 81
    kept = [
        p
        for p in (product(("I", "III", "whole"), repeat=levels) if levels < 8 else ())
        if few or sum(a != b for a, b in pairwise(p)) <= 1
    ]
    assert not kept or sorted(found) == sorted(kept)
    assert few or len(found) == 3 + 6 * (levels - 1)


@pytest.mark.parametrize("backend", ["cycle", "maestro"])
def test_planned_seconds_are_those_of_the_program_and_none_is_faster(backend: str) -> None:
    """Where what a backend says of an operation depends on nothing else."""
    hardware = MACHINE.values if backend == "cycle" else {**load_hardware("nvdla").values, **SLOW}

    def compiled(**options: Any) -> Any:
        overrides = SLOW if backend == "cycle" else None
        return compile_source(
            CHAIN, backend=backend, hardware=hardware, overrides=overrides, devices=8, opt_level=0, **options
        )

    planned = compiled(parallel="joint", plan_objective="time")
    assert planned.parallel.planned.objective == "time"
    assert planned.parallel.planned.value == pytest.approx(planned.totals.seconds, rel=1e-9)
    assert planned.parallel.planned.lower_bound == pytest.approx(planned.totals.seconds, rel=1e-9)
    assert not any("reckoned" in warning for warning in planned.warnings)
    for strategy in ("dp", "mp", "owt", "hypar", "joint"):
        other = compiled(parallel=strategy, convention="physical")
        assert planned.totals.seconds <= other.totals.seconds * (1 + 1e-9)


def test_slow_networks_have_another_plan_than_the_least_movement() -> None:
    """A level that is much slower than the others is spared, though more is moved at the others."""
    steep: dict[str, Any] = {
        "network.levels": [
            {"kind": "pair", "size": 2, "gb_per_s": 100.0},
            {"kind": "pair", "size": 2, "gb_per_s": 100.0},
            {"kind": "pair", "size": 2, "gb_per_s": 0.001},
        ]
    }
    found = [
        compile_source(
            CHAIN,
            hardware="hypar16",
            overrides=steep,
            devices=8,
            parallel="joint",
            convention="physical",
            opt_level=0,
            plan_objective=goal,
        )
        for goal in ("bytes", "time")
    ]
    least, shortest = (report.parallel for report in found)
    assert least is not None
    assert shortest is not None
    assert int(shortest.total.elements) > int(least.total.elements)
    assert int(shortest.levels[2].elements) < int(least.levels[2].elements)
    assert (found[1].totals.seconds or 0) < (found[0].totals.seconds or 0)


@settings(max_examples=10)
@given(levels=st.integers(1, 2), text=st.sampled_from((RESIDUAL, CHAIN)), rule=st.sampled_from((TWO, THREE)))
def test_the_least_memory_is_that_of_enumeration(levels: int, text: str, rule: Rule) -> None:
    func = the_function(read_source(text, defines={}))
    graph, edges = plan_graph_for(func)
    room, sizes = room_of(func, 0, 4), (2,) * levels
    labels = [list(product(candidate_types(group, rule), repeat=levels)) for group in graph.groups]
    kept = kept_tensors(graph, edges, room)
    terms = terms_of(graph, edges, "physical")
    found = smallest(graph, edges, terms, rule, sizes, room)

    def bytes_of(tensor: KeptTensor, plan: tuple[TypeSequence, ...]) -> int:
        if tensor.group is None:
            return tensor.size
        layout = layout_of(tensor.produced, plan[tensor.group])
        if tensor.there is not None and layout_of(tensor.there, plan[tensor.producer or 0]) == layout:
            return 0
        return -(-tensor.size // part_count(layout, sizes))

    sums = {plan: sum(bytes_of(tensor, plan) for tensor in kept) for plan in product(*labels)}
    least = min(sums.values())
    assert found.cost == found.bound == least
    moved = {
        plan: sum(sum(term.amounts(plan, sizes)) for term in terms) for plan, size in sums.items() if size == least
    }
    assert sum(sum(term.amounts(found.sequences, sizes)) for term in terms) == min(moved.values())


def test_a_plan_for_memory_takes_less_than_one_for_movement() -> None:
    reports = [
        compile_source(
            CHAIN,
            hardware="hypar16",
            devices=4,
            parallel="joint",
            convention="physical",
            opt_level=0,
            defines={"batch": 1024},
            plan_objective=goal,
        )
        for goal in ("bytes", "memory")
    ]
    kept = [r.memory.activation_bytes + r.memory.argument_bytes for r in reports if r.memory is not None]
    assert kept[1] < kept[0]
    assert reports[1].parallel is not None
    assert reports[1].parallel.planned is not None
    assert reports[1].parallel.planned.objective == "memory"


@settings(max_examples=20)
@given(data=st.data(), width=st.sampled_from((None, 2)))
def test_times_are_read_as_they_were_written(data: st.DataObject, width: int | None) -> None:
    graph, _ = planned_from(RESIDUAL)
    times = random_times(data, graph, 2, TWO)
    times = Times(times.levels, width, times.work, times.rest)
    assert times_from(times_attr(times)) == times


def test_a_rule_of_movement_has_no_other_objective() -> None:
    with pytest.raises(UsageError, match="hypar is a rule of movement") as caught:
        compile_source(CHAIN, hardware="hypar16", devices=2, parallel="hypar", plan_objective="time")
    assert caught.value.exit_code == 2


def test_a_plan_for_time_needs_a_network() -> None:
    with pytest.raises(UsageError, match=r"has no network\.levels"):
        compile_source(CHAIN, hardware="igo-large", devices=2, parallel="joint", plan_objective="time")


def test_a_plan_for_time_needs_times() -> None:
    graph, edges = planned_from(CHAIN)
    with pytest.raises(UsageError, match="needs the times of work and messages"):
        plan_network(graph, edges, "joint", "physical", 1, Goal("time"))


def test_a_mapping_file_is_refused() -> None:
    with pytest.raises(UsageError, match="maps layers by name"):
        compile_source(
            CHAIN,
            backend="maestro",
            hardware={**load_hardware("nvdla").values, **SLOW},
            devices=2,
            parallel="joint",
            plan_objective="time",
            mapping="some.m",
        )


def test_an_unknown_objective() -> None:
    with pytest.raises(UsageError, match="unknown objective of a plan 'speed'"):
        compile_source(CHAIN, devices=2, parallel="joint", plan_objective="speed")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 : i64", "expected a dictionary"),
        ("{levels = [], work = []}", "expected seconds"),
        ("{levels = [], work = 1 : i64, rest = 0.0 : f64}", "expected a list"),
        ("{levels = [{size = 2 : i64}], work = [], rest = 0.0 : f64}", "expected a level of the network"),
        ("{levels = [], work = [{a = 1 : i64}], rest = 0.0 : f64}", "expected seconds"),
        ("{levels = [], work = [], rest = 0.0 : f64}", "found 0 layer groups in dist.times, expected 2"),
        (
            "{levels = [], work = [{I = 1.0 : f64, II = 1.0 : f64}, {I = 1.0 : f64}], rest = 0.0 : f64}",
            "dist.times has no seconds of 'a' for III",
        ),
    ],
)
def test_wrong_times_are_said(text: str, message: str) -> None:
    program = f"""
func.func @net(%x: tensor<4x4xf32> {{train.input = "x"}}, %w: tensor<4x4xf32> {{train.param = "w"}},
               %v: tensor<4x4xf32> {{train.param = "v"}}) -> (tensor<4x4xf32> {{train.output = "y"}})
  attributes {{dist.times = {text}}} {{
  %0 = train.matmul %x, %w {{layer = "a"}} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = train.matmul %0, %v {{layer = "b"}} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %1 : tensor<4x4xf32>
}}
"""
    from npuc.compiler.driver.passes import own_passes, read_pipeline, run_pipeline
    from npuc.frontends.mlir import make_context

    source = text_source(program, "mlir", "net.mlir")
    sources = SourceTexts({source.filename: source.text})
    module = read_program(source, Options(), sources, [])
    passes = read_pipeline("parallelize{strategy=joint devices=2 objective=time}", own_passes())
    with pytest.raises((SourceError, UsageError), match=message):
        run_pipeline(module, passes, make_context(), sources, verify_each=False)
