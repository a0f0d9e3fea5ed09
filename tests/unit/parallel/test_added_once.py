"""Values that are added are reduced once: Megatron's block, tied weights, and sums of partial sums."""

from fractions import Fraction
from math import prod

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from npuc.compiler.analysis.sharding.cost.cost_terms import TypeSequence, physical_terms
from npuc.compiler.analysis.sharding.graph.edges import PlanEdges
from npuc.compiler.analysis.sharding.graph.layer_groups import PlanGraph
from npuc.compiler.analysis.sharding.graph.partition_types import PartitionType
from npuc.compiler.analysis.sharding.search.least_movement import moved_by
from npuc.compiler.analysis.sharding.search.planning import plan_network
from npuc.compiler.core.options import Strategy
from npuc.compiler.distributed.plan import plan_of_program
from npuc.compiler.driver.check import random_data
from npuc.compiler.interpreter.compare import compare
from npuc.compiler.interpreter.devices import Traffic
from npuc.compiler.interpreter.execute import Run, execute, the_function
from npuc.compiler.layers.base import elements
from npuc.compiler.transforms.autodiff import differentiate
from npuc.compiler.transforms.parallelize import ParallelizePass, plan_graph_for
from npuc.compiler.transforms.parallelize.spmd import partition_spmd
from npuc.dialects.distributed import AllReduceOp, DistOp, Mesh
from npuc.dialects.provenance import Role, layer_of, role_of
from npuc.frontends import read_source

BATCH, LENGTH, WIDTH, HEADS = 4, 4, 16, 8
BLOCKS = """
block layer(x, heads, joint, parallel) {{
  width = shape(x)[2]
  norm1 = layer_norm(x)
  attention = multi_head_attention(norm1, heads, causal=true, dropout=0.5, joint=joint)
  if parallel {{
    fc1 = linear(norm1, 4 * width)
    fc2 = linear(gelu(fc1, approximate=tanh), width)
    return x + (attention + fc2)
  }}
  residual1 = x + dropout(attention, 0.5)
  norm2 = layer_norm(residual1)
  fc1 = linear(norm2, 4 * width)
  fc2 = linear(gelu(fc1, approximate=tanh), width)
  return residual1 + dropout(fc2, 0.5)
}}
network blocks(batch=4, layers={layers}) {{
  input x: f32[batch, 4, 16]
  input t: f32[batch, 4, 16]
  h = linear(x, 16, bias=false)
  for i in 0..layers {{
    block = layer(h, 8, {joint}, {parallel})
    h = block
  }}
  loss dot_loss(h, t)
  optimizer sgd(lr=0.01)
}}
"""
MEGATRON: dict[str, PartitionType] = {
    "out": "II",
    "fc2": "II",
    "h": "II",
    "residual1": "II",
    "add": "II",
    "add_2": "whole",
}
"""The way of each node by the end of its name: all others cut their output channels, hubs keep addends."""


def blocks(layers: int, *, joint: bool = False, parallel: bool = False) -> ModuleOp:
    """Transformer blocks behind one linear layer, whose output is one more all-reduce."""
    flags = {"joint": str(joint).lower(), "parallel": str(parallel).lower()}
    return read_source(BLOCKS.format(layers=layers, **flags))


def megatron(graph: PlanGraph, levels: int) -> tuple[TypeSequence, ...]:
    """Megatron-LM's plan (Shoeybi et al., 2019): columns, then rows; heads over devices."""
    found: list[TypeSequence] = []
    for number, group in enumerate(graph.groups):
        type = "II" if graph.is_reshard_point(number) else MEGATRON.get(group.name.split(".")[-1], "III")
        assert type in group.types, group
        found.append((type,) * levels)
    return tuple(found)


def by_plan(module: ModuleOp, plan: tuple[TypeSequence, ...], sizes: tuple[int, ...]) -> tuple[PlanGraph, PlanEdges]:
    func = the_function(module)
    graph, edges = plan_graph_for(func)
    partition_spmd(func, graph, edges, plan, Mesh(sizes))
    differentiate(func)
    module.verify()
    return graph, edges


def traffic_of(run: Run) -> Traffic:
    assert run.traffic is not None
    return run.traffic


@pytest.mark.parametrize("sizes", [(2,), (4,), (2, 2), (8,), (2, 2, 2)])
@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("layers", [1, 2])
def test_a_block_by_megatrons_plan_moves_four_all_reduces(layers: int, joint: bool, sizes: tuple[int, ...]) -> None:
    module = blocks(layers, joint=joint)
    one = module.clone()
    differentiate(the_function(one))
    graph, _ = plan_graph_for(the_function(module.clone()))
    plan = megatron(graph, len(sizes))
    _, edges = by_plan(module, plan, sizes)
    moving = [op for op in module.walk() if isinstance(op, DistOp) and isinstance(op, AllReduceOp)]
    inside = [op for op in moving if layer_of(op) != "h"]
    value = BATCH * LENGTH * WIDTH
    assert [elements(op.x) for op in inside] == [value] * 4 * layers
    assert sum(role_of(op) is Role.FORWARD for op in inside) == 2 * layers
    # an all-reduce: each of n devices reads 2 (n - 1) / n of the value, half of which counts
    each = Fraction(value * (prod(sizes) - 1))
    assert moved_by(physical_terms(edges), plan, sizes) == (4 * layers + 1) * each
    data = random_data(one, 0)
    together, alone = execute(module, data, double=True), execute(one, data, double=True)
    traffic = traffic_of(together)
    assert traffic.total == (4 * layers + 1) * each
    assert compare({"loss": np.asarray(alone.loss)}, {"loss": np.asarray(together.loss)}).equal
    assert compare(alone.updated, together.updated).equal


