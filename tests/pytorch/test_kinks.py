"""Elementwise functions against PyTorch where its derivative is a choice: at kinks, bounds and ties, and far out."""

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from xdsl.context import Context

from npuc.compiler.interpreter.execute import execute
from npuc.compiler.layers.base import Array
from npuc.compiler.transforms.autodiff import AutodiffPass
from tests.calls import Call
from tests.calls.values import build
from tests.pytorch.counterparts import judge

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
