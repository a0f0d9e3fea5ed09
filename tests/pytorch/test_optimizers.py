"""Every optimizer against PyTorch's: losses and weights of three steps, whatever its options."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context

from npuc.compiler.core.builder import Optimizer
from npuc.compiler.interpreter.execute import Run, execute
from npuc.compiler.layers.base import Array
from npuc.compiler.layers.optimizer import OPTIMIZERS, options_problem
from npuc.compiler.transforms.autodiff import AutodiffPass
from tests.networks import Net

torch.set_num_threads(1)
STEPS = 3
TORCH: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "sgd": torch.optim.SGD,
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "nadam": torch.optim.NAdam,
    "adamax": torch.optim.Adamax,
    "rmsprop": torch.optim.RMSprop,
    "adagrad": torch.optim.Adagrad,
    "adadelta": torch.optim.Adadelta,
}
WITHOUT_COUNTERPART = {"lamb", "lion", "dropback"}
VALUES: dict[str, list[float]] = {
    "lr": [0.1, 0.003, 1.0],
    "momentum": [0.0, 0.9, 0.5],
    "dampening": [0.0, 0.3],
    "weight_decay": [0.0, 0.01, 0.5],
    "beta1": [0.9, 0.5, 0.0],
    "beta2": [0.999, 0.7, 0.0],
    "eps": [1e-8, 1e-3],
    "alpha": [0.99, 0.4],
    "rho": [0.9, 0.3],
    "lr_decay": [0.0, 0.25],
    "initial_accumulator_value": [0.0, 0.5],
    "momentum_decay": [4e-3, 0.5],
}


@contextmanager
def scalars_in_double() -> Generator[None]:
    """PyTorch keeps some scalars of its optimizers in the default type."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def draw_options(data: st.DataObject, kind: str) -> dict[str, Any]:
    """Some of an optimizer's options: the others show whether the defaults agree."""
    rule = OPTIMIZERS[kind]
    options: dict[str, Any] = {}
    for name, default in rule.defaults.items():
        if default is None or data.draw(st.booleans()):
            options[name] = data.draw(st.booleans() if rule.takes_flag(name) else st.sampled_from(VALUES[name]))
    if options_problem(options) is not None:
        options["nesterov"] = False
    return options


def ours(kind: str, options: Mapping[str, Any], values: Mapping[str, Array]) -> Run:
    """Three steps of a linear layer under a squared error; `fixed` has no gradient."""
    net = Net()
    w, bias, fixed = (net.param(name, *values[name].shape) for name in ("w", "bias", "fixed"))
    y = net.call("linear", net.input("x", *values["x"].shape), weight=w, bias=False)
    loss = net.call("mse", net.call("add", y, bias), net.input("t", *values["t"].shape))
    outputs = [("untrained", net.call("relu", fixed))]
    module = net.b.finish(loss=loss, outputs=outputs, optimizer=Optimizer(kind, options))
    AutodiffPass().apply(Context(), module)
    module.verify()
    return execute(module, values, steps=STEPS, double=True)


def theirs(kind: str, options: Mapping[str, Any], values: Mapping[str, Array]) -> tuple[list[float], dict[str, Array]]:
    """The same by PyTorch."""
    tensors = {name: torch.tensor(value) for name, value in values.items()}
    params = {name: tensors[name].requires_grad_() for name in ("w", "bias", "fixed")}
    betas = (options.get("beta1", 0.9), options.get("beta2", 0.999))
    given: dict[str, Any] = {name: value for name, value in options.items() if not name.startswith("beta")}
    if "beta1" in OPTIMIZERS[kind].defaults:
        given["betas"] = betas
    optimizer, losses = TORCH[kind](params.values(), **given), list[float]()
    for _ in range(STEPS):
        optimizer.zero_grad()
        y = tensors["x"] @ params["w"] + params["bias"]
        loss = torch.nn.functional.mse_loss(y, tensors["t"])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, {name: param.detach().numpy() for name, param in params.items()}


def test_every_optimizer_has_a_counterpart() -> None:
    assert set(OPTIMIZERS) - WITHOUT_COUNTERPART == set(TORCH)
    rules = [OPTIMIZERS[name] for name in TORCH]
    numbers = {name for rule in rules for name in rule.defaults if not rule.takes_flag(name)}
    assert numbers == set(VALUES)


@pytest.mark.parametrize("kind", TORCH)
@settings(max_examples=40)
@given(data=st.data())
def test_three_steps_equal_those_of_pytorch(kind: str, data: st.DataObject) -> None:
    options = draw_options(data, kind)
    random = np.random.default_rng(data.draw(st.integers(0, 1000)))
    shapes = {"x": (5, 3), "t": (5, 2), "w": (3, 2), "bias": (2,), "fixed": (4,)}
    values = {name: random.standard_normal(shape) for name, shape in shapes.items()}
    run = ours(kind, options, values)
    with scalars_in_double():
        losses, weights = theirs(kind, options, values)
    np.testing.assert_allclose(run.losses, losses, rtol=1e-12)
    for name in ("w", "bias"):
        np.testing.assert_allclose(run.updated[name], weights[name], rtol=1e-12, atol=1e-13)
    assert not any(name.startswith("fixed") for name in run.updated)
    np.testing.assert_array_equal(weights["fixed"], values["fixed"])
