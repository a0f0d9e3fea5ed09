"""The sample `mobilenet_v1` with few channels at small images."""

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.pytorch.networks import Inputs, Network, Weights
from tests.steps import Task

_STAGES = ((8, 1), (16, 2), (32, 2), (64, 6), (128, 2))
"""Channels and blocks; all but the first stage halve the image."""


def _separable(w: Weights, name: str, x: Tensor, stride: int) -> Tensor:
    h = w.conv2d(f"{name}.depthwise", x, stride=stride, padding=1, groups=x.shape[1])
    h = F.relu(w.batch_norm(f"{name}.depthwise_bn", h))
    return F.relu(w.batch_norm(f"{name}.pointwise_bn", w.conv2d(f"{name}.pointwise", h)))


def _loss(w: Weights, x: Inputs) -> Tensor:
    h = F.relu(w.batch_norm("bn1", w.conv2d("conv1", x["x"], stride=2, padding=1)))
    for stage, (channels, blocks) in enumerate(_STAGES, start=1):
        for block in range(blocks):
            name = f"stage{stage}" if stage == 1 else f"stage{stage}.{block}"
            h = _separable(w, name, h, 2 if stage > 1 and block == 0 else 1)
            assert h.shape[1] == channels
    return F.cross_entropy(w.linear("logits", h.mean((2, 3))), x["y"])


NETWORK = Network(
    Task(
        "samples:mobilenet_v1",
        defines={"batch": 2, "image": 96, "classes": 10},
        limits={"y": 10},
        changes={"separable(relu1, 64)": "separable(relu1, 8)"}
        | {f", {8 * channels}, blocks": f", {channels}, blocks" for channels, _ in _STAGES[1:]},
    ),
    _loss,
    lambda params: torch.optim.RMSprop(params, lr=0.045, alpha=0.9, eps=1.0, momentum=0.9, weight_decay=4e-5),
)
