"""Overlap of boxes from their corners."""

import torch
from torch import Tensor


def corners(centre: Tensor, size: Tensor) -> Tensor:
    """[..., 4]: the first corner's x and y, then the last one's."""
    return torch.cat([centre - size / 2, centre + size / 2], -1)


def _area(box: Tensor) -> Tensor:
    return (box[..., 2] - box[..., 0]) * (box[..., 3] - box[..., 1])


def _both(box: Tensor, other: Tensor) -> Tensor:
    low, high = torch.maximum(box[..., :2], other[..., :2]), torch.minimum(box[..., 2:], other[..., 2:])
    return (high - low).clamp(min=0).prod(-1)


def iou(box: Tensor, other: Tensor) -> Tensor:
    """The common area over that of either."""
    return _both(box, other) / (_area(box) + _area(other) - _both(box, other))


def generalised_iou(box: Tensor, other: Tensor) -> Tensor:
    """Less the share of the box around both that neither covers."""
    low, high = torch.minimum(box[..., :2], other[..., :2]), torch.maximum(box[..., 2:], other[..., 2:])
    around, either = (high - low).prod(-1), _area(box) + _area(other) - _both(box, other)
    return iou(box, other) - (around - either) / around
