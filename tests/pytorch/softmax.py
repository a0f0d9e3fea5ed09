"""PyTorch's softmax and embedding."""

from collections.abc import Callable

import torch
import torch.nn.functional as F


def _embedding(
    ids: torch.Tensor, weight: torch.Tensor, entries: int | None = None, width: int | None = None, dtype: str = "f64"
) -> torch.Tensor:
    return F.embedding(ids, weight)


TORCH: dict[str, Callable[..., torch.Tensor]] = {
    "softmax": lambda x, axis=-1: F.softmax(x, axis),
    "log_softmax": lambda x, axis=-1: F.log_softmax(x, axis),
    "embedding": _embedding,
}
