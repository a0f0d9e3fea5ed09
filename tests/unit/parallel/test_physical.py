"""What a plan says that its program moves: against the short formula of chains, and counted on simulated devices."""

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from npuc.compiler.analysis.parallel.chain import TYPES, Layer, Type
from npuc.compiler.analysis.parallel.levels import Choices, level_amounts
from npuc.compiler.analysis.parallel.planning import amounts_of, plan_network, terms_of, total_of
from npuc.compiler.analysis.parallel.terms import Pattern
from npuc.compiler.interpreter.devices import Traffic
from npuc.compiler.interpreter.execute import execute, the_function
from npuc.compiler.options import STRATEGIES, Convention, Strategy
from npuc.compiler.transforms._spread import spread
from npuc.compiler.transforms.autodiff import AutodiffPass, differentiate
from npuc.compiler.transforms.parallelize import ParallelizePass, network_for
from npuc.dialects.dist.mesh import Mesh
from tests.networks import Net, Optimizer, dot_loss, integer_data

BATCH = 8
TWO = TYPES[:2]
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
def chosen(draw: st.DrawFn) -> tuple[list[int], tuple[tuple[Type, ...], ...]]:
    """A chain, and a type for each layer and each of up to four levels."""
    widths = draw(WIDTHS)
    levels = draw(st.integers(1, 4))
    row = st.lists(st.sampled_from(TWO), min_size=levels, max_size=levels)
    return widths, tuple(tuple(draw(row)) for _ in widths[1:])


@given(chosen())
def test_dense_layers_move_what_the_formula_says_and_the_loss(
    case: tuple[list[int], tuple[tuple[Type, ...], ...]],
) -> None:
    widths, plan = case
    levels = len(plan[0])
    network, flows = network_for(the_function(dense(widths)))
    found = total_of(amounts_of(terms_of(network, flows, "physical"), plan, (2,) * levels))
    choices: Choices = tuple(tuple(p[h] for p in plan) for h in range(levels))
    # each group of devices with the whole loss adds up its parts
    loss = 2**levels - 2 ** plan[-1].count("II")
    assert found == total_of(level_amounts(layers(widths), choices, "physical")) + loss


@settings(max_examples=20, deadline=None)
@given(WIDTHS, st.data())
def test_table2_is_counted_on_two_devices(widths: list[int], data: st.DataObject) -> None:
    plan: tuple[Pattern, ...] = tuple((data.draw(st.sampled_from(TWO)),) for _ in widths[1:])
    module = dense(widths)
    func = the_function(module)
    network, flows = network_for(func)
    spread(func, network, flows, plan, Mesh((2,)))
    differentiate(func)
    loss = 1 if plan[-1] == ("I",) else 0
    expected = total_of(amounts_of(terms_of(network, flows, "table2"), plan, (2,)))
    assert counted(module).total - loss == expected


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("devices", [2, 8])
def test_each_level_of_a_physical_plan_is_counted(strategy: Strategy, devices: int) -> None:
    convention: Convention = "physical"
    module = dense([16, 24, 8, 16])
    network, flows = network_for(the_function(module.clone()))
    plan = plan_network(network, flows, strategy, convention, devices.bit_length() - 1)
    for step in (ParallelizePass(strategy, devices, convention), AutodiffPass()):
        step.apply(Context(), module)
    traffic = counted(module)
    found = [traffic.of_level(level) for level in range(len(plan.levels))]
    assert found == [2**level * amount for level, amount in enumerate(plan.levels)]
    assert plan.total == sum(found, start=Fraction(0))
