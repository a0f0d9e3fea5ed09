"""Region pooling sample by sample, as torchvision defines it (torchvision itself is not needed)."""

from collections.abc import Callable
from typing import Any

import torch


def _sample(image: torch.Tensor, y: float, x: float) -> torch.Tensor:
    """The bilinear value of each channel at a place; 0 more than a pixel outside."""
    _, height, width = image.shape
    if y < -1 or y > height or x < -1 or x > width:
        return torch.zeros(image.shape[0], dtype=image.dtype)
    y, x = max(y, 0.0), max(x, 0.0)
    top, left = int(y), int(x)
    if top >= height - 1:
        top = below = height - 1
        y = float(top)
    else:
        below = top + 1
    if left >= width - 1:
        left = right = width - 1
        x = float(left)
    else:
        right = left + 1
    down, across = y - top, x - left
    upper = image[:, top, left] * (1 - across) + image[:, top, right] * across
    lower = image[:, below, left] * (1 - across) + image[:, below, right] * across
    return upper * (1 - down) + lower * down


def _in_its_type(
    x: torch.Tensor,
    rois: torch.Tensor,
    size: Any,
    scale: float = 1.0,
    sampling_ratio: int = 2,
    aligned: bool = True,
) -> torch.Tensor:
    """The result in the type of x, which torchvision computes in float32 under autocast (`roi_align_autocast`)."""
    wide = x.float() if x.dtype == torch.bfloat16 else x
    return _roi_align(wide, rois, size, scale, sampling_ratio, aligned).to(x.dtype)


def _roi_align(
    x: torch.Tensor,
    rois: torch.Tensor,
    size: Any,
    scale: float,
    sampling_ratio: int,
    aligned: bool,
) -> torch.Tensor:
    height, width = (size, size) if isinstance(size, int) else size
    pooled: list[torch.Tensor] = []
    for image, *box in rois.double().tolist():
        x1, y1, x2, y2 = (side * scale - (0.5 if aligned else 0.0) for side in box)
        tall, wide = (y2 - y1, x2 - x1) if aligned else (max(y2 - y1, 1.0), max(x2 - x1, 1.0))
        for i in range(height):
            for j in range(width):
                samples = [
                    _sample(
                        x[int(image)],
                        y1 + tall / height * (i + (u + 0.5) / sampling_ratio),
                        x1 + wide / width * (j + (v + 0.5) / sampling_ratio),
                    )
                    for u in range(sampling_ratio)
                    for v in range(sampling_ratio)
                ]
                pooled.append(torch.stack(samples).mean(0))
    return torch.stack(pooled).reshape(len(rois), height, width, x.shape[1]).permute(0, 3, 1, 2)


TORCH: dict[str, Callable[..., torch.Tensor]] = {"roi_align": _in_its_type}
