"""What is known at compile time costs nothing, and so does what is computed from it alone."""

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.ir import SSAValue

from npuc.compiler.interpreter.execute import Run, execute
from npuc.compiler.layers.base import Array
from npuc.compiler.transforms.lower_to_npu import LowerToNpuPass
from npuc.dialects.npu import ConstantOp, TensorWorkOp, VectorOp
from tests.networks import Net


def lowered(net: Net, y: SSAValue, **values: Array) -> tuple[list[TensorWorkOp], Run]:
    """The operations of a forward pass after lowering, and what it computes, the same as before."""
    module = net.b.finish(loss=None, outputs=[("y", y)], optimizer=None)
    before = execute(module, values, double=True)
    LowerToNpuPass().apply(Context(), module)
    module.verify()
    after = execute(module, values, double=True)
    np.testing.assert_array_equal(after.outputs["y"], before.outputs["y"])
    return [op for op in module.walk() if isinstance(op, TensorWorkOp)], after


def test_a_table_of_positions_is_a_constant() -> None:
    net = Net()
    position = net.call("unsqueeze", net.call("arange", 4, dtype="f64"), 1)
    frequency = net.call("arange", 0, start=3, step=-1, dtype="f64")
    angles = net.call("mul", net.call("matmul", position, net.call("unsqueeze", frequency, 0)), 0.5)
    table = net.call("concat", [net.call("sin", angles), net.call("cos", angles)], 1)
    operations, run = lowered(net, table)
    assert {type(op) for op in operations} == {ConstantOp}
    expected = np.arange(4.0)[:, None] * np.array([3.0, 2.0, 1.0]) * 0.5
    np.testing.assert_allclose(run.outputs["y"], np.concatenate([np.sin(expected), np.cos(expected)], 1))


def test_one_hot_of_a_constant_is_a_constant() -> None:
    net = Net()
    operations, run = lowered(net, net.call("one_hot", net.call("arange", 3, dtype="i32"), 4))
    assert [(type(op), op.kind) for op in operations] == [(ConstantOp, "arange"), (ConstantOp, "one_hot")]
    np.testing.assert_array_equal(run.outputs["y"], np.eye(3, 4))


def test_work_on_a_constant_and_an_input_is_work() -> None:
    net = Net()
    y = net.call("where", net.call("causal_mask", 3, offset=1), net.input("x", 3, 3), -1.0)
    operations, run = lowered(net, y, x=np.arange(9.0).reshape(3, 3))
    kinds = {op.kind: type(op) for op in operations}
    assert kinds["causal_mask"] is ConstantOp
    assert kinds["where"] is VectorOp
    np.testing.assert_array_equal(run.outputs["y"], [[0, 1, -1], [3, 4, 5], [6, 7, 8]])


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("diagonal", range(-4, 6))
def test_a_triangle_reads_what_it_keeps(rows: int, diagonal: int) -> None:
    for function, side in (("tril", np.tril), ("triu", np.triu)):
        net = Net()
        operations, run = lowered(
            net, net.call(function, net.input("x", 2, rows, 4), diagonal), x=np.ones((2, rows, 4))
        )
        np.testing.assert_array_equal(run.outputs["y"], side(np.ones((2, rows, 4)), diagonal))
        assert [op.reads for op in operations] == [(run.outputs["y"].sum(),)]
