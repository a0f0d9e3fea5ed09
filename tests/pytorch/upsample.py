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
    return F.interpolate(x, size=size, scale_factor=factors, mode=mode, align_corners=corners, antialias=antialias)


TORCH: dict[str, Callable[..., torch.Tensor]] = {
    "upsample": _upsample,
    "pixel_shuffle": lambda x, factor: F.pixel_shuffle(x, factor),
}
