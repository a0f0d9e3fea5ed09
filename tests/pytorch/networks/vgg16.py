"""The sample `vgg16` at a small size, without dropout."""

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.pytorch.networks import Inputs, Network, Weights
from tests.steps import Task


def _loss(w: Weights, x: Inputs) -> Tensor:
    h = x["x"]
    for stage, convolutions in enumerate((2, 2, 3, 3, 3), start=1):
        for number in range(convolutions):
            h = F.relu(w.conv2d(f"stage{stage}.{number}.conv", h, padding=1))
        h = F.max_pool2d(h, 2, 2)
    h = h.flatten(1)
    for name in ("fc6", "fc7"):
        h = F.relu(w.linear(name, h))
    return F.cross_entropy(w.linear("logits", h), x["y"])


NETWORK = Network(
    Task(
        "samples:vgg16",
        defines={"batch": 2, "image": 32, "classes": 7, "dropout": 0.0},
        limits={"y": 7},
        changes={f", {width}, units": f", {width // 8}, units" for width in (64, 128, 256, 512)} | {"4096": "40"},
    ),
    _loss,
    lambda params: torch.optim.SGD(params, lr=0.01, momentum=0.9, weight_decay=1e-4),
)
