"""PyTorch's activation functions."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F


def _hard_sigmoid(x: torch.Tensor) -> torch.Tensor:
    """
    F.hardsigmoid, or in float64 the formula of its documentation: its derivative rounds 1 / 6 to float32.

    In bf16 the formula would round x + 3, which takes values beside the kinks onto them.
    """
    return F.relu6(x + 3) / 6 if x.dtype == torch.float64 else F.hardsigmoid(x)


def _clip(x: torch.Tensor, low: Any, high: Any) -> torch.Tensor:
    """torch.clamp takes two tensors or two numbers."""
    if isinstance(low, torch.Tensor) or isinstance(high, torch.Tensor):
        low, high = (torch.tensor(n, dtype=x.dtype) if isinstance(n, float) else n for n in (low, high))
    return torch.clamp(x, low, high)


TORCH: dict[str, Callable[..., torch.Tensor]] = {
    "relu": lambda x: F.relu(x),
    "relu6": lambda x: F.relu6(x),
    "clip": _clip,
    "hardtanh": lambda x, low=-1.0, high=1.0: F.hardtanh(x, low, high),
    "selu": lambda x: F.selu(x),
    "celu": lambda x, alpha=1.0: F.celu(x, alpha),
    "softsign": lambda x: F.softsign(x),
    "log_sigmoid": lambda x: F.logsigmoid(x),
    "tanhshrink": lambda x: F.tanhshrink(x),
    "hardshrink": lambda x, lambd=0.5: F.hardshrink(x, lambd),
    "softshrink": lambda x, lambd=0.5: F.softshrink(x, lambd),
    "threshold": lambda x, threshold, value: F.threshold(x, threshold, value),
    "glu": lambda x, axis=-1: F.glu(x, axis),
    "leaky_relu": lambda x, negative_slope=0.01: F.leaky_relu(x, negative_slope),
    "prelu": lambda x, weight: F.prelu(x, weight),
    "hard_sigmoid": _hard_sigmoid,
    "hard_swish": lambda x: F.hardswish(x),
    "gelu": lambda x, approximate="none": F.gelu(x, approximate=approximate),
    "sigmoid": lambda x: torch.sigmoid(x),
    "tanh": lambda x: torch.tanh(x),
    "silu": lambda x: F.silu(x),
    "elu": lambda x, alpha=1.0: F.elu(x, alpha),
    "softplus": lambda x, beta=1.0: F.softplus(x, beta),
    "mish": lambda x: F.mish(x),
}
