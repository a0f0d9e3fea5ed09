"""PyTorch's activation functions."""

from collections.abc import Callable

import torch
import torch.nn.functional as F


def _hard_sigmoid(x: torch.Tensor) -> torch.Tensor:
    """
    F.hardsigmoid, or in float64 the formula of its documentation: its derivative rounds 1 / 6 to float32.

    In bf16 the formula would round x + 3, which takes values beside the kinks onto them.
    """
    return F.relu6(x + 3) / 6 if x.dtype == torch.float64 else F.hardsigmoid(x)


TORCH: dict[str, Callable[..., torch.Tensor]] = {
    "relu": lambda x: F.relu(x),
    "relu6": lambda x: F.relu6(x),
    "clip": lambda x, low, high: torch.clamp(x, low, high),
    "leaky_relu": lambda x, negative_slope=0.01: F.leaky_relu(x, negative_slope),
    "prelu": lambda x, weight: F.prelu(x, weight),
    "hard_sigmoid": _hard_sigmoid,
    "hard_swish": lambda x: F.hardswish(x),
    "gelu": lambda x, approximate="none": F.gelu(x, approximate=approximate),
    "sigmoid": lambda x: torch.sigmoid(x),
    "tanh": lambda x: torch.tanh(x),
    "silu": lambda x: F.silu(x),
    "elu": lambda x, alpha=1.0: F.elu(x, alpha),
    "softplus": lambda x: F.softplus(x),
    "mish": lambda x: F.mish(x),
}
