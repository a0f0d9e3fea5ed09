"""Modules at values where a plainer way to compute them would give something else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from npuc.compiler import SourceError, run_file
from npuc.frontends.torch import from_module

NEAR = [[1.0, 2.0, 3.0, 4.0], [-1.0, -0.3, 0.3, 0.7], [0.6, 0.9, -0.6, -0.9]]
"""Multiples of a tenth, of which some divide into a whole number only where the quotient is rounded."""
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "rounded quotient by a number": lambda x, w: torch.div(x, 0.1, rounding_mode="floor") * w,
    "rounded quotient by a tensor": lambda x, w: torch.div(x * w, 0.1 * w, rounding_mode="floor") * w,
    "rounded quotient by 0": lambda x, w: torch.where(x > 0, torch.div(x, x * 0, rounding_mode="floor"), 0.0) + w,
    "rounded quotient by a power of 2": lambda x, w: torch.div(x, -0.25, rounding_mode="floor") * w,
    "remainder": lambda x, w: torch.remainder(x, 0.1 + w * 0),
    "remainder as in C": lambda x, w: torch.fmod(x, 0.1 + w * 0),
    "deviation of equal elements": lambda x, w: (x * 0 + w[:, :1]).std(1) * x[:, 0],
    "deviation of all": lambda x, w: (x * w).std(),
    "detached weight": lambda x, w: x * w.detach() + w,
    "histogram of numbers between others": lambda x, w: torch.histc(x, 4, 0.0, 3.0) * w,
    "histogram of whole numbers": lambda x, w: torch.histc(x.abs().ceil().long().clamp(0, 3).double(), 4, 0, 3) * w,
}


class _Called(nn.Module):
    def __init__(self, call: Callable[[Any, Any], Any], dtype: torch.dtype):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([[1.0, 3.0, -1.0, 0.5]] * 3, dtype=dtype))
        self.call = call

    def forward(self, x: Any) -> Any:
        return self.call(x, self.weight).sum()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", CALLS)
def test_values_and_gradients_are_pytorchs(name: str, dtype: str) -> None:
    kind = getattr(torch, dtype)
    model, x = _Called(CALLS[name], kind), torch.tensor(NEAR, dtype=kind)
    run = run_file(from_module(model, (x,)), inputs={"x": x.numpy()})
    loss = model(x)
    loss.backward()
    assert model.weight.grad is not None
    assert run.loss == pytest.approx(loss.item(), rel=1e-6)
    np.testing.assert_allclose(run.gradients["weight"], model.weight.grad.numpy(), rtol=1e-5, atol=1e-9)


class _Projected(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(4, 5, proj_size=2)

    def forward(self, x: Any) -> Any:
        return self.lstm(x)[0]


@pytest.mark.filterwarnings("ignore:The tensor attributes")
def test_projections_of_states_are_refused_by_their_name() -> None:
    x = torch.randn(2, 3, 4)
    with pytest.raises(SourceError, match=r"found 5 weights, expected 4 for each layer .* without proj_size"):
        run_file(from_module(_Projected(), (x,)), inputs={"x": x.numpy()})
