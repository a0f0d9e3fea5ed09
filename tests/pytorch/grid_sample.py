"""PyTorch's sampling."""

from collections.abc import Callable

import torch
import torch.nn.functional as F


def _grid_sample(x: torch.Tensor, grid: torch.Tensor, mode: str, padding: str, align_corners: bool) -> torch.Tensor:
    return F.grid_sample(x, grid, mode, padding, align_corners)


TORCH: dict[str, Callable[..., torch.Tensor]] = {"grid_sample": _grid_sample}
