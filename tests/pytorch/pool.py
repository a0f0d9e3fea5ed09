"""PyTorch's pooling."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F

from tests.pytorch.conv import same_padding


def _list(value: Any, count: int) -> list[int]:
    return [value] * count if isinstance(value, int) else list(value)


def _sides(x: torch.Tensor, padding: Any, kernel: list[int], stride: list[int], dilation: list[int]) -> list[int]:
    """Before and after each axis."""
    if padding == "same":
        axes = zip(x.shape[2:], kernel, stride, dilation, strict=True)
        return [side for axis in axes for side in same_padding(*axis)]
    sides = _list(padding, 2 * len(kernel))
    return sides if len(sides) == 2 * len(kernel) else [side for side in sides for _ in range(2)]


def _even(sides: Sequence[int]) -> bool:
    return all(a == b for a, b in zip(sides[::2], sides[1::2], strict=True))


def _max(axes: int) -> Callable[..., torch.Tensor]:
    function = F.max_pool1d if axes == 1 else F.max_pool2d

    def pool(
        x: torch.Tensor, kernel: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
    ) -> torch.Tensor:
        kernels, spread = _list(kernel, axes), _list(dilation, axes)
        strides = kernels if stride is None else _list(stride, axes)
        sides = _sides(x, padding, kernels, strides, spread)
        if _even(sides):
            return function(x, kernels, strides, sides[::2], spread, ceil_mode)
        return function(_padded(x, sides, -torch.inf), kernels, strides, 0, spread, ceil_mode)

    return pool


def _avg(axes: int) -> Callable[..., torch.Tensor]:
    function = F.avg_pool1d if axes == 1 else F.avg_pool2d

    def pool(
        x: torch.Tensor,
        kernel: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> torch.Tensor:
        kernels = _list(kernel, axes)
        strides = kernels if stride is None else _list(stride, axes)
        sides = _sides(x, padding, kernels, strides, [1] * axes)
        if _even(sides):
            return function(x, kernels, strides, sides[::2], ceil_mode, count_include_pad)
        y = function(_padded(x, sides, 0.0), kernels, strides, 0, ceil_mode)
        if count_include_pad:
            return y
        inside = _padded(torch.ones_like(x), sides, 0.0)
        return y / function(inside, kernels, strides, 0, ceil_mode)

    return pool


def _padded(x: torch.Tensor, sides: Sequence[int], value: float) -> torch.Tensor:
    """Padding that differs from side to side, made explicit; F.pad takes the last axis first."""
    return F.pad(
        x, [side for axis in reversed(range(len(sides) // 2)) for side in sides[2 * axis : 2 * axis + 2]], value=value
    )


TORCH: dict[str, Callable[..., torch.Tensor]] = {
    "max_pool": _max(2),
    "avg_pool": _avg(2),
    "max_pool1d": _max(1),
    "avg_pool1d": _avg(1),
    "max_pool3d": lambda x, kernel, **rest: F.max_pool3d(x, kernel, **rest),
    "avg_pool3d": lambda x, kernel, **rest: F.avg_pool3d(x, kernel, **rest),
    "adaptive_avg_pool3d": lambda x, size: F.adaptive_avg_pool3d(x, size),
    "adaptive_max_pool3d": lambda x, size: F.adaptive_max_pool3d(x, size),
    "global_avg_pool": lambda x: x.flatten(2).mean(2),
    "global_max_pool": lambda x: F.adaptive_max_pool1d(x.flatten(2), 1).flatten(1),
}
