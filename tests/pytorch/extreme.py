"""PyTorch's extremes and their places."""

from collections.abc import Callable

import torch

TORCH: dict[str, Callable[..., torch.Tensor]] = {
    "amax": lambda x, axis=None, keepdim=False: torch.amax(x, () if axis is None else axis, keepdim),
    "amin": lambda x, axis=None, keepdim=False: torch.amin(x, () if axis is None else axis, keepdim),
    "argmax": lambda x, axis=None, keepdim=False: torch.argmax(x, axis, keepdim),
    "argmin": lambda x, axis=None, keepdim=False: torch.argmin(x, axis, keepdim),
}
