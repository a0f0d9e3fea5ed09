"""Lookups: indices out of range at every level, repeated indices, what is read."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, i32, i64

from npuc.compiler.core.errors import SourceError
from npuc.compiler.interpreter.execute import execute
from npuc.compiler.layers.base import Array
from npuc.compiler.transforms.autodiff import AutodiffPass
from npuc.compiler.transforms.lower_to_npu import LowerToNpuPass
from npuc.dialects.npu import MoveOp
from npuc.dialects.tensors import shape_of
from tests.networks import Net, dot_loss


def lookup(function: str, *, index: tuple[int, ...], **arguments: Any) -> ModuleOp:
    """A training step whose layer `pick` looks `index` up in the parameter x [4, 3]."""
    net = Net()
    x, ids = net.param("x", 4, 3), net.b.input("ids", TensorType(i64, index), labels=True)
    if function == "embedding":
        y = net.call(function, ids, weight=x, layer="pick")
    elif function == "one_hot":
        y = net.call("matmul", net.call(function, ids, 4, dtype="f64", layer="pick"), x)
    else:
        y = net.call(function, x, ids, layer="pick", **arguments)
    module = net.finish(dot_loss(net, y))
    AutodiffPass().apply(Context(), module)
    module.verify()
    return module


def data(module: ModuleOp, ids: Any) -> Mapping[str, Array]:
    (function,) = module.ops
    target = shape_of(function.regions[0].block.args[-1])
    return {"x": np.arange(12.0).reshape(4, 3), "ids": np.array(ids), "target": np.ones(target)}


@pytest.mark.parametrize("lowered", [False, True])
@pytest.mark.parametrize(
    ("function", "arguments", "ids", "expected"),
    [
        ("index_select", {"axis": 0}, [0, 4], "argument 'index' holds 4 at [1], expected 0 to 3"),
        ("index_select", {"axis": 1}, [-1, 2], "argument 'index' holds -1 at [0], expected 0 to 2"),
        ("gather", {"axis": 0}, [[0, 1, 2], [3, 7, 9]], "argument 'index' holds 7 at [1, 1], expected 0 to 3"),
        ("embedding", {}, [[0, 1], [2, -3]], "argument 'ids' holds -3 at [1, 1], expected 0 to 3"),
        ("one_hot", {}, [1, 2, 4], "argument 'ids' holds 4 at [2], expected 0 to 3"),
    ],
)
def test_an_index_out_of_range_names_layer_and_argument(
    function: str, arguments: dict[str, int], ids: list[Any], expected: str, lowered: bool
) -> None:
    module = lookup(function, index=np.shape(ids), **arguments)
    if lowered:
        LowerToNpuPass().apply(Context(), module)
    with pytest.raises(SourceError) as caught:
        execute(module, data(module, ids), double=True)
    assert caught.value.message == f"the program cannot run on this data: layer 'pick': {expected}"


def test_equal_indices_add_their_gradients() -> None:
    module = lookup("index_select", index=(3,), axis=0)
    run = execute(module, data(module, [2, 0, 2]), double=True)
    np.testing.assert_array_equal(run.gradients["x"], [[1, 1, 1], [0, 0, 0], [2, 2, 2], [0, 0, 0]])
    module = lookup("gather", index=(2, 3), axis=1)
    run = execute(module, data(module, [[1, 1, 1], [0, 2, 0]]), double=True)
    np.testing.assert_array_equal(run.gradients["x"], [[0, 3, 0], [2, 0, 1], [0, 0, 0], [0, 0, 0]])


def test_only_what_is_picked_is_read() -> None:
    module = lookup("index_select", index=(2,), axis=0)
    LowerToNpuPass().apply(Context(), module)
    assert [op.reads for op in module.walk() if isinstance(op, MoveOp)] == [(6, 2)]


def test_a_list_of_indices_is_known_and_not_read() -> None:
    net = Net()
    y = net.call("index_select", net.input("x", 4, 3), [-1, 0], 0)
    module = net.b.finish(loss=None, outputs=[("y", y)], optimizer=None)
    LowerToNpuPass().apply(Context(), module)
    (move,) = (op for op in module.walk() if isinstance(op, MoveOp))
    assert move.reads == (6, 0)
    x = np.arange(12.0).reshape(4, 3)
    np.testing.assert_array_equal(execute(module, {"x": x}).outputs["y"], x[[3, 0]])


@pytest.mark.parametrize("element", ["i32", "bool"])
def test_integers_and_booleans_are_moved_too(element: str) -> None:
    net = Net()
    ids = net.b.input("ids", TensorType(i32, (2, 3)))
    x = net.call("cast", ids, element)
    y = net.call("stack", net.call_all("unbind", x, 1), 0)
    y = net.call("flip", net.call("pad", net.call("slice", y, 0, 1), [1, 0], 1), 0)
    y = net.call("gather", net.call("repeat", y, [1, 2]), net.call("argmax", ids, 1, keepdim=True), 1)
    y = net.call("amax", net.call("tril", net.call("expand", y, [2, 2])), 0)
    module = net.b.finish(loss=None, outputs=[("y", net.call("concat", [y, y], 0))], optimizer=None)
    module.verify()
    values = {"ids": np.array([[0, 1, 0], [0, 0, 1]])}
    expected = execute(module, values).outputs["y"]
    assert expected.dtype == (np.bool_ if element == "bool" else np.int32)
    # flipped: [[1, 0, 1], [1, 1, 0]]; at columns 1 and 2 of its copies: 0 and 0
    np.testing.assert_array_equal(expected, [0, 0, 0, 0])
    LowerToNpuPass().apply(Context(), module)
    np.testing.assert_array_equal(execute(module, values).outputs["y"], expected)
