"""Axes that hold several gates or heads: each of them divides among the devices, or the axis is not cut."""

from functools import cache
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from npuc.compiler.analysis.sharding.cost.cost_terms import TypeSequence
from npuc.compiler.analysis.sharding.graph.layer_groups import PlanGraph
from npuc.compiler.analysis.sharding.graph.partition_types import PartitionType
from npuc.compiler.analysis.sharding.graph.segments import with_segments
from npuc.compiler.analysis.sharding.graph.tasks import forward_program
from npuc.compiler.core.errors import CapacityError
from npuc.compiler.core.options import Options
from npuc.compiler.core.verify import SourceTexts
from npuc.compiler.driver.check import random_data
from npuc.compiler.driver.read import read_program
from npuc.compiler.interpreter.compare import compare
from npuc.compiler.interpreter.execute import Run, execute, the_function
from npuc.compiler.layers.base import Array
from npuc.compiler.transforms.autodiff import differentiate
from npuc.compiler.transforms.parallelize import ParallelizePass
from npuc.compiler.transforms.parallelize.spmd import partition_spmd
from npuc.dialects.distributed.mesh import Mesh
from npuc.dialects.distributed.sharding import SHARDING, ShardingAttr
from npuc.dialects.train.signature import ArgumentKind, arguments_of
from npuc.frontends.source import text_source
from tests.sharded_networks import bytes_modelled, bytes_moved, modelled, spread_by

TEMPLATE = """
network net(batch=12) {{
  input x: f32[batch, 2, 12]
  input t: f32[batch, 2, 12]
  h = {layer}
  loss mse(linear(h, 12), t)
  optimizer sgd(lr=0.01, momentum=0.9)
}}
"""
HEADS = "multi_head_attention(x, {heads}, size={size}, kv_heads={kv}, joint=true)"
LAYERS = {
    **{f"lstm{hidden}": f"lstm(x, {hidden})" for hidden in (3, 5, 6)},
    **{f"gru{hidden}": f"gru(x, {hidden})" for hidden in (4, 5)},
    "lstm of two layers": "lstm(x, 3, layers=2, bidirectional=true)",
    **{f"heads{h}x{s}/{kv}": HEADS.format(heads=h, size=s, kv=kv) for h, s, kv in ((3, 4, 3), (3, 2, 3), (6, 2, 2))},
    "heads2x3/1": HEADS.format(heads=2, size=3, kv=1),
    "thirds": "reshape(unbind(reshape(linear(x, 18), [batch, 2, 3, 3, 2]), 2)[1], [batch, 2, 6])",
    "added": "softmax(linear(x, 12) + linear(linear(x, 2), 12), axis=2)",
}
MESHES = ((2,), (3,), (4,))


@cache
def _program_of(name: str) -> ModuleOp:
    source = text_source(TEMPLATE.format(layer=LAYERS[name]), "dsl", "net.dsl")
    return read_program(source, Options(), SourceTexts({source.filename: source.text}), [])


def program_of(name: str) -> ModuleOp:
    """A forward program of one's own."""
    return _program_of(name).clone()


@cache
def alone(name: str, seed: int) -> tuple[dict[str, Array], dict[str, Array]]:
    """Random data of a network, and what one device computes of it."""
    module = program_of(name)
    differentiate(the_function(module))
    data = random_data(module, seed)
    return data, values(execute(module, data, double=True))


def values(run: Run) -> dict[str, Array]:
    """The loss, and all gradients and new values."""
    named = {**{f"grad/{name}": own for name, own in run.gradients.items()}, **run.updated}
    return {"loss": np.asarray(run.loss), **named}


def uneven(module: ModuleOp, func: FuncOp, mesh: Mesh) -> list[str]:
    """The parameters with an axis that is cut though one of its segments does not divide."""
    segments = with_segments(forward_program(the_function(module))).segments
    found: list[str] = []
    assert func.arg_attrs is not None
    for argument in arguments_of(func):
        sharding = func.arg_attrs.data[argument.index].data.get(SHARDING)
        if argument.kind is ArgumentKind.PARAM and isinstance(sharding, ShardingAttr):
            for axis, levels in enumerate(sharding.data.axes):
                parts = segments.get((argument.index, axis), ())
                if levels and any(part % mesh.devices for part in parts):
                    found.append(argument.name)
    return found


