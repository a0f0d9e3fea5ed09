"""Elementwise functions: values far out, gradients at kinks and ties, precision, work."""

from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import bf16, f16, f32
from xdsl.ir import Attribute

from npuc.compiler.interpreter.execute import execute
from npuc.compiler.interpreter.numbers import Numbers
from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Array
from npuc.compiler.transforms.autodiff import AutodiffPass
from npuc.compiler.transforms.set_precision import SetPrecisionPass
from npuc.dialects.tensors import tensor_of
from npuc.dialects.train.base import TrainOp
from tests.networks import Net, dot_loss

INF, NAN = float("inf"), float("nan")


def value_and_derivative(function: str, x: list[float], **arguments: Any) -> tuple[Array, Array]:
    """f(x) and f'(x) for each of some numbers."""
    net = Net()
    y = net.call(function, net.param("x", len(x)), **arguments)
    module = net.b.finish(loss=dot_loss(net, y), outputs=[("y", y)], optimizer=None)
    AutodiffPass().apply(Context(), module)
    module.verify()
    run = execute(module, {"x": np.array(x), "target": np.ones(len(x))}, double=True)
    return run.outputs["y"], run.gradients["x"]


@pytest.mark.parametrize(
    ("function", "x", "values", "slopes"),
    [
        ("sigmoid", [-1000, 0, 1000], [0, 0.5, 1], [0, 0.25, 0]),
        ("tanh", [-1000, 0, 1000], [-1, 0, 1], [0, 1, 0]),
        ("silu", [-1000, 0, 1000], [0, 0, 1000], [0, 0.5, 1]),
        ("mish", [-1000, 0, 1000], [0, 0, 1000], [0, 0.6, 1]),
        ("softplus", [-1000, -40, 0, 40, 1000], [0, np.exp(-40), np.log(2), 40, 1000], [0, np.exp(-40), 0.5, 1, 1]),
        ("elu", [-1000, 0, 1000], [-1, 0, 1000], [0, 1, 1]),
        ("erf", [-1000, 0, 1000], [-1, 0, 1], [0, 2 / np.sqrt(np.pi), 0]),
        ("relu", [-1, 0, 1, NAN], [0, 0, 1, NAN], [0, 0, 1, 1]),
        ("relu6", [-1, 0, 3, 6, 7, NAN], [0, 0, 3, 6, 6, NAN], [0, 0, 1, 0, 0, 1]),
        ("clip", [-1, 0, 3, 6, 7], [0, 0, 3, 6, 6], [0, 1, 1, 1, 0]),
        ("leaky_relu", [-4, 0, 4], [-1, 0, 4], [0.25, 0.25, 1]),
        ("hard_sigmoid", [-4, -3, 0, 3, 4], [0, 0, 0.5, 1, 1], [0, 0, 1 / 6, 0, 0]),
        ("hard_swish", [-4, -3, 0, 3, 4], [0, 0, 0, 3, 4], [0, 0, 0.5, 1, 1]),
        ("abs", [-2, 0, 2], [2, 0, 2], [-1, 0, 1]),
        ("log", [-1, 0, 1], [NAN, -INF, 0], [-1, INF, 1]),
        ("sqrt", [-1, 0, 4], [NAN, 0, 2], [NAN, INF, 0.25]),
        ("rsqrt", [0, 4], [INF, 0.5], [-INF, -1 / 16]),
        ("exp", [-1000, 0, 1000], [0, 1, INF], [0, 1, INF]),
        ("floor", [-1.5, -1, 0.5, NAN], [-2, -1, 0, NAN], [0, 0, 0, 0]),
        ("ceil", [-1.5, -1, 0.5, INF], [-1, -1, 1, INF], [0, 0, 0, 0]),
        ("round", [-1.5, -0.5, 0.5, 1.5, 2.5], [-2, 0, 0, 2, 2], [0, 0, 0, 0, 0]),
        ("trunc", [-1.5, -0.5, 0.5, 1.5], [-1, 0, 0, 1], [0, 0, 0, 0]),
        ("sign", [-3, 0, 0.25, NAN], [-1, 0, 1, NAN], [0, 0, 0, 0]),
        ("asin", [-1, 0, 2], [-np.pi / 2, 0, NAN], [INF, 1, NAN]),
        ("acosh", [0.5, 1, 2], [NAN, 0, np.arccosh(2)], [NAN, INF, 3**-0.5]),
        ("log1p", [-1, 1e-20], [-INF, 1e-20], [INF, 1]),
        ("expm1", [-1000, 1e-20], [-1, 1e-20], [0, 1]),
    ],
)
def test_far_out_and_at_kinks(function: str, x: list[float], values: list[float], slopes: list[float]) -> None:
    arguments = {"negative_slope": 0.25} if function == "leaky_relu" else {}
    value, slope = value_and_derivative(function, x, **arguments)
    np.testing.assert_allclose(value, values, rtol=1e-12)
    np.testing.assert_allclose(slope, slopes, rtol=1e-12)


@pytest.mark.parametrize("element", [bf16, f16, f32], ids=str)
@pytest.mark.parametrize("bound", [0.1, 0.33, 0.7])
def test_bounds_of_clip_are_numbers_of_its_type(element: Attribute, bound: float) -> None:
    """A value at a bound is not beyond it, whichever way the type rounds."""
    at = Numbers().hold(bound, element)
    net = Net()
    module = net.finish(dot_loss(net, net.call("clip", net.param("x", 2), low=-bound, high=bound)))
    SetPrecisionPass(str(element)).apply(Context(), module)
    AutodiffPass().apply(Context(), module)
    run = execute(module, {"x": np.array([-at, at]), "target": np.ones(2)})
    assert run.gradients["x"].tolist() == [1.0, 1.0]


