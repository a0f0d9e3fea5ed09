"""PyTorch's sorting; of equal elements `torch.topk` takes any, so that its counterpart is a stable sort."""

from collections.abc import Callable
from typing import Any

import torch


def _sort(x: torch.Tensor, axis: int, descending: bool) -> Any:
    return torch.sort(x, stable=True, dim=axis, descending=descending)


def _topk(x: torch.Tensor, k: int, axis: int, largest: bool) -> list[torch.Tensor]:
    values, places = torch.sort(x, stable=True, dim=axis, descending=largest)
    return [values.narrow(axis, 0, k), places.narrow(axis, 0, k)]


TORCH: dict[str, Callable[..., Any]] = {
    "sort": _sort,
    "argsort": lambda x, axis, descending: _sort(x, axis, descending)[1],
    "topk": _topk,
}
