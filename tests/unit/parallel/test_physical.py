"""What a plan says that its program moves: against the short formula of chains, and counted on simulated devices."""

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from npuc.compiler.analysis.sharding.cost.cost_terms import TypeSequence
from npuc.compiler.analysis.sharding.graph.chain import BASIC_TYPES, Layer
from npuc.compiler.analysis.sharding.reference.chain_terms import chain_terms
from npuc.compiler.analysis.sharding.search.planning import amounts_of, plan_network, terms_of, total_of
from npuc.compiler.core.options import STRATEGIES, Convention, Strategy
from npuc.compiler.interpreter.devices import Traffic
from npuc.compiler.interpreter.execute import execute, the_function
from npuc.compiler.transforms.autodiff import AutodiffPass, differentiate
from npuc.compiler.transforms.parallelize import ParallelizePass, plan_graph_for
from npuc.compiler.transforms.parallelize.spmd import partition_spmd
from npuc.dialects.distributed.mesh import Mesh
from tests.networks import Net, Optimizer, dot_loss, integer_data

BATCH = 8
TWO = BASIC_TYPES[:2]
WIDTHS = st.lists(st.sampled_from([8, 16, 24]), min_size=2, max_size=5)


def dense(widths: list[int]) -> ModuleOp:
    """A chain of fc layers without biases."""
    net = Net()
    value = net.input("x", BATCH, widths[0])
    for number, width in enumerate(widths[1:]):
        value = net.call("linear", value, width, bias=False, layer=f"fc{number}")
    return net.finish(dot_loss(net, value), Optimizer("sgd", {"lr": 1.0}))


def layers(widths: list[int]) -> list[Layer]:
    """The same in the papers' terms."""
    return [Layer("fc", "fc", BATCH * before, before * after, BATCH * after) for before, after in pairwise(widths)]


def counted(module: ModuleOp) -> Traffic:
    """What the devices of a step read from each other."""
    run = execute(module, integer_data(module), double=True)
    assert run.traffic is not None
    return run.traffic


@st.composite
def chosen(draw: st.DrawFn, most: int) -> tuple[list[int], tuple[TypeSequence, ...]]:
    """A chain, and a type for each layer and each of up to `most` levels."""
    widths = draw(WIDTHS)
    levels = draw(st.integers(1, most))
    row = st.lists(st.sampled_from(BASIC_TYPES), min_size=levels, max_size=levels)
    return widths, tuple(tuple(draw(row)) for _ in widths[1:])


def loss_sums(last: TypeSequence) -> int:
    """Groups of devices with the whole loss, those that the last layer's type II has, add up its parts."""
    return 2 ** len(last) - 2 ** last.count("II")


@given(chosen(4))
def test_dense_layers_move_what_is_said_of_a_chain_of_their_sizes_and_the_loss(
    case: tuple[list[int], tuple[TypeSequence, ...]],
) -> None:
    widths, plan = case
    sizes = (2,) * len(plan[0])
    graph, edges = plan_graph_for(the_function(dense(widths)))
    terms = terms_of(graph, edges, "physical")
    loss = [term for term in terms if term.what == "sum" and term.elements == 1]
    assert total_of(amounts_of(loss, plan, sizes)) == loss_sums(plan[-1])
    chain = chain_terms(layers(widths), "physical")
    assert amounts_of([*chain, *loss], plan, sizes) == amounts_of(terms, plan, sizes)


@settings(max_examples=30)
@given(chosen(3))
def test_three_types_of_a_chain_are_counted(case: tuple[list[int], tuple[TypeSequence, ...]]) -> None:
    widths, plan = case
    sizes = (2,) * len(plan[0])
    module = dense(widths)
    func = the_function(module)
    graph, edges = plan_graph_for(func)
    partition_spmd(func, graph, edges, plan, Mesh(sizes))
    differentiate(func)
    found = total_of(amounts_of(chain_terms(layers(widths), "physical"), plan, sizes))
    assert counted(module).total == found + loss_sums(plan[-1])


@settings(max_examples=20)
@given(WIDTHS, st.data())
def test_table2_is_counted_on_two_devices(widths: list[int], data: st.DataObject) -> None:
    plan: tuple[TypeSequence, ...] = tuple((data.draw(st.sampled_from(TWO)),) for _ in widths[1:])
    module = dense(widths)
    func = the_function(module)
    graph, edges = plan_graph_for(func)
    partition_spmd(func, graph, edges, plan, Mesh((2,)))
    differentiate(func)
    loss = 1 if plan[-1] == ("I",) else 0
    expected = total_of(amounts_of(terms_of(graph, edges, "table2"), plan, (2,)))
    assert counted(module).total - loss == expected


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("devices", [2, 8])
def test_each_level_of_a_physical_plan_is_counted(strategy: Strategy, devices: int) -> None:
    convention: Convention = "physical"
    module = dense([16, 24, 8, 16])
    graph, edges = plan_graph_for(the_function(module.clone()))
    plan = plan_network(graph, edges, strategy, convention, devices.bit_length() - 1)
    for step in (ParallelizePass(strategy, devices, convention), AutodiffPass()):
        step.apply(Context(), module)
    traffic = counted(module)
    found = [traffic.of_level(level) for level in range(len(plan.levels))]
    assert found == [2**level * amount for level, amount in enumerate(plan.levels)]
    assert plan.total == sum(found, start=Fraction(0))
