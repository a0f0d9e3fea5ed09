"""Joining and taking apart: one operation each way however many tensors there are, and what it moves."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from npuc.compiler.interpreter.execute import Run, execute
from npuc.compiler.layers.base import Array
from npuc.compiler.transforms.autodiff import AutodiffPass
from npuc.compiler.transforms.lower_to_npu import LowerToNpuPass
from npuc.dialects.npu import MoveOp
from npuc.dialects.tensors import shape_of
from npuc.frontends import read_source
from tests.networks import Net, dot_loss

COUNT = 40


def names(module: ModuleOp, *kinds: str) -> Counter[str]:
    """How many operations of some kinds there are."""
    return Counter(op.name.removeprefix("train.") for op in module.walk() if op.name.removeprefix("train.") in kinds)


def step_of(net: Net, y: SSAValue) -> ModuleOp:
    """The training step under a linear loss."""
    module = net.finish(dot_loss(net, y))
    AutodiffPass().apply(Context(), module)
    module.verify()
    return module


def run_both(module: ModuleOp, values: dict[str, Array]) -> tuple[Run, list[MoveOp]]:
    """A step before and after lowering, which give the same numbers; its moves."""
    before = execute(module, values, double=True)
    LowerToNpuPass().apply(Context(), module)
    module.verify()
    after = execute(module, values, double=True)
    assert before.losses == after.losses
    for name, gradient in before.gradients.items():
        np.testing.assert_array_equal(after.gradients[name], gradient)
    return before, [op for op in module.walk() if isinstance(op, MoveOp)]


@pytest.mark.parametrize(
    ("apart", "together", "arguments"),
    [("unbind", "stack", {}), ("split", "concat", {"sizes": 1})],
)
def test_a_loop_over_parts_takes_one_operation_each_way(apart: str, together: str, arguments: dict[str, Any]) -> None:
    net = Net()
    parts = net.call_all(apart, net.param("x", COUNT, 3), axis=0, **arguments)
    assert len(parts) == COUNT
    module = step_of(net, net.call(together, [net.call("mul", part, 2) for part in parts], axis=0))
    assert names(module, apart, together, "slice", "pad", "reshape") == {apart: 2, together: 2}
    x = np.arange(COUNT * 3.0).reshape(COUNT, 3)
    run, moves = run_both(module, {"x": x, "target": x})
    assert run.loss == 2 * np.sum(x * x)
    np.testing.assert_array_equal(run.gradients["x"], 2 * x)
    assert sum(len(move.results) for move in moves) == 2 * COUNT + 2


@pytest.mark.parametrize(("apart", "together"), [("unbind", "stack"), ("split", "concat")])
def test_parts_without_gradient_are_zeros_that_are_not_read(apart: str, together: str) -> None:
    net = Net()
    arguments: dict[str, Any] = {"sizes": 1} if apart == "split" else {}
    parts = net.call_all(apart, net.param("x", COUNT, 3), axis=0, **arguments)
    module = step_of(net, net.call("add", parts[0], parts[-1]))
    assert names(module, apart, together, "constant", "slice", "pad") == {apart: 1, together: 1, "constant": 1}
    run, moves = run_both(module, {"x": np.ones((COUNT, 3)), "target": np.full(shape_of(parts[0]), 5.0)})
    expected = np.zeros((COUNT, 3))
    expected[[0, -1]] = 5.0
    np.testing.assert_array_equal(run.gradients["x"], expected)
    (joined,) = (move for move in moves if move.kind == together)
    assert joined.reads == (3, *[0] * (COUNT - 2), 3)


@pytest.mark.parametrize("apart", ["unbind", "split"])
def test_one_part_with_gradient_is_padded(apart: str) -> None:
    net = Net()
    arguments: dict[str, Any] = {"sizes": 1} if apart == "split" else {}
    part = net.call_all(apart, net.param("x", 2, COUNT), axis=1, **arguments)[7]
    module = step_of(net, part)
    assert names(module, "pad", "stack", "concat", "constant") == {"pad": 1}
    run, _ = run_both(module, {"x": np.ones((2, COUNT)), "target": np.full(shape_of(part), 5.0)})
    np.testing.assert_array_equal(run.gradients["x"], np.where(np.arange(COUNT) == 7, 5.0, 0.0) * np.ones((2, 1)))


@pytest.mark.parametrize(("together", "shape"), [("stack", ()), ("stack", (2,)), ("concat", (2,))])
def test_one_operand_with_gradient_is_cut_out(together: str, shape: tuple[int, ...]) -> None:
    net = Net()
    x, w = net.input("x", *shape), net.param("w", *shape)
    y = net.call(together, [x, x, w, x], axis=-1)
    module = step_of(net, y)
    assert names(module, "slice", "unbind", "split") == {"slice": 1}
    target = np.arange(np.prod(shape_of(y))).reshape(shape_of(y))
    run, moves = run_both(module, {"x": np.zeros(shape), "w": np.ones(shape), "target": target})
    part = target[..., 2] if together == "stack" else target[4:6]
    np.testing.assert_array_equal(run.gradients["w"], part)
    (cut,) = (move for move in moves if move.kind == "slice")
    assert cut.reads == (np.prod(shape),)


def test_a_result_that_is_used_twice_gets_the_sum() -> None:
    net = Net()
    first, second = net.call_all("split", net.param("x", 4), [3, 1], 0)
    module = step_of(net, net.call("concat", [first, second, first], 0))
    run, _ = run_both(module, {"x": np.zeros(4), "target": np.array([1.0, 2, 3, 4, 10, 20, 30])})
    np.testing.assert_array_equal(run.gradients["x"], [11, 22, 33, 4])


def test_the_language_takes_the_parts_as_a_list() -> None:
    module = read_source(
        """
        network loop(steps=5) {
          input x: f64[2, steps, 3]
          h = param([2, 3], type=f64)
          hs = []
          for step in unbind(x, 1) { h = h + step; hs = hs + [h] }
          first, rest = split(stack(hs, 1), [1, steps - 1], axis=1)
          output h
          loss sum(unbind(rest, 1)[-1]) + sum(first)
        }
        """,
        filename="loop.dsl",
    )
    assert names(module, "unbind", "stack", "split", "add") == {"unbind": 2, "stack": 1, "split": 1, "add": 6}
    x, h = np.arange(30.0).reshape(2, 5, 3), np.ones((2, 3))
    assert execute(module, {"x": x, "h": h}, double=True).loss == x.sum() + x[:, 0].sum() + 12
