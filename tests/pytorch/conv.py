"""PyTorch's convolutions, on inputs that are padded here."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F


def same_padding(size: int, kernel: int, stride: int, dilation: int) -> tuple[int, int]:
    """What keeps ceil(size / stride) positions, the odd one at the end (the definition of "same")."""
    total = max(0, (-(-size // stride) - 1) * stride + dilation * (kernel - 1) + 1 - size)
    return total // 2, total - total // 2


def per_axis(value: Any, axes: int) -> list[int]:
    """One number an axis."""
    return [value] * axes if isinstance(value, int) else list(value)


def pads(padding: Any, axes: int) -> list[tuple[int, int]]:
    """What is added before and after each axis, for one number, one an axis or one a side."""
    values = [padding] * axes if isinstance(padding, int) else list(padding)
    if len(values) == axes:
        return [(p, p) for p in values]
    return list(zip(values[::2], values[1::2], strict=True))


def _counterpart(run: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    def conv(
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
        axes = x.dim() - 2
        strides, dilations = per_axis(stride, axes), per_axis(dilation, axes)
        if padding == "same":
            shapes = zip(x.shape[2:], weight.shape[2:], strides, dilations, strict=True)
            sides = [same_padding(*shape) for shape in shapes]
        else:
            sides = pads(0 if padding == "valid" else padding, axes)
        padded = F.pad(x, [side for pair in reversed(sides) for side in pair])
        shift = bias if isinstance(bias, torch.Tensor) else None
        return run(padded, weight, shift, stride=strides, dilation=dilations, groups=groups)

    return conv


TORCH: dict[str, Callable[..., torch.Tensor]] = {
    "conv1d": _counterpart(F.conv1d),
    "conv2d": _counterpart(F.conv2d),
    "conv3d": _counterpart(F.conv3d),
}
