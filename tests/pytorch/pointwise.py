"""PyTorch's mathematical functions, comparisons, operations on bits, and choice."""

from collections.abc import Callable

import torch

_OF_ONE = (
    *("floor", "ceil", "round", "trunc", "sign", "isnan", "isinf", "isfinite", "tan", "asin", "acos", "atan"),
    *("sinh", "cosh", "asinh", "acosh", "atanh", "log1p", "expm1", "log2", "log10"),
)
"""Functions of one tensor that have the same name."""
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
    "logical_xor": lambda x, y: torch.logical_xor(x, y),
    "bitwise_and": lambda x, y: torch.bitwise_and(*_tensors(x, y)),
    "bitwise_or": lambda x, y: torch.bitwise_or(*_tensors(x, y)),
    "bitwise_xor": lambda x, y: torch.bitwise_xor(*_tensors(x, y)),
    "bitwise_not": lambda x: torch.bitwise_not(x),
    "shift_left": lambda x, y: torch.bitwise_left_shift(*_tensors(x, y)),
    "shift_right": lambda x, y: torch.bitwise_right_shift(*_tensors(x, y)),
    "remainder": lambda x, y: torch.remainder(*_tensors(x, y)),
    "fmod": lambda x, y: torch.fmod(*_tensors(x, y)),
    **{name: getattr(torch, name) for name in _OF_ONE},
    "where": lambda condition, x, y: torch.where(condition, x, y),
}
