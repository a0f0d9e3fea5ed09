"""Reductions: ties, zeros, integers, work."""

from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import TensorType, i32

from npuc.compiler.driver.watch.cost_trace import work_of
from npuc.compiler.interpreter.execute import execute
from npuc.compiler.layers.base import Array
from npuc.compiler.transforms.autodiff import AutodiffPass
from tests.networks import Net, dot_loss

TIES = np.array([[2.0, 2.0, 1.0], [1.0, 2.0, 2.0]])


def gradient(function: str, x: Array, dy: Array, **arguments: Any) -> Array:
    """The gradient of x for one of the result."""
    net = Net()
    y = net.call(function, net.param("x", *x.shape), **arguments)
    module = net.finish(dot_loss(net, y))
    AutodiffPass().apply(Context(), module)
    return execute(module, {"x": x, "target": dy}, double=True).gradients["x"]


@pytest.mark.parametrize(("function", "sign"), [("amax", 1.0), ("amin", -1.0)])
def test_equal_extremes_share_the_gradient(function: str, sign: float) -> None:
    rows = gradient(function, sign * TIES, np.array([4.0, 6.0]), axis=1)
    np.testing.assert_array_equal(rows, [[2, 2, 0], [0, 3, 3]])
    np.testing.assert_array_equal(gradient(function, sign * TIES, np.array(8.0)), [[2, 2, 0], [0, 2, 2]])


def test_the_gradient_of_a_product_needs_no_division() -> None:
    x = np.array([[2.0, 3.0, 4.0], [0.0, 3.0, 5.0], [0.0, 0.0, 7.0]])
    rows = gradient("prod", x, np.array([1.0, 2.0, 3.0]), axis=1)
    np.testing.assert_array_equal(rows, [[12, 8, 6], [30, 0, 0], [0, 0, 0]])


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        ("sum", {}, 10),
        ("sum", {"axis": 0}, [4, 0, 6]),
        ("prod", {"axis": -1, "keepdim": True}, [[4], [-24]]),
        ("amax", {"axis": [0, 1]}, 4),
        ("amin", {"axis": 1}, [1, -2]),
        ("argmax", {"axis": 1}, [1, 2]),
        ("argmin", {}, 4),
        ("argmax", {"keepdim": True}, [[5]]),
        ("cumsum", {"axis": 1}, [[1, 3, 5], [3, 1, 5]]),
    ],
)
def test_integers_stay_integers(function: str, arguments: dict[str, Any], expected: Any) -> None:
    net = Net()
    y = net.call(function, net.b.input("x", TensorType(i32, (2, 3))), **arguments)
    module = net.b.finish(loss=None, outputs=[("y", y)], optimizer=None)
    values = {"x": np.array([[1, 2, 2], [3, -2, 4]])}
    y_value = np.asarray(execute(module, values).outputs["y"])
    assert y_value.dtype == np.int32
    np.testing.assert_array_equal(y_value, expected)


@pytest.mark.parametrize(
    ("function", "forward", "backward"),
    [("sum", 1, 0), ("amax", 1, 2), ("prod", 1, 4), ("var", 4, 3)],
)
def test_the_work_is_a_number_of_operations_an_element(function: str, forward: int, backward: int) -> None:
    net = Net()
    y = net.call(function, net.param("x", 5, 6))
    module = net.finish(net.call("mul", y, 1.0))
    assert work_of(module)["vector operations"] == 30 * forward
    AutodiffPass().apply(Context(), module)
    assert work_of(module)["vector operations"] == 30 * (forward + backward)


def test_a_sum_over_nothing_is_no_operation() -> None:
    net = Net()
    x = net.input("x", 1, 3, 1)
    assert net.call("sum", x, [0, 2], keepdim=True) is x
    assert net.call("mean", x, 2, keepdim=True) is x
