"""The sample `resnet50` with few channels at small images, with its strides as in torchvision."""

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.pytorch.networks import Inputs, Network, Weights
from tests.steps import Task


def bottleneck(w: Weights, name: str, x: Tensor, stride: int) -> Tensor:
    shortcut = x
    if f"{name}.project.weight" in w.params:
        shortcut = w.batch_norm(f"{name}.shortcut", w.conv2d(f"{name}.project", x, stride=stride))
    h = F.relu(w.batch_norm(f"{name}.bn1", w.conv2d(f"{name}.conv1", x)))
    h = F.relu(w.batch_norm(f"{name}.bn2", w.conv2d(f"{name}.conv2", h, stride=stride, padding=1)))
    return F.relu(w.batch_norm(f"{name}.bn3", w.conv2d(f"{name}.conv3", h)) + shortcut)


def _loss(w: Weights, x: Inputs) -> Tensor:
    h = F.relu(w.batch_norm("bn1", w.conv2d("conv1", x["x"], stride=2, padding=3)))
    h = F.max_pool2d(h, 3, stride=2, padding=1)
    for stage, blocks in enumerate((3, 4, 6, 3), start=1):
        for block in range(blocks):
            h = bottleneck(w, f"stage{stage}.{block}", h, 2 if stage > 1 and block == 0 else 1)
    return F.cross_entropy(w.linear("logits", h.mean((2, 3))), x["y"])


NETWORK = Network(
    Task(
        "samples:resnet50",
        defines={"batch": 2, "image": 64, "classes": 10, "variant": "v1_5"},
        limits={"y": 10},
        changes={f", {width}, blocks": f", {width // 8}, blocks" for width in (64, 128, 256, 512)},
    ),
    _loss,
    lambda params: torch.optim.SGD(params, lr=0.1, momentum=0.9, weight_decay=1e-4),
)
