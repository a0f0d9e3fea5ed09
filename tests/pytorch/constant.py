"""PyTorch's constants."""

from collections.abc import Callable

import torch

TYPES = {"f32": torch.float32, "f64": torch.float64, "i32": torch.int32, "i64": torch.int64, "bool": torch.bool}


def _arange(stop: float, start: float = 0, step: float = 1, dtype: str = "f32") -> torch.Tensor:
    return torch.arange(start, stop, step, dtype=TYPES[dtype])


def _tensor(values: list[float], shape: list[int] | None = None, dtype: str = "f32") -> torch.Tensor:
    return torch.tensor(values, dtype=TYPES[dtype]).reshape([-1] if shape is None else shape)


def _causal_mask(rows: int, columns: int | None = None, offset: int = 0) -> torch.Tensor:
    return torch.ones(rows, rows if columns is None else columns, dtype=torch.bool).tril(offset)


TORCH: dict[str, Callable[..., torch.Tensor]] = {
    "arange": _arange,
    "causal_mask": _causal_mask,
    "tensor": _tensor,
    "full": lambda shape, value, dtype="f32": torch.full(shape, value, dtype=TYPES[dtype]),
    "zeros": lambda shape, dtype="f32": torch.zeros(shape, dtype=TYPES[dtype]),
    "ones": lambda shape, dtype="f32": torch.ones(shape, dtype=TYPES[dtype]),
}
