"""The sample `efficientnet_b0` at small images, without dropout."""

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.pytorch.networks import Inputs, Network, Weights
from tests.steps import Task

_STAGES = ((1, 3, 1, 1), (2, 3, 2, 6), (2, 5, 2, 6), (3, 3, 2, 6), (3, 5, 1, 6), (4, 5, 2, 6), (1, 3, 1, 6))
"""Layers, kernel, stride and expansion (table 1 of the paper)."""


def _mbconv(w: Weights, name: str, x: Tensor, kernel: int, stride: int, expansion: int) -> Tensor:
    h = x
    if expansion > 1:
        h = F.silu(w.batch_norm(f"{name}.h.batch_norm", w.conv2d(f"{name}.h.conv2d", x)))
    h = w.conv2d(f"{name}.depthwise", h, stride=stride, padding=kernel // 2, groups=h.shape[1])
    h = F.silu(w.batch_norm(f"{name}.activation.batch_norm", h))
    squeezed = F.silu(w.linear(f"{name}.se.fc1.linear", F.adaptive_avg_pool2d(h, 1).flatten(1)))
    assert squeezed.shape[1] == max(1, x.shape[1] // 4)
    gate = torch.sigmoid(w.linear(f"{name}.se.fc2.linear", squeezed))
    h = w.batch_norm(f"{name}.project", w.conv2d(f"{name}.project.conv2d", h * gate[:, :, None, None]))
    return x + h if h.shape == x.shape else h


def _loss(w: Weights, x: Inputs) -> Tensor:
    h = F.silu(w.batch_norm("stem.batch_norm", w.conv2d("stem.conv2d", x["x"], stride=2, padding=1)))
    for stage, (layers, kernel, stride, expansion) in enumerate(_STAGES, start=1):
        for layer in range(layers):
            h = _mbconv(w, f"stage{stage}.{layer}", h, kernel, stride if layer == 0 else 1, expansion)
    h = F.silu(w.batch_norm("head.batch_norm", w.conv2d("head.conv2d", h)))
    return F.cross_entropy(w.linear("logits", h.mean((2, 3))), x["y"])


NETWORK = Network(
    Task(
        "samples:efficientnet_b0",
        defines={"batch": 2, "image": 96, "classes": 7, "dropout": 0.0},
        limits={"y": 7},
    ),
    _loss,
    lambda params: torch.optim.RMSprop(params, lr=0.016, alpha=0.9, eps=0.0316, momentum=0.9, weight_decay=1e-5),
)
