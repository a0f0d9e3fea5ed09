"""PyTorch's lookups."""

from collections.abc import Callable

import torch

from tests.pytorch.constant import TYPES


def _index_select(x: torch.Tensor, index: torch.Tensor | list[int], axis: int) -> torch.Tensor:
    if isinstance(index, list):
        index = torch.tensor([place % x.shape[axis] for place in index])
    return torch.index_select(x, axis, index)


def _one_hot(ids: torch.Tensor, classes: int, dtype: str = "f32") -> torch.Tensor:
    return torch.nn.functional.one_hot(ids, classes).to(TYPES[dtype])


TORCH: dict[str, Callable[..., torch.Tensor]] = {
    "index_select": _index_select,
    "gather": lambda x, index, axis: torch.gather(x, axis, index),
    "one_hot": _one_hot,
}
