"""The sample `mobilenet_v2` at small images."""

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.pytorch.networks import Inputs, Network, Weights
from tests.steps import Task

_STAGES = ((1, 1, 1), (2, 2, 6), (3, 2, 6), (4, 2, 6), (3, 1, 6), (3, 2, 6), (1, 1, 6))
"""Blocks, stride and expansion (table 2 of the paper)."""


def _block(w: Weights, name: str, x: Tensor, stride: int, expansion: int) -> Tensor:
    h = x
    if expansion > 1:
        h = F.relu6(w.batch_norm(f"{name}.expand_bn", w.conv2d(f"{name}.expand", x)))
    h = w.conv2d(f"{name}.depthwise", h, stride=stride, padding=1, groups=h.shape[1])
    h = F.relu6(w.batch_norm(f"{name}.depthwise_bn", h))
    h = w.batch_norm(f"{name}.project_bn", w.conv2d(f"{name}.project", h))
    return x + h if h.shape == x.shape else h


def _loss(w: Weights, x: Inputs) -> Tensor:
    h = F.relu6(w.batch_norm("bn1", w.conv2d("conv1", x["x"], stride=2, padding=1)))
    for stage, (blocks, stride, expansion) in enumerate(_STAGES, start=1):
        for block in range(blocks):
            h = _block(w, f"stage{stage}.{block}", h, stride if block == 0 else 1, expansion)
    h = F.relu6(w.batch_norm("bn8", w.conv2d("conv8", h)))
    return F.cross_entropy(w.linear("logits", h.mean((2, 3))), x["y"])


NETWORK = Network(
    Task(
        "samples:mobilenet_v2",
        defines={"batch": 2, "image": 96, "classes": 10},
        limits={"y": 10},
    ),
    _loss,
    lambda params: torch.optim.SGD(params, lr=0.045, momentum=0.9, weight_decay=4e-5),
)
