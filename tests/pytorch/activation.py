"""PyTorch's activation functions."""

from collections.abc import Callable

import torch
import torch.nn.functional as F

TORCH: dict[str, Callable[..., torch.Tensor]] = {
    "relu": lambda x: F.relu(x),
    "relu6": lambda x: F.relu6(x),
    "clip": lambda x, low, high: torch.clamp(x, low, high),
    "gelu": lambda x, approximate="none": F.gelu(x, approximate=approximate),
}
