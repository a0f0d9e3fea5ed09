"""The sample `mnasnet` at small images."""

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.pytorch.networks import Inputs, Network, Weights
from tests.steps import Task

_STAGES = ((3, 3, 2), (3, 5, 2), (3, 5, 2), (2, 3, 1), (4, 5, 2), (1, 3, 1))
"""Blocks, kernel and stride (figure 7 of the paper)."""


def _block(w: Weights, name: str, x: Tensor, kernel: int, stride: int) -> Tensor:
    h = F.relu(w.batch_norm(f"{name}.expand_bn", w.conv2d(f"{name}.expand", x)))
    h = w.conv2d(f"{name}.depthwise", h, stride=stride, padding=kernel // 2, groups=h.shape[1])
    h = F.relu(w.batch_norm(f"{name}.depthwise_bn", h))
    h = w.batch_norm(f"{name}.project_bn", w.conv2d(f"{name}.project", h))
    return x + h if h.shape == x.shape else h


def _loss(w: Weights, x: Inputs) -> Tensor:
    h = F.relu(w.batch_norm("bn1", w.conv2d("conv1", x["x"], stride=2, padding=1)))
    h = w.conv2d("depthwise1", h, padding=1, groups=32)
    h = w.conv2d("project1", F.relu(w.batch_norm("depthwise_bn1", h)))
    h = w.batch_norm("project_bn1", h)
    for stage, (blocks, kernel, stride) in enumerate(_STAGES, start=1):
        for block in range(blocks):
            h = _block(w, f"stage{stage}.{block}", h, kernel, stride if block == 0 else 1)
    h = F.relu(w.batch_norm("bn7", w.conv2d("conv7", h)))
    return F.cross_entropy(w.linear("logits", h.mean((2, 3))), x["y"])


NETWORK = Network(
    Task(
        "samples:mnasnet",
        defines={"batch": 2, "image": 96, "classes": 10, "dropout": 0.0},
        limits={"y": 10},
    ),
    _loss,
    lambda params: torch.optim.SGD(params, lr=0.045, momentum=0.9, weight_decay=4e-5),
)
