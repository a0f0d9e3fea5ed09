"""PyTorch's losses."""

from collections.abc import Callable

import torch
import torch.nn.functional as F

UNUSED = -1000
"""A label that no data have: PyTorch has no way to ignore none."""


def _rows(scores: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The classes are the last axis, PyTorch's second."""
    return scores.reshape(-1, scores.shape[-1]), labels.reshape(-1).long()


def _cross_entropy(
    logits: torch.Tensor,
    labels: torch.Tensor,
    label_smoothing: float = 0.0,
    ignore_index: int | None = None,
    reduction: str = "mean",
) -> torch.Tensor:
    index = UNUSED if ignore_index is None else ignore_index
    rows = _rows(logits, labels)
    return F.cross_entropy(*rows, ignore_index=index, reduction=reduction, label_smoothing=label_smoothing)


def _nll_loss(
    log_probs: torch.Tensor, labels: torch.Tensor, ignore_index: int | None = None, reduction: str = "mean"
) -> torch.Tensor:
    index = UNUSED if ignore_index is None else ignore_index
    return F.nll_loss(*_rows(log_probs, labels), ignore_index=index, reduction=reduction)


def _with_logits(
    x: torch.Tensor, target: torch.Tensor, pos_weight: float | None = None, reduction: str = "mean"
) -> torch.Tensor:
    weight = None if pos_weight is None else torch.tensor(pos_weight, dtype=torch.promote_types(x.dtype, torch.float32))
    return F.binary_cross_entropy_with_logits(x, target, pos_weight=weight, reduction=reduction)


TORCH: dict[str, Callable[..., torch.Tensor]] = {
    "cross_entropy": _cross_entropy,
    "nll_loss": _nll_loss,
    "mse": lambda y, target, reduction="mean": F.mse_loss(y, target, reduction=reduction),
    "dot_loss": lambda y, target: (y * target).sum(),
    "l1_loss": lambda x, target, reduction="mean": F.l1_loss(x, target, reduction=reduction),
    "smooth_l1_loss": lambda x, target, beta=1.0, reduction="mean": F.smooth_l1_loss(
        x, target, beta=beta, reduction=reduction
    ),
    "huber_loss": lambda x, target, delta=1.0, reduction="mean": F.huber_loss(
        x, target, delta=delta, reduction=reduction
    ),
    "binary_cross_entropy": lambda x, target, reduction="mean": F.binary_cross_entropy(x, target, reduction=reduction),
    "binary_cross_entropy_with_logits": _with_logits,
    "kl_div": lambda x, target, reduction="mean", log_target=False: F.kl_div(
        x, target, reduction=reduction, log_target=log_target
    ),
}
