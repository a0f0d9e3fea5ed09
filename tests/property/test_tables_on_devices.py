"""Embedding tables shared among devices: results of one device to the bit, and each exchange as its closed form."""

from dataclasses import dataclass
from fractions import Fraction
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp, TensorType, i32

from npuc.compiler.core.builder import Optimizer
from npuc.compiler.interpreter.execute import Run, execute, the_function
from npuc.compiler.layers.base import Array
from npuc.compiler.transforms.autodiff import differentiate
from npuc.compiler.transforms.parallelize import ParallelizePass
from npuc.frontends.mlir import make_context
from tests.networks import Net, dot_loss, integer_data

MESHES = ((2,), (3,), (4,), (2, 2), (2, 3), (2, 2, 2))
OPTIMIZERS = (Optimizer("sgd", {"lr": 1.0}), Optimizer("sgd", {"lr": 1.0, "momentum": 0.5}))


@dataclass(frozen=True)
class Tables:
    """A network with tables beside a dense layer: the devices of a mesh, and a batch of ids of each table."""

    sizes: tuple[int, ...]
    batch: int
    rows: tuple[int, ...]
    width: int
    module: ModuleOp


@st.composite
def networks(draw: st.DrawFn, least: int = 1) -> Tables:
    """
    At least so many tables of few rows, so that a batch names some of them several times, and a product whose gradients
    stay integers.
    """
    sizes = draw(st.sampled_from(MESHES))
    devices = prod(sizes)
    batch, width = devices * draw(st.integers(1, 3)), draw(st.integers(1, 3))
    rows = tuple(draw(st.integers(1, 9)) for _ in range(draw(st.integers(least, least + 3))))
    net = Net()
    x = net.input("x", batch, 2)
    total = net.call("linear", x, width, bias=False)
    for number, count in enumerate(rows):
        ids = net.b.input(f"ids{number}", TensorType(i32, [batch]))
        weight = net.param(f"weight{number}", count, width)
        found = net.call("embedding", ids, weight=weight, layer=f"table{number}")
        total = net.call("add", total, found)
    module = net.finish(dot_loss(net, total), draw(st.sampled_from(OPTIMIZERS)))
    return Tables(sizes, batch, rows, width, module)


def step_of(module: ModuleOp, sizes: tuple[int, ...], strategy: str, tables: str) -> ModuleOp:
    """The training step of a forward module on the devices of a mesh."""
    shared = module.clone()
    mesh = "x".join(map(str, sizes))
    ParallelizePass(strategy, mesh=mesh, convention="physical", tables=tables).apply(make_context(), shared)
    differentiate(the_function(shared))
    shared.verify()
    return shared


def everything(run: Run) -> dict[str, Array]:
    """All that a step computes, by name."""
    found = {"loss": np.asarray(run.loss)}
    for what, values in (("gradient", run.gradients), ("new", run.updated), ("output", run.outputs)):
        found |= {f"{what} {name}": value for name, value in values.items()}
    return found


@pytest.mark.parametrize("how", ["rows", "whole"])
@settings(max_examples=60)
@given(data=st.data(), strategy=st.sampled_from(("dp", "hypar", "joint")), seed=st.integers(0, 99))
def test_shared_tables_compute_what_one_device_does_to_the_bit(
    how: str, data: st.DataObject, strategy: str, seed: int
) -> None:
    tables = data.draw(networks() if how == "rows" else networks(least=8))
    one = tables.module.clone()
    differentiate(the_function(one))
    given_data = integer_data(one, seed)
    shared = step_of(tables.module, tables.sizes, strategy, how)
    alone, together = (everything(execute(module, given_data, double=True)) for module in (one, shared))
    assert alone.keys() == together.keys()
    assert all(np.array_equal(alone[name], together[name]) for name in alone)


@settings(max_examples=30)
@given(tables=networks(least=8))
def test_whole_tables_exchange_vectors_and_gradients_all_to_all(tables: Tables) -> None:
    shared = step_of(tables.module, tables.sizes, "dp", "whole")
    run = execute(shared, integer_data(tables.module), double=True)
    assert run.traffic is not None
    devices, rows = prod(tables.sizes), [row for row in run.traffic.rows if row.layer == "tables" and row.elements]
    slots = -(-len(tables.rows) // devices)
    for level, parts in enumerate(tables.sizes):
        # d (P - 1) / P of the vectors d that a device has, of one direction, which is half of what all devices read
        vectors = Fraction(devices * slots * tables.batch * tables.width * (parts - 1), 2 * parts)
        ids = vectors / tables.width
        moved = sorted((row.op, row.elements) for row in rows if row.level == level)
        assert moved == sorted(("dist.all_to_all", amount) for amount in (ids, vectors, vectors))


@settings(max_examples=30)
@given(tables=networks())
def test_each_exchange_of_a_table_by_rows_moves_its_closed_form(tables: Tables) -> None:
    shared = step_of(tables.module, tables.sizes, "dp", "rows")
    run = execute(shared, integer_data(tables.module), double=True)
    assert run.traffic is not None
    devices = prod(tables.sizes)
    for number in range(len(tables.rows)):
        rows = [row for row in run.traffic.rows if row.layer == f"table{number}"]
        # of one direction, which is half of what all devices read
        vectors = Fraction(devices * tables.batch * tables.width * (devices - 1), 2 * devices)
        assert sum(row.elements for row in rows if row.op == "dist.reduce_scatter") == vectors
        assert sum(row.elements for row in rows if row.op == "dist.all_gather") == vectors
        assert {row.op for row in rows if row.elements} <= {"dist.reduce_scatter", "dist.all_gather"}
        assert {(row.op, row.role) for row in rows if row.elements} == {
            ("dist.reduce_scatter", "forward"),
            ("dist.all_gather", "dx"),
        }
