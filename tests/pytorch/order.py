"""PyTorch's flip, roll and triangles."""

from collections.abc import Callable

import torch

TORCH: dict[str, Callable[..., torch.Tensor]] = {
    "flip": lambda x, axis: torch.flip(x, [axis] if isinstance(axis, int) else axis),
    "roll": lambda x, shift, axis: torch.roll(x, shift, axis),
    "tril": lambda x, diagonal=0: torch.tril(x, diagonal),
    "triu": lambda x, diagonal=0: torch.triu(x, diagonal),
}
