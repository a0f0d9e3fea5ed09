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


TORCH: dict[str, Callable[..., torch.Tensor]] = {
    "linear": _linear,
    "matmul": _matmul,
    "einsum": lambda tensors, equation: torch.einsum(equation, tensors),
}
