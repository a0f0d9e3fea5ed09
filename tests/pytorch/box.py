"""PyTorch's slices and padding."""

from collections.abc import Callable

import torch


def _slice(x: torch.Tensor, axis: int, start: int = 0, stop: int | None = None, step: int = 1) -> torch.Tensor:
    places = [slice(None)] * x.dim()
    places[axis] = slice(start, stop, step)
    return x[tuple(places)]


def _pad(x: torch.Tensor, padding: list[int], value: float = 0.0, mode: str = "constant") -> torch.Tensor:
    if mode == "constant":
        return torch.nn.functional.pad(x, padding, mode, value)
    return torch.nn.functional.pad(x, padding + [0] * (4 - len(padding)), mode)


def _slice_scatter(
    x: torch.Tensor, src: torch.Tensor, axis: int, start: int = 0, stop: int | None = None, step: int = 1
) -> torch.Tensor:
    return torch.slice_scatter(x, src, axis, start, stop, step)


TORCH: dict[str, Callable[..., torch.Tensor]] = {
    "slice": _slice,
    "slice_scatter": _slice_scatter,
    "select_scatter": lambda x, src, axis, index: torch.select_scatter(x, src, axis, index),
    "pad": _pad,
}
