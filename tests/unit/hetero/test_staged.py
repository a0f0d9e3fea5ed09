"""Stages: what may run beside what, the times of what does, and plans that are never worse than the best unit."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.func import FuncOp
from xdsl.parser import Parser

from npuc.compiler.analysis.hetero.product import SparseProduct
from npuc.compiler.analysis.hetero.staged import MODES, Mode, stage_plan, stage_times
from npuc.compiler.analysis.hetero.stages import dependent_in_stage, stages_of
from npuc.compiler.analysis.hetero.tiles import best_split, single_splits
from npuc.compiler.analysis.hetero.unit import UnitMachine
from npuc.dialects.npu import ContractOp
from npuc.dialects.provenance import layer_of
from npuc.frontends.mlir import make_context
from tests.unit.hetero.machines import MACHINES, PRODUCTS, machine, unit
from tests.unit.precision.test_sparsify import read

BRANCHES = """
network net(batch=4, width=8) {
  input x: f32[batch, width]
  labels y: i32[batch]
  a = linear(x, 8)
  b = linear(x, 8)
  c = linear(relu(a + b), 8)
  loss cross_entropy(c, y)
  optimizer sgd(lr=0.1)
}
"""


def product_text(name: str, x: str, w: str, more: str = "") -> str:
    return (
        f"%{name} = npu.contract (m = 8, n = 8, k = 8) ins(X = %{x}[m, k], W = %{w}[k, n]) outs(Y[m, n]) "
        f'do(Y += X * W) {{layer = "{name}"{more}}} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>'
    )


def function(*lines: str, returned: str) -> FuncOp:
    """A function of square x and w that returns one value, which is written over w."""
    body = "\n".join(lines)
    text = f"""
    func.func @f(%x: tensor<8x8xf32> {{train.input = "x"}}, %w: tensor<8x8xf32> {{train.param = "w"}})
        -> (tensor<8x8xf32> {{train.updates = 1 : i64}}) {{
      {body}
      func.return %{returned} : tensor<8x8xf32>
    }}"""
    module = Parser(make_context(), text).parse_module()
    module.verify()
    (func,) = (op for op in module.ops if isinstance(op, FuncOp))
    return func


def numbers(func: FuncOp) -> dict[str, int]:
    return {layer_of(op): stage for op, stage in stages_of(func).items()}


def test_gradients_of_a_layer_and_branches_are_of_one_stage() -> None:
    (func,) = (op for op in read(BRANCHES, "autodiff,lower-to-npu").ops if isinstance(op, FuncOp))
    found = {(layer_of(op), op.nest.outs[0].name): stage for op, stage in stages_of(func).items()}
    assert found == {
        ("a", "Y"): 0,
        ("b", "Y"): 0,
        ("c", "Y"): 1,
        ("c", "dX"): 2,
        ("c", "dW"): 2,
        ("a", "dW"): 3,
        ("b", "dW"): 3,
    }


def test_what_reads_a_product_is_behind_it() -> None:
    func = function(product_text("a", "x", "w"), product_text("b", "a", "w"), product_text("c", "x", "x"), returned="b")
    assert numbers(func) == {"a": 0, "b": 1, "c": 0}


def test_an_update_waits_for_what_reads_the_old_weights() -> None:
    """`late` reads the new weights, which lie over those that `b`, of the second stage, still reads."""
    add = "%new = npu.vector add(%w, %x) ops 64 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>"
    lines = product_text("a", "x", "x"), product_text("b", "a", "w"), add, product_text("late", "x", "new")
    assert numbers(function(*lines, returned="new")) == {"a": 0, "b": 1, "late": 2}
    assert numbers(function(*lines, returned="b")) == {"a": 0, "b": 1, "late": 0}


def test_a_stage_with_a_dependence_is_found() -> None:
    first = product_text("a", "x", "w", ", units = #npu.units<[one : 8] stage 1>")
    for stage, wrong in ((0, "b"), (1, "b"), (2, None)):
        second = product_text("b", "a", "w", f", units = #npu.units<[one : 8] stage {stage}>")
        found = dependent_in_stage(function(first, second, returned="b"))
        assert (None if found is None else layer_of(found)) == wrong


QUEUES = st.lists(PRODUCTS, min_size=1, max_size=4)


@settings(deadline=None, max_examples=60)
@given(MACHINES, QUEUES, st.sampled_from(MODES))
def test_a_plan_is_never_worse_than_the_best_unit(
    found: UnitMachine, products: list[SparseProduct], mode: Mode
) -> None:
    plan = stage_plan(found, products, mode, tiles=4)
    assert [split.product for split in plan.splits] == products
    singles = [tuple(single_splits(found, one)) for one in products]
    for one in found.units:
        alone = [split.seconds for own in singles for split in own if split.shares[0].unit == one]
        assert len(alone) < len(products) or plan.seconds <= sum(alone) * (1 + 1e-9)
    times = stage_times(found, plan.splits)
    assert sum(times.added) == pytest.approx(plan.seconds)
    assert min(times.added) >= -1e-18
    assert mode != "assign" or all(split.axis is None for split in plan.splits)
    if mode == "best":
        others = [stage_plan(found, products, other, tiles=4).seconds for other in ("split", "assign")]
        assert plan.seconds <= min(others) * (1 + 1e-9)


def test_whole_products_run_side_by_side_and_shared_ones_behind_them() -> None:
    found = machine(unit("dense", 4, 1 << 20, "a"), unit("dense", 4, 1 << 20, "b"), bytes_per_second=1e18)
    product = SparseProduct("p", 8, 8, 8)
    one, two = single_splits(found, product)
    shared = best_split(found, product)
    times = stage_times(found, [one, shared, two])
    assert times.ends == pytest.approx((128e-9, 192e-9, 128e-9))
    assert times.added == pytest.approx((128e-9, 64e-9, 0.0))
    assert stage_plan(found, [product, product], "assign").seconds == pytest.approx(128e-9)


def test_contractions_in_order() -> None:
    func = function(product_text("a", "x", "w"), returned="a")
    assert all(isinstance(op, ContractOp) for op in stages_of(func))