def check(name: str, shared: ModuleOp, sizes: tuple[int, ...], seed: int) -> list[object]:
    """Devices compute what one does; what they moved at each level."""
    data, expected = alone(name, seed)
    together = execute(shared, data, double=True)
    outcome = compare(expected, values(together))
    assert outcome.equal, outcome
    assert not uneven(program_of(name), the_function(shared), Mesh(sizes))
    assert together.traffic is not None
    return [together.traffic.of_level(level) for level in range(len(sizes))]


def refusal(own: ParallelizePass, module: ModuleOp) -> str | None:
    """Apply the pass; what it says if it refuses."""
    try:
        own.apply(Context(), module)
    except CapacityError as e:
        return e.message
    return None


@pytest.mark.parametrize("zero", [False, True], ids=["", "zero"])
@pytest.mark.parametrize("sizes", MESHES, ids=lambda sizes: "x".join(map(str, sizes)))
@pytest.mark.parametrize("name", LAYERS)
def test_devices_compute_what_one_does_whatever_the_size_of_a_gate(
    name: str, sizes: tuple[int, ...], zero: bool
) -> None:
    """Only the strategy that takes no heed of sizes is refused, with the axis."""
    module = program_of(name)
    for strategy in ("dp", "mp", "joint", "accpar-joint"):
        mesh = "x".join(map(str, sizes))
        own = ParallelizePass(strategy=strategy, mesh=mesh, convention="physical", zero=zero)
        graph, edges, plan = own.plan(the_function(module.clone()), None)
        sequences, shared = tuple(plan.sequences), module.clone()
        refused = refusal(own, shared)
        if refused is not None:
            assert strategy == "mp"
            assert f"expected a multiple of {prod(sizes)}, the devices" in refused
            continue
        shared.verify()
        differentiate(the_function(shared))
        assert check(name, shared, sizes, 1) == modelled(edges, sequences, sizes), strategy
        assert bytes_moved(shared) == bytes_modelled(graph, edges, sequences, sizes), strategy


@settings(max_examples=40)
@given(
    name=st.sampled_from(sorted(LAYERS)),
    sizes=st.sampled_from((*MESHES, (2, 2), (2, 3))),
    plan=st.data(),
    seed=st.integers(0, 99),
)
def test_any_plan_of_gates_and_heads_is_right_or_refused(
    name: str, sizes: tuple[int, ...], plan: st.DataObject, seed: int
) -> None:
    shared = program_of(name)
    try:
        graph, edges, sequences = spread_by(shared, plan, sizes)
    except CapacityError:
        return
    assert check(name, shared, sizes, seed) == modelled(edges, sequences, sizes)
    assert bytes_moved(shared) == bytes_modelled(graph, edges, sequences, sizes)


def by_batch(graph: PlanGraph) -> list[TypeSequence]:
    """Every node by its batch, or whole."""
    types: list[PartitionType] = ["I" if "I" in group.types else "whole" for group in graph.groups]
    return [(type,) for type in types]


@pytest.mark.parametrize("devices", [2, 3, 4])
@pytest.mark.parametrize("name", ["lstm3", "lstm6", "gru4", "gru5", "heads3x4/3", "heads2x3/1"])
def test_each_way_that_is_offered_can_be_taken(name: str, devices: int) -> None:
    """One node in a way that it offers, all others by their batch: a program that holds the rules."""
    given, _ = ParallelizePass(strategy="accpar-joint", mesh=str(devices)).graph_to_plan(the_function(program_of(name)))
    usual = by_batch(given)
    plans: dict[tuple[TypeSequence, ...], None] = {}
    for number, group in enumerate(given.groups):
        for type in group.types:
            own: TypeSequence = (type,)
            plans[(*usual[:number], own, *usual[number + 1 :])] = None
    for plan in plans:
        module = program_of(name)
        func = the_function(module)
        graph, edges = ParallelizePass(strategy="accpar-joint", mesh=str(devices)).graph_to_plan(func)
        partition_spmd(func, graph, edges, plan, Mesh((devices,)))
        module.verify()
        differentiate(func)
        module.verify()
        assert bytes_moved(module) == bytes_modelled(graph, edges, plan, (devices,)), plan


def test_a_plan_that_cuts_across_gates_is_refused() -> None:
    module = program_of("lstm3")
    func = the_function(module)
    graph, edges = ParallelizePass(strategy="dp", devices=2).graph_to_plan(func)
    plan = by_batch(graph)
    plan[next(n for n, group in enumerate(graph.groups) if group.name == "h.0.1.recurrent")] = ("III",)
    expected = "found 3, one of the parts side by side in the 12 of 3x12, expected a multiple of 2, the devices"
    with pytest.raises(CapacityError, match=expected):
        partition_spmd(func, graph, edges, plan, Mesh((2,)))
