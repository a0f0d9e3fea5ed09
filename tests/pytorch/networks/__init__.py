"""
Whole networks in PyTorch: how their loss is computed from npuc's weights. One file a network holds `NETWORK`.

Written with torch.nn.functional and torch.nn from the networks' papers, not from their text in the language.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.steps import Task


class Weights:
    """The parameters and running statistics of a network by npuc's names, and the layers that use them."""

    def __init__(self, params: Mapping[str, Tensor], stats: Mapping[str, Tensor]):
        self.params = params
        self.stats = stats

    def __getitem__(self, name: str) -> Tensor:
        return self.params[name]

    def linear(self, layer: str, x: Tensor) -> Tensor:
        """A linear layer; npuc's weight is [in, out]."""
        return F.linear(x, self.params[f"{layer}.weight"].T, self.params.get(f"{layer}.bias"))

    def conv1d(self, layer: str, x: Tensor, **options: Any) -> Tensor:
        """A convolution of sequences."""
        return F.conv1d(x, self.params[f"{layer}.weight"], self.params.get(f"{layer}.bias"), **options)

    def conv2d(self, layer: str, x: Tensor, **options: Any) -> Tensor:
        """A convolution."""
        return F.conv2d(x, self.params[f"{layer}.weight"], self.params.get(f"{layer}.bias"), **options)

    def conv_transpose2d(self, layer: str, x: Tensor, **options: Any) -> Tensor:
        """A transposed convolution."""
        return F.conv_transpose2d(x, self.params[f"{layer}.weight"], self.params.get(f"{layer}.bias"), **options)

    def batch_norm(self, layer: str, x: Tensor, **options: Any) -> Tensor:
        """Batch normalisation in training, which updates the running statistics."""
        mean, var = self.stats[f"{layer}.running_mean"], self.stats[f"{layer}.running_var"]
        weight, bias = self.params[f"{layer}.weight"], self.params[f"{layer}.bias"]
        return F.batch_norm(x, mean, var, weight, bias, training=True, **options)

    def layer_norm(self, layer: str, x: Tensor, eps: float = 1e-5) -> Tensor:
        """Normalisation of the last axis."""
        return F.layer_norm(x, x.shape[-1:], self.params[f"{layer}.weight"], self.params[f"{layer}.bias"], eps)

    def rms_norm(self, layer: str, x: Tensor, eps: float) -> Tensor:
        """Normalisation of the last axis by its mean square."""
        return F.rms_norm(x, x.shape[-1:], self.params[f"{layer}.weight"], eps)

    def group_norm(self, layer: str, x: Tensor, groups: int) -> Tensor:
        """Normalisation of groups of channels."""
        return F.group_norm(x, groups, self.params[f"{layer}.weight"], self.params[f"{layer}.bias"])

    def embedding(self, layer: str, ids: Tensor) -> Tensor:
        """Rows of a table."""
        return F.embedding(ids, self.params[f"{layer}.weight"])


Inputs = Mapping[str, Tensor]


@dataclass(frozen=True)
class Network:
    """What npuc runs, and in PyTorch its loss and its optimizer; `frozen` are the parameters that stay."""

    task: Task
    loss: Callable[[Weights, Inputs], Tensor]
    optimizer: Callable[[list[Tensor]], torch.optim.Optimizer]
    frozen: frozenset[str] = frozenset()


@cache
def networks() -> dict[str, Network]:
    """All networks by name."""
    names = [info.name for info in iter_modules(__path__) if not info.name.startswith("_")]
    return {name: import_module(f"{__name__}.{name}").NETWORK for name in names}
