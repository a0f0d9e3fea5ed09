"""Indexing and scattering: indices from the end and out of range, equal indices, what is read and computed."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, f64, i32, i64
from xdsl.ir import Block

from npuc.compiler.core.errors import SourceError
from npuc.compiler.interpreter.execute import execute, the_function
from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Array
from npuc.compiler.transforms.autodiff import AutodiffPass
from npuc.dialects.tensors import tensor_of
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.indexing import IndexOp
from npuc.dialects.train.scatter import (
    IndexPutDsrcOp,
    IndexPutOp,
    IndexReduceDsrcOp,
    IndexReduceDxOp,
    IndexReduceOp,
)
from npuc.dialects.train.shape import ReshapeOp
from npuc.dialects.train.signature import arguments_of
from tests.networks import Net, dot_loss

X = np.arange(12.0).reshape(4, 3)
SRC = 100.0 + np.arange(6.0).reshape(2, 3)


PUTS = ("index_put", "scatter", "scatter_nd")


def called(function: str, ids: Any, **arguments: Any) -> ModuleOp:
    """The layer `put` of x [4, 3] and ids, and of src where the function takes it, as the output y of a network."""
    net = Net()
    x, index = net.param("x", 4, 3), net.b.input("ids", TensorType(i64, np.shape(ids)), labels=True)
    several = function in ("index", "index_put")
    operands: dict[str, Any] = {"indices": [index]} if several else {"index": index}
    if function in PUTS:
        operands["src"] = net.param("src", 2, 3)
    y = net.call(function, x, layer="put", **operands, **arguments)
    module = net.b.finish(loss=dot_loss(net, y), outputs=[("y", y)], optimizer=None)
    AutodiffPass().apply(Context(), module)
    module.verify()
    return module


def result(module: ModuleOp, ids: Any, target: Sequence[int] = (4, 3)) -> Mapping[str, Array]:
    """y, and the gradients under the loss sum(y)."""
    names = {argument.name for argument in arguments_of(the_function(module))}
    values = {"x": X, "src": SRC, "ids": np.array(ids), "target": np.ones(target)}
    run = execute(module, {name: value for name, value in values.items() if name in names}, double=True)
    return {"y": np.asarray(run.outputs["y"]), **run.gradients}


@pytest.mark.parametrize(
    ("function", "ids", "arguments", "expected"),
    [
        ("index", [-1, 0], {}, X[[3, 0]]),
        ("gather_nd", [[-1, -3], [0, 2]], {}, X[[3, 0], [0, 2]]),
        ("gather", [[-1, 0, -4]], {"axis": 0, "negative": True}, X[[-1, 0, -4], [0, 1, 2]][None]),
        ("index_select", [[-1], [1]], {"axis": 1, "negative": True}, X[:, [[2], [1]]]),
    ],
)
def test_negative_indices_count_from_the_end(
    function: str, ids: Any, arguments: dict[str, Any], expected: Array
) -> None:
    module = called(function, ids, **arguments)
    found = result(module, ids, expected.shape)
    np.testing.assert_array_equal(found["y"], expected)
    counted = np.zeros((4, 3))
    np.add.at(counted.reshape(-1), expected.astype(int).reshape(-1), 1)
    np.testing.assert_array_equal(found["x"], counted)


@pytest.mark.parametrize(
    ("function", "ids", "arguments", "message"),
    [
        ("index", [0, 4], {}, "argument 'index of axis 0' holds 4 at [1, 0], expected -4 to 3"),
        ("index", [0, -4], {"axes": 1}, "argument 'index of axis 1' holds -4 at [0, 1], expected -3 to 2"),
        ("scatter", [[0, 1, -1]] * 2, {"axis": 0}, "argument 'index of axis 0' holds -1 at [0, 2], expected 0 to 3"),
        ("scatter_nd", [[0], [9]], {"reduce": "max"}, "argument 'index of axis 0' holds 9 at [1, 0], expected -4 to 3"),
        ("gather", [[-5]], {"axis": 0, "negative": True}, "argument 'index' holds -5 at [0, 0], expected -4 to 3"),
    ],
)
def test_an_index_out_of_range_is_reported(function: str, ids: Any, arguments: dict[str, Any], message: str) -> None:
    module = called(function, ids, **arguments)
    target = (4, 2) if arguments.get("axes") == 1 else (1, 1) if function == "gather" else (2, 3)
    with pytest.raises(SourceError) as caught:
        result(module, ids, (4, 3) if function.startswith("scatter") else target)
    assert caught.value.message == f"the program cannot run on this data: layer 'put': {message}"


def test_of_equal_indices_the_last_element_stays_and_has_the_gradient() -> None:
    found = result(called("index_put", [-1, 3]), [-1, 3])
    np.testing.assert_array_equal(found["y"], [*X[:3], SRC[1]])
    np.testing.assert_array_equal(found["x"], [[1] * 3] * 3 + [[0] * 3])
    np.testing.assert_array_equal(found["src"], [[0] * 3, [1] * 3])


def test_equal_extremes_share_the_gradient() -> None:
    module = called("scatter", np.zeros((2, 3)), axis=0, reduce="max")
    ids = np.zeros((2, 3), np.int64)
    x, src = np.zeros((4, 3)), np.array([[0.0, 1.0, -1.0], [0.0, 1.0, 2.0]])
    run = execute(module, {"x": x, "src": src, "ids": ids, "target": np.full((4, 3), 6.0)}, double=True)
    np.testing.assert_array_equal(run.gradients["x"][0], [2, 0, 0])
    np.testing.assert_array_equal(run.gradients["src"], [[2, 3, 0], [2, 3, 6]])


def test_the_gradient_of_a_product_with_zeros_is_the_product_of_the_others() -> None:
    module = called("scatter", np.zeros((2, 3)), axis=0, reduce="mul")
    ids = np.zeros((2, 3), np.int64)
    x = np.array([[2.0, 0.0, 0.0]] + [[1.0] * 3] * 3)
    src = np.array([[0.0, 3.0, 0.0], [5.0, 5.0, 7.0]])
    run = execute(module, {"x": x, "src": src, "ids": ids, "target": np.ones((4, 3))}, double=True)
    np.testing.assert_array_equal(run.gradients["x"][0], [0, 15, 0])
    np.testing.assert_array_equal(run.gradients["src"], [[10, 0, 0], [0, 0, 0]])


def operation(kind: type[TrainOp], *shapes: tuple[int, ...], **params: Any) -> TrainOp:
    """An operation of f64 tensors and one index [2, 1] along axis 0."""
    types = [tensor_of(f64, shape) for shape in shapes]
    result = tensor_of(f64, (2, 3))
    return kind(*Block(arg_types=[*types, tensor_of(i32, (2, 1))]).args, results=[result], axes=(-1, 1), **params)


def test_only_what_is_picked_and_the_indices_are_read() -> None:
    for kind in (IndexOp, IndexPutDsrcOp):
        op = operation(kind, (4, 3))
        assert get_layer(op).work(op).reads == (6, 2)
    net = Net()
    put = net.call("slice_scatter", net.input("x", 4, 3), net.input("src", 2, 3), 0, 1, 3).owner
    assert isinstance(put, TrainOp)
    assert get_layer(put).work(put).reads == (6, 6)
    op = operation(IndexPutOp, (4, 3), (2, 3))
    assert get_layer(op).work(op).reads is None


@pytest.mark.parametrize(
    ("kind", "operands", "reduce", "ops"),
    [(IndexReduceOp, 1, "add", 6), (IndexReduceDxOp, 2, "max", 42), (IndexReduceDsrcOp, 2, "mul", 54)],
)
def test_vector_operations_are_those_of_the_elements_that_are_combined(
    kind: type[TrainOp], operands: int, reduce: str, ops: int
) -> None:
    op = operation(kind, *[(4, 3)] * operands, (2, 3), reduce=reduce)
    assert get_layer(op).work(op).vector_ops == ops


def test_a_part_that_is_whole_is_the_source() -> None:
    net = Net()
    x, src = net.input("x", 1, 3), net.input("src", 3)
    assert net.call("slice_scatter", x, x, 1) is x
    assert isinstance(net.call("select_scatter", x, src, 0, -1).owner, ReshapeOp)
