"""PyTorch's normalisations."""

from collections.abc import Callable

import torch
import torch.nn.functional as F


def _batch_norm(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-5, momentum: float = 0.1
) -> torch.Tensor:
    return F.batch_norm(x, None, None, weight, bias, training=True, momentum=momentum, eps=eps)


TORCH: dict[str, Callable[..., torch.Tensor]] = {
    "layer_norm": lambda x, weight, bias, eps=1e-5: F.layer_norm(x, x.shape[-1:], weight, bias, eps),
    "batch_norm": _batch_norm,
}
