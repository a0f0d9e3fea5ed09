"""PyTorch's indexing, and elements put at indices: one after the other, so that of equal indices the last one stays."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

_REDUCE = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}


def _key(indices: Sequence[torch.Tensor], axes: Sequence[int] | None, rank: int) -> tuple[Any, ...]:
    """What stands in the brackets of x[…]."""
    key: list[Any] = [slice(None)] * rank
    for axis, one in zip(range(len(indices)) if axes is None else axes, indices, strict=True):
        key[axis] = one.long()
    return tuple(key)


def _put(x: torch.Tensor, places: torch.Tensor, src: torch.Tensor | float, reduce: str) -> torch.Tensor:
    """x with src at places that count its elements in row-major order."""
    src = torch.broadcast_to(torch.as_tensor(src, dtype=x.dtype), places.shape).reshape(-1)
    flat, places = x.reshape(-1), places.reshape(-1)
    if reduce != "set":
        return flat.scatter_reduce(0, places, src, _REDUCE[reduce]).reshape(x.shape)
    for number in range(places.shape[0]):
        flat = flat.scatter(0, places.narrow(0, number, 1), src.narrow(0, number, 1))
    return flat.reshape(x.shape)


def _numbers(x: torch.Tensor) -> torch.Tensor:
    return torch.arange(x.numel()).reshape(x.shape)


def _index(x: torch.Tensor, indices: Sequence[torch.Tensor], axes: Sequence[int] | None = None) -> torch.Tensor:
    return x[_key(indices, axes, x.dim())]


def _index_put(
    x: torch.Tensor,
    indices: Sequence[torch.Tensor],
    src: torch.Tensor | float,
    axes: Sequence[int] | None = None,
    reduce: str = "set",
) -> torch.Tensor:
    key = _key(indices, axes, x.dim())
    if reduce == "add" and axes is None and isinstance(src, torch.Tensor):
        return x.index_put(key[: len(indices)], src, accumulate=True)
    return _put(x, _numbers(x)[key], src, reduce)


def _scatter(x: torch.Tensor, index: torch.Tensor, src: torch.Tensor, axis: int, reduce: str) -> torch.Tensor:
    if src.shape != index.shape:
        src = src[tuple(slice(size) for size in index.shape)]  # PyTorch differentiates equal shapes alone
    if reduce != "set":
        return x.scatter_reduce(axis, index.long(), src, _REDUCE[reduce])
    for number in range(index.shape[axis]):
        part = index.narrow(axis, number, 1).long()
        x = x.scatter(axis, part, src.narrow(axis, number, 1))
    return x


def _rows(x: torch.Tensor, index: torch.Tensor, batch: int = 0) -> torch.Tensor:
    if batch:
        return torch.stack([_rows(one, rows, batch - 1) for one, rows in zip(x, index, strict=True)])
    return x[tuple(index.long().unbind(-1))]


TORCH: dict[str, Callable[..., torch.Tensor]] = {
    "index": _index,
    "gather_nd": _rows,
    "index_put": _index_put,
    "scatter": _scatter,
    "scatter_nd": lambda x, index, src, reduce: _put(x, _rows(_numbers(x), index), src, reduce),
}
