"""Elementwise functions against PyTorch where its derivative is a choice: at kinks, bounds and ties, and far out."""

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context

from npuc.compiler.interpreter.execute import execute
from npuc.compiler.layers.base import Array
from npuc.compiler.transforms.autodiff import AutodiffPass
from npuc.compiler.transforms.set_precision import SetPrecisionPass
from tests.calls import COUNTED, Call, all_calls
from tests.calls.close import assert_close
from tests.calls.values import build, random_values
from tests.networks import Net, dot_loss
from tests.pytorch.counterparts import RANDOM, judge

torch.set_num_threads(1)

POINTS = [-800.0, -6.0, -3.0, -1.0, -0.0, 0.0, 1.0, 3.0, 6.0, 800.0]
POOLING = {"kernel": 2, "stride": None, "padding": 0, "dilation": 1, "ceil_mode": False}
CALLS = {
    "relu": {},
    "relu6": {},
    "clip": {"low": -1.0, "high": 3.0},
    "leaky_relu": {"negative_slope": 0.25},
    "prelu": {},
    "hard_swish": {},
    "abs": {},
    "elu": {"alpha": 0.5},
    "sigmoid": {},
    "tanh": {},
    "silu": {},
    "mish": {},
    "softplus": {},
    "gelu": {},
    "exp": {},
    "log": {},
    "sqrt": {},
    "rsqrt": {},
    "log_softmax": {},
    "pow": {"exponent": 3},
}
FEW = np.array([-6.0, -3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0, 6.0])
"""Values that are at kinks of most functions, and so few that there are ties of maxima everywhere."""
PIECES: dict[str, tuple[Any, list[float]]] = {
    "relu": (F.relu, [0.0]),
    "relu6": (F.relu6, [0.0, 6.0]),
    "clip": (lambda x: torch.clamp(x, 0.0, 6.0), [0.0, 6.0]),
    "leaky_relu": (F.leaky_relu, [0.0]),
    "hard_sigmoid": (F.hardsigmoid, [-3.0, 3.0]),
    "hard_swish": (F.hardswish, [-3.0, 3.0]),
    "elu": (F.elu, [0.0]),
    "abs": (torch.abs, [0.0]),
}
"""PyTorch's functions of pieces, and where they meet."""


def _check(call: Call, values: dict[str, Array]) -> None:
    """Compare results and gradients, infinities and NaN included."""
    net = build(call)
    judged = judge(call, net, values)
    AutodiffPass().apply(Context(), net.module)
    run = execute(net.module, values, double=True)
    np.testing.assert_allclose(run.outputs["out0"], judged.outputs[0], rtol=1e-12)
    for name, gradient in run.gradients.items():
        np.testing.assert_allclose(gradient, judged.gradients[name], rtol=1e-11, atol=1e-300, err_msg=name)


@pytest.mark.parametrize("function", CALLS)
def test_a_function_of_one_tensor(function: str) -> None:
    values = {"x": np.array([POINTS]), "expected0": np.full((1, len(POINTS)), 0.5)}
    if function == "prelu":
        values["y.weight"] = np.linspace(-1, 1, len(POINTS))
    _check(Call(function, {"x": (1, len(POINTS))}, CALLS[function]), values)


@pytest.mark.parametrize("function", ["relu", "relu6", "clip", "leaky_relu", "hard_swish"])
def test_nan(function: str) -> None:
    values = {"x": np.array([[np.nan, 1.0]]), "expected0": np.zeros((1, 2))}
    _check(Call(function, {"x": (1, 2)}, CALLS[function]), values)


@pytest.mark.parametrize("value", [-np.inf, np.inf, np.nan])
@pytest.mark.parametrize("arguments", [{"stride": 2, "padding": 1}, {"ceil_mode": True}, {"dilation": 2, "padding": 1}])
def test_pooling_of_infinities_and_nan(arguments: dict[str, Any], value: float) -> None:
    x = np.full((2, 1, 5, 5), value)
    x[1, 0, ::2, 1] = 1.0
    arguments = {"kernel": 2, **arguments}
    y = F.max_pool2d(torch.tensor(x), *(arguments.get(n, d) for n, d in POOLING.items()))
    _check(Call("max_pool", {"x": x.shape}, arguments), {"x": x, "expected0": np.zeros(y.shape)})


