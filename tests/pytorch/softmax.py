"""PyTorch's softmax and embedding."""

from collections.abc import Callable

import torch
import torch.nn.functional as F


def _embedding(
    ids: torch.Tensor,
    weight: torch.Tensor,
    entries: int | None = None,
    width: int | None = None,
    dtype: str = "f64",
    padding_idx: int | None = None,
) -> torch.Tensor:
    return F.embedding(ids, weight, padding_idx)


def _embedding_bag(
    ids: torch.Tensor, weight: torch.Tensor, mode: str = "mean", per_sample_weights: torch.Tensor | None = None
) -> torch.Tensor:
    return F.embedding_bag(ids, weight, mode=mode, per_sample_weights=per_sample_weights)


TORCH: dict[str, Callable[..., torch.Tensor]] = {
    "softmax": lambda x, axis=-1: F.softmax(x, axis),
    "log_softmax": lambda x, axis=-1: F.log_softmax(x, axis),
    "embedding": _embedding,
    "embedding_bag": _embedding_bag,
}
