"""PyTorch's pooling; padding that differs from side to side is made explicit."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F


def _padded(x: torch.Tensor, padding: Any, value: float) -> torch.Tensor:
    top, bottom, left, right = [padding] * 4 if isinstance(padding, int) else padding
    return F.pad(x, (left, right, top, bottom), value=value)


TORCH: dict[str, Callable[..., torch.Tensor]] = {
    "max_pool": lambda x, kernel, stride=None, padding=0: F.max_pool2d(_padded(x, padding, -torch.inf), kernel, stride),
    "avg_pool": lambda x, kernel, stride=None, padding=0: F.avg_pool2d(_padded(x, padding, 0.0), kernel, stride),
    "global_avg_pool": lambda x: F.adaptive_avg_pool2d(x, 1).flatten(1),
    "global_max_pool": lambda x: F.adaptive_max_pool2d(x, 1).flatten(1),
}
