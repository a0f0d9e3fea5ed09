"""When `fuse-vector` fuses and when it does not: one test a condition."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.utils.exceptions import PassFailedException, VerifyException

from npuc.compiler.analysis.machine.facts import TARGET, target_attr
from npuc.compiler.analysis.schedule.search import best_schedule
from npuc.compiler.core.errors import SourceError, UsageError
from npuc.compiler.driver.passes import available_passes, read_pipeline
from npuc.compiler.interpreter.execute import execute
from npuc.compiler.transforms.fuse_vector import FuseVectorPass, candidates
from npuc.compiler.transforms.interleave import InterleavePass
from npuc.compiler.transforms.lower_tiles import LowerTilesPass
from npuc.compiler.transforms.schedule import SchedulePass
from npuc.dialects.npu import ContractOp, VectorOp
from npuc.dialects.npu.nest import Schedule
from npuc.frontends import read_source
from npuc.frontends.mlir import make_context

FACTS: dict[str, bool | int | float | str] = {
    "rows": 4,
    "cols": 4,
    "dataflow": "os",
    "fill": "overlap",
    "drain": "hidden",
    "spm_bytes": 1024,
    "double_buffer": True,
    "clock_mhz": 1000.0,
    "gb_per_s": 1.0,
    "lanes": 4,
    "element_bytes": 2,
}
ARGS = '%x: tensor<8x8xf32>, %dy: tensor<8x4xf32>, %w: tensor<8x4xf32> {train.param = "w"}'
DW = """  %dw = npu.contract (m = 8, n = 4, k = 8) ins(X = %x[m, k], dY = %dy[m, n]) outs(dW[k, n]) do(dW += X * dY)
    loops [k : 4] spm 2048 bytes {layer = "fc", role = "dw"} : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
"""
DX = """  %dx = npu.contract (m = 8, n = 4, k = 8) ins(dY = %dy[m, n], W = %w[k, n]) outs(dX[m, k]) do(dX += dY * W)
    loops [k : 4] spm 2048 bytes {layer = "fc", role = "dx"} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
"""
SGD = """  %w1 = npu.vector sgd(%w, %dw) <{lr = 1.0 : f64}> ops 64 {layer = "w", role = "update"}
    : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
