"""The sample `resnet18` at small images."""

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.pytorch.networks import Inputs, Network, Weights
from tests.steps import Task


def _basic(w: Weights, name: str, x: Tensor, stride: int) -> Tensor:
    shortcut = x
    if f"{name}.project.weight" in w.params:
        shortcut = w.batch_norm(f"{name}.shortcut", w.conv2d(f"{name}.project", x, stride=stride))
    h = F.relu(w.batch_norm(f"{name}.bn1", w.conv2d(f"{name}.conv1", x, stride=stride, padding=1)))
    h = w.batch_norm(f"{name}.bn2", w.conv2d(f"{name}.conv2", h, padding=1))
    return F.relu(h + shortcut)


def _loss(w: Weights, x: Inputs) -> Tensor:
    h = F.relu(w.batch_norm("bn1", w.conv2d("conv1", x["x"], stride=2, padding=3)))
    h = F.max_pool2d(h, 3, stride=2, padding=1)
    for stage in range(1, 5):
        for block in range(2):
            h = _basic(w, f"stage{stage}.{block}", h, 2 if stage > 1 and block == 0 else 1)
    return F.cross_entropy(w.linear("logits", h.mean((2, 3))), x["y"])


NETWORK = Network(
    Task(
        "samples:resnet18",
        defines={"batch": 2, "image": 96, "classes": 10},
        limits={"y": 10},
    ),
    _loss,
    lambda params: torch.optim.SGD(params, lr=0.1, momentum=0.9, weight_decay=1e-4),
)
