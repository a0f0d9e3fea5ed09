"""PyTorch's other shapes for the same elements."""

from collections.abc import Callable

import torch

TORCH: dict[str, Callable[..., torch.Tensor]] = {
    "flatten": lambda x, start=1: torch.flatten(x, start),
    "reshape": lambda x, shape: torch.reshape(x, shape),
    "transpose": lambda x, axes: torch.permute(x, axes),
    "squeeze": lambda x, axis=None: (
        torch.squeeze(x) if axis is None else torch.squeeze(x, axis if isinstance(axis, int) else tuple(axis))
    ),
    "unsqueeze": lambda x, axis: torch.unsqueeze(x, axis),
    "expand": lambda x, shape: x.expand(shape),
    "detach": lambda x: x.detach(),
    "repeat": lambda x, repeats: x.repeat(repeats),
    "pixel_unshuffle": lambda x, factor: torch.nn.functional.pixel_unshuffle(x, factor),
    "repeat_interleave": lambda x, repeats, axis: torch.repeat_interleave(x, repeats, axis),
    "unfold": lambda x, kernel, **rest: torch.nn.functional.unfold(x, kernel, **rest),
    "fold": lambda x, size, kernel, **rest: torch.nn.functional.fold(x, size, kernel, **rest),
}
