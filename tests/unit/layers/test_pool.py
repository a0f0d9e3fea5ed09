"""Pooling: exact examples, ties, integers, and what is read."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import f64, i32
from xdsl.ir import Attribute

from npuc.compiler.interpreter.execute import execute
from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Work
from npuc.compiler.transforms.autodiff import AutodiffPass
from npuc.dialects.tensors import shape_of, tensor_of
from npuc.dialects.train.base import TrainOp
from tests.networks import Net, dot_loss

INF, NAN = float("inf"), float("nan")


def row(function: str, values: list[float], element: Attribute = f64, **arguments: Any) -> list[float]:
    """A function of one channel of a length."""
    net = Net(training=False)
    y = net.call(function, net.b.input("x", tensor_of(element, (1, 1, len(values)))), **arguments)
    module = net.b.finish(loss=None, outputs=[("y", y)], optimizer=None)
    module.verify()
    return execute(module, {"x": np.array([[values]])}, double=True).outputs["y"].ravel().tolist()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"kernel": 2}, [1.0, 5.0]),
        ({"kernel": 2, "ceil_mode": True}, [1.0, 5.0, 8.0]),
        ({"kernel": 2, "padding": 1}, [0.0, 3.0, 7.0]),
        ({"kernel": 2, "padding": 1, "count_include_pad": False}, [0.0, 3.0, 7.0]),
        ({"kernel": 2, "padding": [1, 0], "count_include_pad": False}, [0.0, 3.0, 7.0]),
        ({"kernel": 3, "padding": 1, "stride": 4}, [2 / 3, 14 / 3]),
        ({"kernel": 3, "padding": 1, "stride": 4, "count_include_pad": False}, [1.0, 7.0]),
        ({"kernel": 4, "stride": 3, "padding": 1, "ceil_mode": True}, [1.5, 18 / 4]),
        ({"kernel": 4, "stride": 4, "padding": 1, "ceil_mode": True}, [1.5, 14 / 3]),
        ({"kernel": 4, "stride": 4, "padding": 1, "ceil_mode": True, "count_include_pad": False}, [2.0, 7.0]),
    ],
)
def test_means(arguments: dict[str, Any], expected: list[float]) -> None:
    """A last window that is not full counts its elements and the padding, nothing beyond it."""
    assert row("avg_pool1d", [0.0, 2.0, 4.0, 6.0, 8.0], **arguments) == expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"kernel": 2}, [-1, -2]),
        ({"kernel": 2, "ceil_mode": True}, [-1, -2, -5]),
        ({"kernel": 3, "padding": 1, "stride": 2}, [-1, -1, -4]),
        ({"kernel": 2, "dilation": 2, "stride": 1}, [-2, -1, -2]),
        ({"kernel": 2, "dilation": 2, "stride": 1, "padding": 1}, [-1, -2, -1, -2, -4]),
        ({"kernel": 2, "stride": 1, "padding": "same"}, [-1, -1, -2, -4, -5]),
    ],
)
@pytest.mark.parametrize("element", [f64, i32])
def test_the_padding_never_wins(arguments: dict[str, Any], expected: list[int], element: Attribute) -> None:
    assert row("max_pool1d", [-3, -1, -2, -4, -5], element, **arguments) == expected


def test_adaptive_windows_overlap_by_at_most_one() -> None:
    """5 positions in 3 windows: 0 to 2, 1 to 4, 3 to 5."""
    assert row("adaptive_avg_pool", [1.0, 2.0, 6.0, 4.0, 9.0], size=3) == [1.5, 4.0, 6.5]
    assert row("adaptive_max_pool", [1.0, 2.0, 6.0, 4.0, 9.0], size=3) == [2.0, 6.0, 9.0]
    assert row("adaptive_max_pool", [1.0, 2.0], size=5) == [1.0, 1.0, 2.0, 2.0, 2.0]


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        ("max_pool1d", {"kernel": 2}, [5, 0, 7, 0, 0]),
        ("max_pool1d", {"kernel": 2, "ceil_mode": True}, [5, 0, 7, 0, 9]),
        ("max_pool1d", {"kernel": 2, "dilation": 2, "stride": 1}, [5, 7, 9, 0, 0]),
        ("adaptive_max_pool", {"size": 2}, [5, 0, 7, 0, 0]),
    ],
)
def test_the_first_of_equal_values_takes_the_gradient(
    function: str, arguments: dict[str, Any], expected: list[int]
) -> None:
    assert gradient_of(function, [1.0] * 5, **arguments) == expected


def gradient_of(function: str, x: list[float], **arguments: Any) -> list[float]:
    """Of one channel, where the outputs have the gradients 5, 7 and 9."""
    net = Net()
    y = net.call(function, net.param("x", 1, 1, len(x)), **arguments)
    module = net.finish(dot_loss(net, y))
    AutodiffPass().apply(Context(), module)
    target = np.array([[[5.0, 7.0, 9.0][: shape_of(y)[2]]]])
    return execute(module, {"x": np.array([[x]]), "target": target}, double=True).gradients["x"].ravel().tolist()


@pytest.mark.parametrize(
    ("arguments", "x", "expected"),
    [
        ({"kernel": 2, "padding": 1}, [-INF] * 4, [5, 7, 0, 9]),
        ({"kernel": 2, "padding": 1}, [-INF, -INF, 0, -INF], [5, 0, 7, 9]),
        ({"kernel": 3, "padding": 1, "dilation": 2, "stride": 2}, [-INF] * 6, [0, 12, 0, 0, 0, 0]),
        ({"kernel": 3, "stride": 2, "ceil_mode": True}, [-INF] * 6, [5, 0, 7, 0, 9, 0]),
        ({"kernel": 3}, [1, NAN, 2, NAN, 4, NAN], [0, 5, 0, 0, 0, 7]),
        ({"kernel": 3}, [-INF, -INF, -INF, NAN, INF, NAN], [5, 0, 0, 0, 0, 7]),
    ],
)
def test_infinities_and_nan_take_gradients_and_padding_takes_none(
    arguments: dict[str, Any], x: list[float], expected: list[int]
) -> None:
    """The last of several NaN takes it, as in PyTorch."""
    assert gradient_of("max_pool1d", x, **arguments) == expected


def test_gradients_of_means_add_up_where_windows_overlap() -> None:
    net = Net()
    module = net.finish(dot_loss(net, net.call("adaptive_avg_pool", net.param("x", 1, 1, 5), size=3)))
    AutodiffPass().apply(Context(), module)
    run = execute(module, {"x": np.zeros((1, 1, 5)), "target": np.array([[[2.0, 3.0, 4.0]]])}, double=True)
    assert run.gradients["x"].ravel().tolist() == [1.0, 2.0, 1.0, 3.0, 2.0]


def work_of(function: str, *shape: int, **arguments: Any) -> Work:
    """The work of the only operation that is not a view."""
    net = Net()
    y = net.call(function, net.input("x", *shape), **arguments)
    op = y.owner
    assert isinstance(op, TrainOp)
    return get_layer(op).work(op)


@pytest.mark.parametrize(
    ("arguments", "reads"),
    [
        ({"kernel": 2}, 16),
        ({"kernel": 2, "ceil_mode": True}, None),
        ({"kernel": 3, "stride": 2}, None),
        ({"kernel": 1, "stride": 2}, 9),
        ({"kernel": [1, 2], "stride": [3, 3]}, 8),
        ({"kernel": 2, "stride": 3, "padding": 1}, 9),
        ({"kernel": 2, "stride": 2, "padding": [1, 1, 0, 0]}, 20),
    ],
)
@pytest.mark.parametrize("function", ["max_pool", "avg_pool"])
def test_what_windows_read_of_an_image(function: str, arguments: dict[str, Any], reads: int | None) -> None:
    """Of 25 pixels; None: all."""
    assert work_of(function, 1, 1, 5, 5, **arguments).reads == (None if reads is None else (reads,))


@pytest.mark.parametrize(("stride", "dilation", "padding"), [*product((1, 2, 3, 4), (1, 2, 3, 4), (0, 1))])
def test_what_dilated_windows_read(stride: int, dilation: int, padding: int) -> None:
    """Of 7 x 7 pixels in windows of 2 x 2, their elements `dilation` apart."""
    work = work_of("max_pool", 1, 1, 7, 7, kernel=2, stride=stride, dilation=dilation, padding=padding)
    starts = range(-padding, 7 + padding - dilation, stride)
    taps = {at + step for at in starts for step in (0, dilation)} & set(range(7))
    assert work.reads == (None if len(taps) == 7 else (len(taps) ** 2,))


def test_work_of_windows() -> None:
    assert work_of("avg_pool", 2, 3, 6, 6, kernel=[3, 2], stride=1).vector_ops == 2 * 3 * (4 * 5) * (3 * 2)
    assert work_of("adaptive_avg_pool", 2, 3, 5, 5, size=[3, 1]).vector_ops == 2 * 3 * (2 + 3 + 2) * 5
