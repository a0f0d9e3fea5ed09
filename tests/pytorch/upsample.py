"""PyTorch's resizing."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F


def _upsample(
    x: torch.Tensor,
    mode: str,
    scale: Any = None,
    size: Any = None,
    align_corners: bool = False,
    antialias: bool = False,
) -> torch.Tensor:
    corners = None if "nearest" in mode else align_corners
    # Its C++ code takes scales of all axes as doubles.
    factors = [float(s) for s in scale] if isinstance(scale, list) else scale
    options: dict[str, Any] = {"mode": mode, "align_corners": corners, "antialias": antialias}
    out = F.interpolate(x, size=size, scale_factor=factors, **options)
    if not antialias or out.shape[-1] > 1 or x.device.type != "cpu":
        return out
    # PyTorch 2.13 repeats the first row where it smooths to one column, but not the first column.
    turned = [one[::-1] if isinstance(one, list) else one for one in (size, factors)]
    return F.interpolate(x.mT.contiguous(), size=turned[0], scale_factor=turned[1], **options).mT


TORCH: dict[str, Callable[..., torch.Tensor]] = {
    "upsample": _upsample,
    "pixel_shuffle": lambda x, factor: F.pixel_shuffle(x, factor),
}
