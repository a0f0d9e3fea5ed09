"""Blocks, branches and loops of exported programs compute what PyTorch computes."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from npuc.compiler import describe_source, run_source
from npuc.compiler.core.errors import SourceError

X = torch.sin(torch.arange(24.0)).reshape(6, 4).double()


class _Model(nn.Module):
    """Two linear layers, and what a function makes of them."""

    def __init__(self, function: Callable[[Any, Any], Any]):
        super().__init__()
        torch.manual_seed(0)
        self.l, self.m = nn.Linear(4, 4).double(), nn.Linear(4, 4).double()
        self.register_buffer("flag", torch.tensor(False))
        self.register_buffer("mean", torch.zeros(4).double())
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(self, x)


def _file(model: nn.Module, x: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    torch.export.save(torch.export.export(model, (x,), **options), file)
    return file.getvalue()


def _while(s: Any, x: Any) -> Any:
    def body(i: Any, v: Any) -> Any:
        return i + 1, s.l(v).sin()

    return torch._higher_order_ops.while_loop(lambda i, v: i < 3, body, (torch.tensor(0), x))[1]


def _scan(s: Any, x: Any) -> Any:
    def combine(carry: Any, v: Any) -> Any:
        new = torch.tanh(s.l(carry) + v)
        return new, new * 2

    last, rows = torch._higher_order_ops.scan(combine, torch.zeros(4).double(), x, reverse=True)
    return rows + last


def _no_grad(s: Any, x: Any) -> Any:
    y = s.l(x)
    with torch.no_grad():
        z = s.m(y).sigmoid()
        s.mean.mul_(0.5).add_(y.mean(0))
    return y * z + s.mean


MODELS: dict[str, Callable[[Any, Any], Any]] = {
    "no_grad": _no_grad,
    "cond_of_a_size": lambda s, x: torch.cond(x.shape[0] > 3, s.l, s.m, (x,)),
    "cond_of_a_buffer": lambda s, x: torch.cond(s.flag, s.l, s.m, (x,)),
    "cond_in_cond": lambda s, x: torch.cond(s.flag, s.l, lambda v: torch.cond(s.flag, s.m, s.l, (v,)), (x,)),
    "while_loop": _while,
    "scan": _scan,
    "map": lambda s, x: torch._higher_order_ops.map(lambda v: s.l(v).sin(), x),
}

WRITTEN_OUT = {"while_loop": lambda s, x: s.l(s.l(s.l(x).sin()).sin()).sin()}
"""Loops of whose parameters PyTorch's own operator gives another gradient than of the same calls one after another."""


@pytest.mark.parametrize("name", list(MODELS))
def test_a_model_computes_what_pytorch_computes(name: str) -> None:
    example, model = _Model(MODELS[name]), _Model(WRITTEN_OUT.get(name, MODELS[name]))
    free = ({0: torch.export.Dim("rows", min=2, max=64)},) if name == "cond_of_a_size" else None
    data = _file(example, X, dynamic_shapes=free)
    run = run_source(data, "pt2", inputs={"x": X.numpy(), "y": np.zeros((6, 4))}, dtype="float64", loss="mse")
    loss = model(X).square().mean()
    loss.backward()
    np.testing.assert_allclose(run.losses[0], loss.detach().numpy(), rtol=1e-9)
    grads = {key: one.grad for key, one in model.named_parameters() if one.grad is not None}
    expected = {key: grad.numpy() for key, grad in grads.items() if grad.any()}  # those of other branches are zeros
    for key, gradient in expected.items():
        np.testing.assert_allclose(run.gradients[key], gradient, rtol=1e-9, atol=1e-12)
    assert set(run.gradients) == set(expected)


def test_a_size_chooses_the_branch() -> None:
    model = _Model(MODELS["cond_of_a_size"])
    data = _file(model, X, dynamic_shapes=({0: torch.export.Dim("rows", min=2, max=64)},))
    for rows, layer in ((3, "m"), (4, "l")):
        found = describe_source(data, "pt2", defines={"x.0": rows}, loss="mse")
        assert set(found["params"]) == {f"{layer}.weight", f"{layer}.bias"}


def _autocast(s: Any, x: Any) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = s.l(x)
        with torch.autocast("cpu", enabled=False):
            z = s.m(y.float())
        w = torch.softmax(y, -1) @ s.m.weight
    return z + y.float() + w.float()


def test_autocast_casts_where_pytorch_does() -> None:
    model = _Model(_autocast).float()
    x = X.float()
    run = run_source(_file(model, x), "pt2", inputs={"x": x.numpy(), "y": np.zeros((6, 4))}, loss="mse")
    loss = model(x).square().mean()
    loss.backward()
    np.testing.assert_allclose(run.losses[0], loss.detach().numpy(), rtol=1e-2)
    for key, one in model.named_parameters():
        assert one.grad is not None
        np.testing.assert_allclose(run.gradients[key], one.grad.numpy(), rtol=0.1, atol=0.02)
    exact = (model.m(model.l(x)) + model.l(x) + torch.softmax(model.l(x), -1) @ model.m.weight).square().mean()
    assert abs(exact.detach().numpy() - run.losses[0]) > 1e-6, "that is without casts"


def _data(s: Any, x: Any) -> Any:
    return torch.cond(x.sum() > 1, s.l, s.m, (x,))


def _long(s: Any, x: Any) -> Any:
    loop = torch._higher_order_ops.while_loop
    return loop(lambda v: v.sum() > 0, lambda v: (s.l(v) - 1,), (x,))[0]


def _written(s: Any, x: Any) -> Any:
    y = s.l(x)
    with torch.no_grad():
        y.mul_(2.0)
    return y


REFUSED: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "branch": (_data, r"model.pt2:\d+:1.*higher_order.cond: found a branch that depends on data"),
    "loop": (_long, r"higher_order.while_loop: found a loop whose length depends on data"),
    "write": (_written, "found a write in place to an activation without gradients"),
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_what_depends_on_data_is_refused_by_name(name: str) -> None:
    function, message = REFUSED[name]
    with pytest.raises(SourceError, match=message.replace("model.pt2", "<string>")):
        describe_source(_file(_Model(function), X), "pt2", loss="mse")
