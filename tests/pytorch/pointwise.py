"""PyTorch's mathematical functions, comparisons and choice."""

from collections.abc import Callable

import torch

Operand = torch.Tensor | float


def _tensors(x: Operand, y: Operand) -> tuple[torch.Tensor, torch.Tensor]:
    """Two operands as tensors, a number of the other's type."""
    if isinstance(x, torch.Tensor):
        return x, y if isinstance(y, torch.Tensor) else torch.tensor(y, dtype=x.dtype)
    assert isinstance(y, torch.Tensor)
    return torch.tensor(x, dtype=y.dtype), y


TORCH: dict[str, Callable[..., torch.Tensor]] = {
    "exp": lambda x: torch.exp(x),
    "log": lambda x: torch.log(x),
    "sqrt": lambda x: torch.sqrt(x),
    "rsqrt": lambda x: torch.rsqrt(x),
    "abs": lambda x: torch.abs(x),
    "neg": lambda x: torch.neg(x),
    "sin": lambda x: torch.sin(x),
    "cos": lambda x: torch.cos(x),
    "erf": lambda x: torch.erf(x),
    "pow": lambda x, exponent: torch.pow(x, exponent),
    "max": lambda x, y: torch.maximum(*_tensors(x, y)),
    "min": lambda x, y: torch.minimum(*_tensors(x, y)),
    "equal": lambda x, y: torch.eq(*_tensors(x, y)),
    "not_equal": lambda x, y: torch.ne(*_tensors(x, y)),
    "less": lambda x, y: torch.lt(*_tensors(x, y)),
    "less_equal": lambda x, y: torch.le(*_tensors(x, y)),
    "greater": lambda x, y: torch.gt(*_tensors(x, y)),
    "greater_equal": lambda x, y: torch.ge(*_tensors(x, y)),
    "logical_and": lambda x, y: torch.logical_and(x, y),
    "logical_or": lambda x, y: torch.logical_or(x, y),
    "logical_not": lambda x: torch.logical_not(x),
    "where": lambda condition, x, y: torch.where(condition, x, y),
}
