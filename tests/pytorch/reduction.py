"""PyTorch's reductions."""

from collections.abc import Callable

import torch


def _axes(x: torch.Tensor, axis: int | list[int] | None) -> list[int]:
    return list(range(x.dim())) if axis is None else [axis] if isinstance(axis, int) else axis


def _prod(x: torch.Tensor, axis: int | list[int] | None = None, keepdim: bool = False) -> torch.Tensor:
    """torch.prod takes one axis."""
    axes = _axes(x, axis)
    for one in axes:
        x = torch.prod(x, one, keepdim=True)
    return x if keepdim else x.squeeze(tuple(axes))


TORCH: dict[str, Callable[..., torch.Tensor]] = {
    "sum": lambda x, axis=None, keepdim=False: torch.sum(x, axis, keepdim=keepdim),
    "mean": lambda x, axis=None, keepdim=False: torch.mean(x, axis, keepdim=keepdim),
    "var": lambda x, axis=None, correction=1, keepdim=False: torch.var(x, axis, correction=correction, keepdim=keepdim),
    "prod": _prod,
    "logsumexp": lambda x, axis=None, keepdim=False: torch.logsumexp(x, _axes(x, axis), keepdim=keepdim),
    "any": lambda x, axis=None, keepdim=False: torch.any(x, _axes(x, axis), keepdim=keepdim),
    "all": lambda x, axis=None, keepdim=False: torch.all(x, _axes(x, axis), keepdim=keepdim),
    "cumsum": lambda x, axis: torch.cumsum(x, axis),
    "vector_norm": lambda x, order, axis=None, keepdim=False: torch.linalg.vector_norm(x, order, axis, keepdim),
}
