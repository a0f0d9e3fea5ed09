"""PyTorch's two-dimensional convolution."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F


def same_padding(size: int, kernel: int, stride: int, dilation: int) -> tuple[int, int]:
    """What keeps ceil(size / stride) positions, the odd one at the end (the definition of "same")."""
    total = max(0, (-(-size // stride) - 1) * stride + dilation * (kernel - 1) + 1 - size)
    return total // 2, total - total // 2


def _pair(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else tuple(value)


def _conv2d(
    x: torch.Tensor,
    weight: torch.Tensor,
    channels: int | None = None,
    kernel: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    bias: torch.Tensor | bool = True,
) -> torch.Tensor:
    strides, dilations = _pair(stride), _pair(dilation)
    if padding == "same":
        sides = [same_padding(x.shape[2 + n], weight.shape[2 + n], strides[n], dilations[n]) for n in (0, 1)]
        top, bottom, left, right = *sides[0], *sides[1]
    else:
        top, bottom, left, right = [padding] * 4 if isinstance(padding, int) else padding
    padded = F.pad(x, (left, right, top, bottom))
    shift = bias if isinstance(bias, torch.Tensor) else None
    return F.conv2d(padded, weight, shift, stride=strides, dilation=dilations, groups=groups)


TORCH: dict[str, Callable[..., torch.Tensor]] = {"conv2d": _conv2d}
