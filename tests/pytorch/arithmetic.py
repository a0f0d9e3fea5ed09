"""PyTorch's arithmetic."""

from collections.abc import Callable

import torch

TORCH: dict[str, Callable[..., torch.Tensor]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "cast": lambda x, to: x.to(
        {"f64": torch.float64, "f32": torch.float32, "i32": torch.int32, "i64": torch.int64, "bool": torch.bool}[to]
    ),
}
