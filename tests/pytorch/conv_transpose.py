"""PyTorch's transposed convolution; padding that differs from side to side is cut off its output here."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from tests.pytorch.conv import pads, per_axis


def _counterpart(run: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    def conv_transpose(
        x: torch.Tensor,
        weight: torch.Tensor,
        channels: int | None = None,
        kernel: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: torch.Tensor | bool = True,
    ) -> torch.Tensor:
        axes = x.dim() - 2
        window = {"stride": per_axis(stride, axes), "dilation": per_axis(dilation, axes), "groups": groups}
        extra = per_axis(output_padding, axes)
        shift = bias if isinstance(bias, torch.Tensor) else None
        sides = pads(padding, axes)
        if all(before == after for before, after in sides):
            symmetric = [before for before, _ in sides]
            return run(x, weight, shift, padding=symmetric, output_padding=extra, **window)
        y = run(x, weight, shift, padding=0, output_padding=extra, **window)
        for axis, (before, after) in enumerate(sides, start=2):
            y = y.narrow(axis, before, y.shape[axis] - before - after)
        return y

    return conv_transpose


TORCH: dict[str, Callable[..., torch.Tensor]] = {
    "conv_transpose1d": _counterpart(F.conv_transpose1d),
    "conv_transpose2d": _counterpart(F.conv_transpose2d),
    "conv_transpose3d": _counterpart(F.conv_transpose3d),
}
