"""PyTorch's counterpart of every function of the language, and of a call of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch

from npuc.compiler.layers.base import Array
from tests.calls import Call
from tests.calls.values import CALLED, CalledNet

Counterpart = Callable[..., Any]
_FILES = sorted(path.stem for path in Path(__file__).parent.glob("*.py"))
_OWN = ("__init__", "counterparts", "conftest", "opinfo", "opinfo_parts", "store")
RANDOM = frozenset({"dropout", "bernoulli", "stochastic_depth"})
"""Functions whose random numbers PyTorch does not share."""


@cache
def counterparts() -> dict[str, Counterpart]:
    """
    PyTorch's computation of each function.

    It takes the operands and arguments of the function by name and the parameters that the layer makes by suffix
    (`weight`, `bias`), all as float64 tensors, and returns a tensor or several.
    """
    found: dict[str, Counterpart] = {}
    for name in _FILES:
        if name not in _OWN and not name.startswith("test_"):
            found |= getattr(import_module(f"tests.pytorch.{name}"), "TORCH", {})
    return found


@dataclass(frozen=True)
class Judged:
    """What PyTorch computes of a call: its results, and the gradients of all float arguments of the network."""

    outputs: list[Array]
    gradients: dict[str, Array]


def judge(call: Call, net: CalledNet, values: Mapping[str, Array]) -> Judged:
    """Results and gradients of a call by PyTorch, under the loss of its network."""
    tensors = {name: torch.tensor(value) for name, value in values.items()}
    leaves = {
        n: t.requires_grad_() for n, t in tensors.items() if t.is_floating_point() and not n.startswith("expected")
    }
    given: dict[str, Any] = dict(call.arguments)
    for operand, names in net.operands.items():
        given[operand] = tensors[names] if isinstance(names, str) else [tensors[name] for name in names]
    for name, tensor in leaves.items():
        if name.startswith(f"{CALLED}."):
            given[name.removeprefix(f"{CALLED}.")] = tensor
    result = counterparts()[call.function](**given)
    results: list[torch.Tensor] = list(result) if isinstance(result, tuple | list) else [result]
    losses = [_loss(y, number, tensors) for number, y in enumerate(results) if y.is_floating_point()]
    if losses and any(loss.requires_grad for loss in losses):
        torch.stack(losses).sum().backward()
    return Judged(
        [y.detach().numpy() for y in results],
        {n: np.zeros(t.shape) if t.grad is None else t.grad.numpy() for n, t in leaves.items()},
    )


def _loss(y: torch.Tensor, number: int, tensors: Mapping[str, torch.Tensor]) -> torch.Tensor:
    if y.dim() == 0:
        return y * (1.7 + number)
    return torch.nn.functional.mse_loss(y.double(), tensors[f"expected{number}"])
