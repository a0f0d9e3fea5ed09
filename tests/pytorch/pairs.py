"""PyTorch's functions of two tensors."""

from collections.abc import Callable

import torch

Operand = torch.Tensor | float


def _of_two(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    def call(x: torch.Tensor, y: Operand) -> torch.Tensor:
        return function(x, y if isinstance(y, torch.Tensor) else torch.tensor(y, dtype=x.dtype))

    return call


TORCH: dict[str, Callable[..., torch.Tensor]] = {
    name: _of_two(getattr(torch, name)) for name in ("atan2", "hypot", "logaddexp", "copysign")
}