@pytest.mark.parametrize("devices", [2, 4, 8])
@pytest.mark.parametrize(("joint", "parallel"), [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("strategy", ["mp", "owt", "joint", "accpar-joint"])
def test_the_least_plan_is_not_above_megatrons(
    strategy: Strategy, layers: int, joint: bool, parallel: bool, devices: int
) -> None:
    graph, edges = plan_graph_for(the_function(blocks(layers, joint=joint, parallel=parallel)))
    levels = devices.bit_length() - 1
    terms, sizes = physical_terms(edges), (2,) * levels
    found = plan_network(graph, edges, strategy, "physical", levels)
    assert found.bound is not None
    assert found.bound <= found.total == moved_by(terms, found.sequences, sizes)
    assert found.total <= moved_by(terms, megatron(graph, levels), sizes)


@pytest.mark.parametrize("strategy", ["mp", "hypar", "joint"])
@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("devices", [2, 4])
def test_two_types_find_megatrons_plan(strategy: str, joint: bool, layers: int, devices: int) -> None:
    """Its four all-reduces a block and no more; before the first block all devices gather what they read of `h`."""
    module, one = blocks(layers, joint=joint), blocks(layers, joint=joint)
    differentiate(the_function(one))
    ParallelizePass(strategy=strategy, devices=devices, convention="physical").apply(Context(), module)
    differentiate(the_function(module))
    plan = plan_of_program(module)
    assert plan is not None
    moving = [op for op in module.walk() if isinstance(op, AllReduceOp)]
    assert [elements(op.x) for op in moving] == [BATCH * LENGTH * WIDTH] * 4 * layers
    for level in plan.levels:
        assert set(level.choices.values()) == {"mp"}
        assert level.cuts is not None
        inside = {name.split(".")[-1]: cut for name, cut in level.cuts.items() if name != "h"}
        columns = ["qkv", "fc1"] if joint else ["q", "k", "v", "fc1"]
        assert inside == dict.fromkeys(columns, "output") | dict.fromkeys(["out", "fc2"], "input")
    data = random_data(one, 0)
    together, alone = execute(module, data, double=True), execute(one, data, double=True)
    assert traffic_of(together).total == plan.total.elements
    assert compare(alone.updated, together.updated).equal


def test_a_parallel_block_has_one_all_reduce_forward_and_one_back() -> None:
    """Attention and feed-forward of one input, added: partial sums are added before they are reduced."""
    graph, edges = plan_graph_for(the_function(blocks(1, parallel=True)))
    plan, value = megatron(graph, 1), BATCH * LENGTH * WIDTH
    assert moved_by(physical_terms(edges), plan, (4,)) == 3 * value * 3  # one of them of the layer in front
    module = blocks(1, parallel=True)
    by_plan(module, plan, (4,))
    one = blocks(1, parallel=True)
    differentiate(the_function(one))
    data = random_data(one, 0)
    together, alone = execute(module, data, double=True), execute(one, data, double=True)
    assert traffic_of(together).total == 3 * value * 3
    assert compare(alone.updated, together.updated).equal


TIED = """
network tied(batch=8) {
  input t: i32[batch, 4]
  labels y: i32[batch, 4]
  table = param([32, 16])
  places = param([64, 16])
  bias = param([16])
  x = embedding(t, weight=table) + slice(places, 0, 0, 4) + slice(places, 0, 0, 4)
  h = relu(linear(x, 16, bias=false) + bias)
  g = linear(h, 16, bias=false) + bias
  logits = matmul(h + g, table, transpose_b=true)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.1)
}
"""


@pytest.mark.parametrize("convention", ["physical", "table2"])
@pytest.mark.parametrize("zero", [False, True])
def test_weights_that_are_used_twice_are_summed_once(convention: str, zero: bool) -> None:
    module = read_source(TIED)
    one = module.clone()
    differentiate(the_function(one))
    ParallelizePass("dp", 4, convention, zero=zero).apply(Context(), module)
    differentiate(the_function(module))
    weights = 32 * 16 + 4 * 16 + 16 + 2 * 16 * 16
    summing = [op for op in module.walk() if isinstance(op, DistOp) and role_of(op) is Role.DW]
    run = execute(module, random_data(one, 0), double=True)
    if not zero:
        assert sum(elements(op.x) for op in summing if isinstance(op, AllReduceOp)) == weights
    # one element is the loss: two levels of halves, 2 P (n - 1) / n elements a device, of n devices, half of them
    assert traffic_of(run).total == 3 * (weights + 1)
    alone = execute(one, random_data(one, 0), double=True)
    assert compare(alone.updated, run.updated).equal
