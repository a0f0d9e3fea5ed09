"""PyTorch's matrix products; a linear weight is [in, out] here."""

from collections.abc import Callable

import torch
import torch.nn.functional as F


def _linear(
    x: torch.Tensor, weight: torch.Tensor, features: int | None = None, bias: torch.Tensor | bool = True
) -> torch.Tensor:
    return F.linear(x, weight.T, bias if isinstance(bias, torch.Tensor) else None)


def _matmul(x: torch.Tensor, y: torch.Tensor, transpose_a: bool = False, transpose_b: bool = False) -> torch.Tensor:
    return torch.matmul(x.mT if transpose_a else x, y.mT if transpose_b else y)


def _grouped_mm(x: torch.Tensor, y: torch.Tensor, offsets: list[int], capacity: int | None = None) -> torch.Tensor:
    """What torch._grouped_mm computes, which takes bf16 only."""
    starts = [0, *offsets[:-1]]
    return torch.cat([x[start:end] @ own for start, end, own in zip(starts, offsets, y, strict=True)])


TORCH: dict[str, Callable[..., torch.Tensor]] = {
    "linear": _linear,
    "matmul": _matmul,
    "grouped_mm": _grouped_mm,
    "einsum": lambda tensors, equation: torch.einsum(equation, tensors),
}
