"""PyTorch's rearrangements of elements."""

from collections.abc import Callable

import torch

TORCH: dict[str, Callable[..., torch.Tensor]] = {
    "flatten": lambda x, start=1: torch.flatten(x, start),
    "reshape": lambda x, shape: torch.reshape(x, shape),
    "transpose": lambda x, axes: torch.permute(x, axes),
    "concat": lambda tensors, axis: torch.cat(tensors, axis),
}