"""
END = "  func.return %w1 : tensor<8x4xf32>\n}"
W1 = "tensor<8x4xf32> {train.updates = 2 : i64}"
BOTH = f"{W1}, tensor<8x8xf32>"
NETWORK = """network f(batch=24) {
  input x: f32[batch, 40]
  labels y: i32[batch]
  loss cross_entropy(linear(relu(linear(x, 56)), 10), y)
  optimizer sgd(lr=0.1, momentum=0.9)
}
"""
END_BOTH = "  func.return %w1, %dx : tensor<8x4xf32>, tensor<8x8xf32>\n}"


def parse(*lines: str, results: str = W1, facts: Mapping[str, int | str] = {}) -> ModuleOp:
    module = Parser(make_context(), f"func.func @f({ARGS}) -> ({results}) {{\n{''.join(lines)}").parse_module()
    module.verify()
    module.attributes[TARGET] = target_attr({**FACTS, **facts})
    return module


def fused(module: ModuleOp, step: FuseVectorPass = FuseVectorPass()) -> list[str]:
    """The kinds of what the pass fuses."""
    step.apply(Context(), module)
    module.verify()
    return [op.kind for op in module.walk() if isinstance(op, VectorOp) and op.fused]


def test_the_update_of_a_weight_that_nothing_reads_any_more() -> None:
    assert fused(parse(DW, SGD, END)) == ["sgd"]
    assert fused(parse(DX, DW, SGD, END_BOTH, results=BOTH)) == ["sgd"]


def test_a_weight_that_is_read_between_gradient_and_update() -> None:
    assert fused(parse(DW, DX, SGD, END_BOTH, results=BOTH)) == []


def test_a_weight_that_is_read_as_a_view_in_between() -> None:
    view = "  %v = npu.view reshape(%w) : (tensor<8x4xf32>) -> tensor<32xf32>\n"
    read = "  %r = npu.vector relu(%v) ops 32 : (tensor<32xf32>) -> tensor<32xf32>\n"
    end = "  func.return %w1, %r : tensor<8x4xf32>, tensor<32xf32>\n}"
    assert fused(parse(view, DW, read, SGD, end, results=f"{W1}, tensor<32xf32>")) == []
    assert fused(parse(view, read, DW, SGD, end, results=f"{W1}, tensor<32xf32>")) == ["sgd"]


def test_one_nest_of_both_gradients_reads_a_weight_no_later_than_it_finishes_its_gradient() -> None:
    module = parse(DX, DW, SGD, END_BOTH, results=BOTH)
    InterleavePass().apply(Context(), module)
    assert fused(module) == ["sgd"]
    (contract,) = (op for op in module.walk() if isinstance(op, ContractOp))
    assert len(contract.nest.statements) == 2


def test_contractions_in_turn_are_left() -> None:
    module = parse(DX, DW, SGD, END_BOTH, results=BOTH)
    InterleavePass(mode="zip").apply(Context(), module)
    SchedulePass().apply(Context(), module)
    assert fused(module) == []


def test_a_gradient_that_is_clipped_by_its_norm_first() -> None:
    norm = "  %s = npu.vector reduce(%dw) ops 32 : (tensor<8x4xf32>) -> tensor<f32>\n"
    clip = "  %g = npu.vector mul(%dw, %s) ops 32 : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>\n"
    assert fused(parse(DW, norm, clip, SGD.replace("%dw", "%g"), END)) == []


def test_an_update_that_needs_the_whole_tensor() -> None:
    t = "tensor<8x4xf32>"
    lamb = "  %t = npu.constant constant() <{value = 1.0 : f64}> : () -> tensor<i64>\n"
    lamb += "  %w1, %m1, %s1 = npu.vector lamb(%w, %dw, %w, %w, %t) <{lr = 1.0 : f64}> ops 384\n"
    lamb += f'    {{layer = "w", role = "update"}} : ({t}, {t}, {t}, {t}, tensor<i64>) -> ({t}, {t}, {t})\n'
    assert fused(parse(DW, lamb, END)) == []


def test_a_gradient_with_another_use_is_stored_as_well() -> None:
    end = "  func.return %w1, %dw : tensor<8x4xf32>, tensor<8x4xf32>\n}"
    assert fused(parse(DW, SGD, end, results=f"{W1}, tensor<8x4xf32>")) == ["sgd"]


def test_a_step_count_takes_one_element() -> None:
    """Adam's counter is an i64 of no shape: its width is not that of the blocks."""
    t = "tensor<8x4xf32>"
    adam = "  %w1, %m1, %s1 = npu.vector adam(%w, %dw, %w, %w, %t) <{lr = 1.0 : f64}> ops 384\n"
    adam += f'    {{layer = "w", role = "update"}} : ({t}, {t}, {t}, {t}, tensor<i64>) -> ({t}, {t}, {t})\n'
    text = f"func.func @f({ARGS}, %t: tensor<i64>) -> ({W1}) {{\n{DW}{adam}{END}"
    module = Parser(make_context(), text).parse_module()
    # X 8 x 4, dY 8 x 4, dW, W and a result 4 x 4: 2 bytes each, the counter has 8.
    module.attributes[TARGET] = target_attr({**FACTS, "spm_bytes": 2 * (32 + 32 + 16 + 16 + 16) + 8})
    SchedulePass().apply(Context(), module)
    assert fused(module) == ["adam"]


def test_what_chooses() -> None:
    assert fused(parse(DW, SGD, END), FuseVectorPass(what="elementwise")) == []
    assert fused(parse(DW, SGD, END), FuseVectorPass(what="updates")) == ["sgd"]
    assert fused(parse(DW, SGD, END), FuseVectorPass(only="conv*")) == []


def test_a_schedule_whose_partial_sums_leave_is_replaced() -> None:
    module = parse(DW.replace("[k : 4]", "[m : 4, k : 4]"), SGD, END)
    assert fused(module) == ["sgd"]
    (contract,) = (op for op in module.walk() if isinstance(op, ContractOp))
    assert "m : 4, k : 4]" not in str(contract)


