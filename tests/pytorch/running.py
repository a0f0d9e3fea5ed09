"""PyTorch's running products, extremes and sums of exponentials."""

from collections.abc import Callable
from typing import Any

import torch

TORCH: dict[str, Callable[..., Any]] = {
    "cumprod": lambda x, axis: torch.cumprod(x, axis),
    "logcumsumexp": lambda x, axis: torch.logcumsumexp(x, axis),
    "cummax": lambda x, axis: torch.cummax(x, axis),
    "cummin": lambda x, axis: torch.cummin(x, axis),
}
