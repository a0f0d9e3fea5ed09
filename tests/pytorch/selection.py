"""PyTorch's places of elements that are not 0, and boxes that stay, by PyTorch's tensors and a plain loop."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def _nonzero(x: Tensor, size: int) -> Tensor:
    places = torch.nonzero(x)
    assert len(places) == size
    return places


def _overlap(a: Tensor, b: Tensor) -> float:
    """The shared area of two boxes of ordered corners over that of both."""
    shared = (torch.minimum(a[2:], b[2:]) - torch.maximum(a[:2], b[:2])).clamp(min=0).prod()
    return float(shared / ((a[2:] - a[:2]).prod() + (b[2:] - b[:2]).prod() - shared))


def _nms(
    boxes: Tensor,
    scores: Tensor,
    size: int,
    iou: float,
    most: int | None = None,
    least: float | None = None,
    centered: bool = False,
) -> Tensor:
    if centered:
        half = boxes[..., 2:] / 2
        boxes = torch.cat([boxes[..., :2] - half, boxes[..., :2] + half], -1)
    low, high = torch.minimum(boxes[..., :2], boxes[..., 2:]), torch.maximum(boxes[..., :2], boxes[..., 2:])
    boxes = torch.cat([low, high], -1).detach()
    found: list[list[int]] = []
    for batch in range(scores.shape[0]):
        for number, own in enumerate(scores[batch]):
            kept: list[int] = []
            for place in torch.sort(own, stable=True, descending=True).indices.tolist():
                if least is not None and own[place] <= least:
                    continue
                if all(_overlap(boxes[batch, place], boxes[batch, other]) <= iou for other in kept):
                    kept.append(place)
            found += [[batch, number, place] for place in kept[:most]]
    assert len(found) == size
    return torch.tensor(found)


TORCH: dict[str, Callable[..., Any]] = {"nonzero": _nonzero, "non_max_suppression": _nms}