@pytest.mark.parametrize("offset", [1e8, 1e16, -1e300])
@pytest.mark.parametrize("label_smoothing", [0.0, 0.1])
def test_cross_entropy_of_logits_far_out(offset: float, label_smoothing: float) -> None:
    values = {"logits": offset + np.array([[0.0, 0.0, 4.0], [0.0, 0.0, 0.0]]), "labels": np.array([0, 2])}
    call = Call("cross_entropy", {"logits": (2, 3)}, {"label_smoothing": label_smoothing}, {"labels": ((2,), 3)})
    _check(call, values)


@pytest.mark.parametrize("function", ["max", "min", "pow"])
def test_a_function_of_two_tensors(function: str) -> None:
    points = [p for p in POINTS if abs(p) < 800]
    pairs = np.array(list(product(points, points))).T
    other = "exponent" if function == "pow" else "y"
    values = {"x": pairs[0], other: pairs[1], "expected0": np.full(pairs.shape[1], 0.5)}
    _check(Call(function, {"x": pairs[0].shape, other: pairs[1].shape}), values)


@pytest.mark.parametrize(
    "name", [name for name in all_calls() if name.split()[0] not in RANDOM | COUNTED | {"roi_align"}]
)
@settings(max_examples=10)
@given(data=st.data())
def test_every_function_at_kinks_and_ties(name: str, data: st.DataObject) -> None:
    call = all_calls()[name](data)
    net = build(call)
    random = np.random.default_rng(data.draw(st.integers(0, 1000)))
    values = {n: _at_kinks(call, n, v, random) for n, v in random_values(call, net, 0).items()}
    judged = judge(call, net, values)
    if net.has_loss:
        AutodiffPass().apply(Context(), net.module)
    run = execute(net.module, values, double=True)
    for number, theirs in enumerate(judged.outputs):
        assert_close(np.asarray(run.outputs[f"out{number}"]), theirs, f"result {number}")
    for argument, gradient in run.gradients.items():
        assert_close(gradient, judged.gradients[argument], f"gradient of {argument}")


def _at_kinks(call: Call, name: str, value: Array, random: np.random.Generator) -> Array:
    """A few of the values within the range of an argument; indices as they are."""
    operand = next((o for o in call.ranges if name == o or name.startswith(f"{o}_")), "")
    low, high = call.ranges.get(operand, (-6.0, 6.0))
    points = FEW[(low <= FEW) & (high >= FEW)]
    return random.choice(points, value.shape) if value.dtype.kind == "f" and len(points) else value


def _neighbours(point: float, element: str) -> list[float]:
    """A number of some bits, and the ones below and above it; those of 0 are small but normal."""
    step = 2.0**-100 if point == 0 else 2.0 ** (np.floor(np.log2(abs(point))) - (7 if element == "bf16" else 23))
    return [point - step, point, point + step]


@pytest.mark.parametrize("element", ["f32", "bf16"])
@pytest.mark.parametrize("name", PIECES)
def test_derivatives_at_and_beside_a_kink(name: str, element: str) -> None:
    function, kinks = PIECES[name]
    # Often enough for PyTorch's kernels to take several at once, with some left over.
    points = np.array([x for kink in kinks for x in _neighbours(kink, element)] * 11)
    net = Net()
    module = net.finish(dot_loss(net, net.call(name, net.param("x", len(points)))))
    SetPrecisionPass(element).apply(Context(), module)
    AutodiffPass().apply(Context(), module)
    ours = execute(module, {"x": points, "target": np.ones(len(points))}).gradients["x"]
    x = torch.tensor(points, dtype={"f32": torch.float32, "bf16": torch.bfloat16}[element], requires_grad=True)
    assert x.detach().double().tolist() == points.tolist()
    function(x).backward(torch.ones_like(x))
    assert x.grad is not None
    theirs = x.grad.double().numpy()
    np.testing.assert_allclose(ours, theirs, rtol=2.0**-8 if element == "bf16" else 2.0**-22)
    at = np.isin(points, kinks)
    assert at.sum() == 11 * len(kinks)
    np.testing.assert_array_equal(ours[at], theirs[at])
