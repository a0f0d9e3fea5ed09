"""Groups in the interpreter: a body by micro-batches computes what its operations compute on all samples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.interpreter import Interpreter
from xdsl.interpreters.func import FuncFunctions
from xdsl.parser import Parser

from npuc.compiler.analysis.fusion.slices import body_axes, body_of, clipped
from npuc.compiler.core.errors import SourceError
from npuc.compiler.interpreter.groups import GroupFunctions
from npuc.compiler.interpreter.npu import NpuFunctions
from npuc.dialects.npu import ContractOp
from npuc.dialects.npu.groups.op import GroupOp
from npuc.dialects.npu.nest import Loop, Schedule
from npuc.frontends.mlir import make_context

GROUP = """
func.func @f(%x: tensor<{all}x8xf32>, %w: tensor<8x4xf32>, %g: tensor<{all}x4xf32>)
    -> (tensor<{all}x4xf32>, tensor<8x4xf32>, tensor<4xf32>) {{
  %y, %dw, %db = npu.group micro {m} of {samples} ins(%x[0], %w held, %g[0]) outs([0], sum, sum) {{
  ^bb0(%a : tensor<{rows}x8xf32>, %v : tensor<8x4xf32>, %b : tensor<{rows}x4xf32>):
    %h = npu.vector relu(%a) ops {ops} resident(out out0) : (tensor<{rows}x8xf32>) -> tensor<{rows}x8xf32>
    %p = npu.contract (m = {rows}, n = 4, k = 8) ins(X = %h[m, k], W = %v[k, n]) outs(Y[m, n]) do(Y += X * W)
        loops [m : {step}] resident(in X, in W, out X, out W)
        : (tensor<{rows}x8xf32>, tensor<8x4xf32>) -> tensor<{rows}x4xf32>
    %q = npu.contract (m = {rows}, n = 4, k = 8) ins(X = %h[m, k], dY = %b[m, n]) outs(dW[k, n]) do(dW += X * dY)
        loops [m : {step}] resident(in X, out dW)
        : (tensor<{rows}x8xf32>, tensor<{rows}x4xf32>) -> tensor<8x4xf32>
    %r = npu.vector reduce(%b) ops {sums} resident(out out0) : (tensor<{rows}x4xf32>) -> tensor<4xf32>
    npu.yield %p, %q, %r : tensor<{rows}x4xf32>, tensor<8x4xf32>, tensor<4xf32>
  }} : (tensor<{all}x8xf32>, tensor<8x4xf32>, tensor<{all}x4xf32>)
      -> (tensor<{all}x4xf32>, tensor<8x4xf32>, tensor<4xf32>)
  func.return %y, %dw, %db : tensor<{all}x4xf32>, tensor<8x4xf32>, tensor<4xf32>
}}
"""


def text_of(samples: int, micro: int, rows: int = 1) -> str:
    """A layer forward and backward, of `rows` rows a sample."""
    own = micro * rows
    return GROUP.format(
        all=samples * rows, m=micro, samples=samples, rows=own, ops=8 * own, sums=4 * own, step=max(1, own // 2)
    )


def parsed(text: str) -> ModuleOp:
    module = Parser(make_context(), text).parse_module()
    module.verify()
    return module


def group_of(module: ModuleOp) -> GroupOp:
    return next(op for op in module.walk() if isinstance(op, GroupOp))


def run(module: ModuleOp, *arrays: np.ndarray) -> list[np.ndarray]:
    interpreter = Interpreter(module)
    for functions in (NpuFunctions(), GroupFunctions(), FuncFunctions()):
        interpreter.register_implementations(functions)
    return list(interpreter.call_op("f", arrays))


@given(samples=st.integers(1, 7), data=st.data(), rows=st.integers(1, 3), seed=st.integers(0, 9))
def test_as_on_all_samples(samples: int, data: st.DataObject, rows: int, seed: int) -> None:
    micro = data.draw(st.integers(1, samples))
    random = np.random.default_rng(seed)
    x, w, g = (random.integers(-9, 9, s).astype(float) for s in ((samples * rows, 8), (8, 4), (samples * rows, 4)))
    y, dw, db = run(parsed(text_of(samples, micro, rows)), x, w, g)
    h = np.maximum(x, 0)
    assert np.array_equal(y, h @ w)
    assert np.array_equal(dw, h.T @ g)
    assert np.array_equal(db, g.sum(0))


@given(samples=st.integers(1, 6), data=st.data(), rows=st.integers(1, 2))
def test_a_body_of_another_size_is_that_of_a_group_of_that_size(samples: int, data: st.DataObject, rows: int) -> None:
    micro, then = data.draw(st.integers(1, samples)), data.draw(st.integers(1, samples))
    made = body_of(group_of(parsed(text_of(samples, micro, rows))), then).block
    direct = group_of(parsed(text_of(samples, then, rows))).body.block
    for one, other in zip(made.ops, direct.ops, strict=True):
        if isinstance(one, ContractOp) and isinstance(other, ContractOp):
            assert one.nest == other.nest
            assert next(one.schedule.problems(one.nest), None) is None
        else:
            assert one.properties == other.properties
        assert one.result_types == other.result_types


def test_axes_of_a_body() -> None:
    group = group_of(parsed(text_of(4, 1)))
    assert [axes.results for axes in body_axes(group).values()] == [(0,), (0,), (-1,), (-1,)]


@pytest.mark.parametrize("micro", [1, 2])
def test_what_is_not_sample_wise(micro: int) -> None:
    text = text_of(4, micro).replace("reduce(%b)", "channel_mean(%b)")
    with pytest.raises(SourceError, match="channel_mean is not sample-wise"):
        body_axes(group_of(parsed(text)))


def test_a_loss_over_the_batch_is_refused() -> None:
    text = """
    func.func @f(%x: tensor<4x3xf32>, %y: tensor<4xi32>) -> tensor<4x3xf32> {
      %g = npu.group micro 2 of 4 ins(%x[0], %y[0]) outs([0]) {
      ^bb0(%a : tensor<2x3xf32>, %b : tensor<2xi32>):
        %d = npu.vector cross_entropy_grad(%a, %b) <{label_smoothing = 0.0 : f64, reduction = "mean"}> ops 12
            : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<2x3xf32>
        npu.yield %d : tensor<2x3xf32>
      } : (tensor<4x3xf32>, tensor<4xi32>) -> tensor<4x3xf32>
      func.return %g : tensor<4x3xf32>
    }
    """
    with pytest.raises(SourceError, match="cross_entropy_grad is not sample-wise"):
        run(parsed(text), np.zeros((4, 3)), np.zeros(4, int))


@given(
    steps=st.lists(st.integers(1, 12), min_size=1, max_size=3, unique=True),
    size=st.integers(1, 12),
    keep=st.integers(0, 3),
)
def test_clipped_schedules_keep_their_rules(steps: list[int], size: int, keep: int) -> None:
    nest = next(op for op in parsed(text_of(12, 12)).walk() if isinstance(op, ContractOp)).nest
    loops = (*(Loop("m", step) for step in sorted(steps, reverse=True)), Loop("k", 2))
    schedule = Schedule(loops, (("W", min(keep, len(loops))),))
    small = next(op for op in parsed(text_of(12, size)).walk() if isinstance(op, ContractOp)).nest
    found = clipped(schedule, "m", size)
    assert next(found.problems(small), None) is None
    assert next(schedule.problems(nest), None) is None
    if size == 12:
        assert found == schedule