def test_no_room_for_another_block() -> None:
    tight = DW.replace("loops [k : 4] spm 2048 bytes", "loops [m : 1, n : 1, k : 1] spm 12 bytes")
    assert fused(parse(tight, SGD, END, facts={"spm_bytes": 6})) == []


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("policy", "lru", "memory.policy 'lru' has no price"),
        ("dataflow", "in-place", "arrays that keep a tile"),
    ],
)
def test_machines_without_a_price(key: str, value: int | str, message: str) -> None:
    with pytest.raises(PassFailedException, match=f"fuse-vector: .*{message}"):
        fused(parse(DW, SGD, END, facts={key: value}))


def test_a_module_without_a_machine() -> None:
    module = parse(DW, SGD, END)
    del module.attributes[TARGET]
    with pytest.raises(SourceError, match=r"does not say its machine.* and fuse-vector depends on it"):
        fused(module)


def test_an_unknown_choice() -> None:
    with pytest.raises(UsageError, match="what is 'weights', expected all, updates, elementwise"):
        read_pipeline("fuse-vector{what=weights}", available_passes())


def test_the_gradient_of_a_fused_update_is_known_at_the_level_of_tiles() -> None:
    named = ARGS.replace("%x: tensor<8x8xf32>", '%x: tensor<8x8xf32> {train.input = "x"}')
    named = named.replace("%dy: tensor<8x4xf32>", '%dy: tensor<8x4xf32> {train.input = "dy"}')
    module = Parser(make_context(), f"func.func @f({named}) -> ({W1}) {{\n{DW}{SGD}{END}").parse_module()
    module.attributes[TARGET] = target_attr(FACTS)
    assert fused(module) == ["sgd"]
    given = {"x": np.eye(8, dtype=np.float32), "dy": np.arange(32, dtype=np.float32).reshape(8, 4)}
    before = execute(module, given)
    LowerTilesPass().apply(Context(), module)
    assert not any(isinstance(op, ContractOp | VectorOp) for op in module.walk())
    after = execute(module, given)
    np.testing.assert_array_equal(after.gradients["w"], given["dy"])
    np.testing.assert_array_equal(after.updated["w"], before.updated["w"])


def test_the_mark_and_parts_of_tensors() -> None:
    with pytest.raises(VerifyException, match="it says no reads and writes"):
        parse(DW, SGD.replace("ops 64", "ops 64 reads [4, 32] fused"), END)


def fused_on_cores(monkeypatch: pytest.MonkeyPatch, facts: dict[str, Any], bound: float | None) -> tuple[str, int]:
    """The program that the pass makes, and how often it searches; `bound` stands for the bound of every partition."""
    searches = 0

    def counted(*arguments: Any) -> Schedule:
        nonlocal searches
        searches += 1
        return best_schedule(*arguments)

    def constant(_self: object, _loops: object) -> float:
        assert bound is not None
        return bound

    with monkeypatch.context() as patch:
        patch.setattr(candidates, "best_schedule", counted)
        if bound is not None:
            patch.setattr(candidates.PartitionBounds, "of_all_cores", constant)
        module = read_source(NETWORK, format="dsl")
        module.attributes[TARGET] = target_attr(facts)
        for step in read_pipeline("autodiff,lower-to-npu,schedule,fuse-vector", available_passes()):
            step.apply(make_context(), module)
    return str(module), searches


@pytest.mark.parametrize("cores", [6, 20])
def test_partitions_are_left_out_unless_they_may_be_the_best(monkeypatch: pytest.MonkeyPatch, cores: int) -> None:
    """The program is that of a search of all partitions over cores, of which fewer are searched."""
    facts = {**FACTS, "cores": cores, "spm_bytes": 1 << 14, "gb_per_s": 0.5}
    pruned, few = fused_on_cores(monkeypatch, facts, None)
    unpruned, many = fused_on_cores(monkeypatch, facts, 0.0)
    assert "fused" in pruned
    assert pruned == unpruned
    assert few < many


@pytest.mark.parametrize("cores", [4, 20])
def test_a_partition_that_is_the_best_is_not_left_out(monkeypatch: pytest.MonkeyPatch, cores: int) -> None:
    facts = {**FACTS, "cores": cores, "spm_bytes": 1 << 13, "gb_per_s": 32.0}
    pruned, _ = fused_on_cores(monkeypatch, facts, None)
    assert pruned == fused_on_cores(monkeypatch, facts, 0.0)[0]
    assert pruned != fused_on_cores(monkeypatch, facts, 1e18)[0], "without partitions it is another program"
