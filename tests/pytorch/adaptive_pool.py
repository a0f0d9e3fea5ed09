"""PyTorch's pooling to a given size."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F


def _avg(x: torch.Tensor, size: Any) -> torch.Tensor:
    return F.adaptive_avg_pool1d(x, size) if x.dim() == 3 else F.adaptive_avg_pool2d(x, size)


def _max(x: torch.Tensor, size: Any) -> torch.Tensor:
    return F.adaptive_max_pool1d(x, size) if x.dim() == 3 else F.adaptive_max_pool2d(x, size)


TORCH: dict[str, Callable[..., torch.Tensor]] = {"adaptive_avg_pool": _avg, "adaptive_max_pool": _max}
