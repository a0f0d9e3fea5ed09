"""The sample `alexnet` at small images, with narrow linear layers and without dropout."""

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.pytorch.networks import Inputs, Network, Weights
from tests.steps import Task


def _loss(w: Weights, x: Inputs) -> Tensor:
    h = F.max_pool2d(F.relu(w.conv2d("conv1", x["x"], stride=4, padding=2)), 3, 2)
    h = F.max_pool2d(F.relu(w.conv2d("conv2", h, padding=2)), 3, 2)
    for number in (3, 4, 5):
        h = F.relu(w.conv2d(f"conv{number}", h, padding=1))
    h = F.max_pool2d(h, 3, 2).flatten(1)
    for name in ("fc6", "fc7"):
        h = F.relu(w.linear(name, h))
    return F.cross_entropy(w.linear("logits", h), x["y"])


NETWORK = Network(
    Task(
        "samples:alexnet",
        defines={"batch": 2, "image": 63, "classes": 7, "dropout": 0.0},
        limits={"y": 7},
        changes={"4096": "40"},
    ),
    _loss,
    lambda params: torch.optim.SGD(params, lr=0.01, momentum=0.9, weight_decay=1e-4),
)