def test_elu_left_of_its_kink_has_the_slope_alpha() -> None:
    _, slope = value_and_derivative("elu", [0.0, 1e-9], alpha=0.5)
    assert slope.tolist() == [0.5, 1.0]


@pytest.mark.parametrize(
    ("exponent", "values", "slopes"),
    [
        (0, [1, 1, 1], [0, 0, 0]),
        (1, [-2, 0, 3], [1, 1, 1]),
        (2, [4, 0, 9], [-4, 0, 6]),
        (-1, [-0.5, INF, 1 / 3], [-0.25, -INF, -1 / 9]),
        (0.5, [NAN, 0, 3**0.5], [NAN, INF, 0.5 * 3**-0.5]),
    ],
)
def test_powers_of_numbers_of_any_sign(exponent: float, values: list[float], slopes: list[float]) -> None:
    value, slope = value_and_derivative("pow", [-2, 0, 3], exponent=exponent)
    np.testing.assert_allclose(value, values, rtol=1e-15)
    np.testing.assert_allclose(slope, slopes, rtol=1e-15)


def gradients(function: str, x: list[float], y: list[float]) -> tuple[list[float], list[float]]:
    """The derivatives of f(x, y) with respect to each."""
    net = Net()
    result = net.call(function, net.param("x", len(x)), net.param("y", len(y)))
    module = net.finish(dot_loss(net, result))
    AutodiffPass().apply(Context(), module)
    run = execute(module, {"x": np.array(x), "y": np.array(y), "target": np.ones(len(x))}, double=True)
    return run.gradients["x"].tolist(), run.gradients["y"].tolist()


def test_equal_operands_of_max_and_min_share_the_gradient() -> None:
    assert gradients("max", [1, 2, 3], [2, 2, 2]) == ([0, 0.5, 1], [1, 0.5, 0])
    assert gradients("min", [1, 2, 3], [2, 2, 2]) == ([1, 0.5, 0], [0, 0.5, 1])
    assert gradients("max", [1, 2, 3], [2]) == ([0, 0.5, 1], [1.5])


def test_powers_of_zero_have_the_gradients_of_pytorch() -> None:
    assert gradients("pow", [0, 0, 2], [2, 0, 0]) == ([0, 0, 0], [0, 0, np.log(2)])


def test_remainders_have_the_sign_of_the_divisor_or_of_the_dividend() -> None:
    for function, values in (("remainder", [1.0, 2.0, -2.0, -1.0]), ("fmod", [1.0, -1.0, 1.0, -1.0])):
        net = Net()
        y = net.call(function, net.param("x", 4), net.param("y", 4))
        module = net.b.finish(loss=None, outputs=[("y", y)], optimizer=None)
        data = {"x": np.array([4.0, -4.0, 4.0, -4.0]), "y": np.array([3.0, 3.0, -3.0, -3.0])}
        assert execute(module, data, double=True).outputs["y"].tolist() == values
    assert gradients("remainder", [4, -4], [3, 3]) == ([1, 1], [-1, 2])
    assert gradients("fmod", [4, -4], [3, 3]) == ([1, 1], [-1, 1])


def test_log_softmax_keeps_small_probabilities() -> None:
    value, slope = value_and_derivative("log_softmax", [-1000.0, 0.0, 1000.0])
    assert value.tolist() == [-2000, -1000, 0]
    assert slope.tolist() == [1, 1, -2]


@pytest.mark.parametrize("function", ["sigmoid", "silu", "softplus", "mish", "tanh", "elu", "gelu", "log_softmax"])
def test_single_precision_overflows_nowhere(function: str) -> None:
    net = Net()
    x = net.b.input("x", tensor_of(f32, (4,)))
    y = net.call(function, x)
    module = net.b.finish(loss=None, outputs=[("y", y)], optimizer=None)
    output = execute(module, {"x": np.array([-1e4, -100.0, 100.0, 1e4])}).outputs["y"]
    assert output.dtype == np.float32
    assert np.isfinite(output).all()


# ---- work


@pytest.mark.parametrize(
    "function", ["sigmoid", "silu", "hard_swish", "exp", "sqrt", "pow", "max", "prelu", "where", "atanh"]
)
def test_work_is_one_vector_operation_an_element_in_each_direction(function: str) -> None:
    net = Net()
    x = net.param("x", 3, 4)
    rest: dict[str, list[Any]] = {"pow": [3], "max": [0.5]}
    operands = [net.call("less", x, 1), x, 0.5] if function == "where" else [x, *rest.get(function, [])]
    y = net.call(function, *operands, layer="f")
    module = net.finish(dot_loss(net, y))
    AutodiffPass().apply(Context(), module)
    work = {"forward": 0, "dw": 0}
    for op in module.walk():
        if isinstance(op, TrainOp) and str(op.attributes.get("layer")) == '"f"':
            role = str(op.attributes.get("role", "")).strip('"') or "forward"
            work[role] += get_layer(op).work(op).vector_ops
    assert work == {"forward": 12, "dw": 24 if function == "prelu" else 12}
