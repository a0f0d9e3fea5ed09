"""PyTorch's joining and taking apart."""

from collections.abc import Callable
from typing import Any

import torch

TORCH: dict[str, Callable[..., Any]] = {
    "concat": lambda tensors, axis: torch.cat(tensors, axis),
    "split": lambda x, sizes, axis: torch.split(x, sizes, axis),
    "stack": lambda tensors, axis=0: torch.stack(tensors, axis),
    "unbind": lambda x, axis=0: torch.unbind(x, axis),
}
