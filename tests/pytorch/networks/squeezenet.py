"""The sample `squeezenet` at small images, without dropout."""

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.pytorch.networks import Inputs, Network, Weights
from tests.steps import Task


def loss(w: Weights, x: Inputs) -> Tensor:
    """The loss of version 1.0, or of 1.1, whose first kernel is 3."""
    early = w["conv1.conv2d.weight"].shape[-1] == 3
    pooled_before = (2, 4, 6) if early else (2, 5, 9)  # the numbers of the fire modules
    h = F.relu(w.conv2d("conv1.conv2d", x["x"], stride=2))
    fires = [name.removesuffix(".squeeze.conv2d.weight") for name in w.params if name.endswith("squeeze.conv2d.weight")]
    for number, name in enumerate(fires, start=2):
        if number in pooled_before:
            h = F.max_pool2d(h, 3, 2, ceil_mode=True)
        squeezed = F.relu(w.conv2d(f"{name}.squeeze.conv2d", h))
        expanded = (w.conv2d(f"{name}.expand{k}.conv2d", squeezed, padding=k // 2) for k in (1, 3))
        h = F.relu(torch.cat(list(expanded), 1))
    assert number == 9
    scores = F.relu(w.conv2d("conv10.conv2d", h))
    return F.cross_entropy(F.adaptive_avg_pool2d(scores, 1).flatten(1), x["y"])


def network(variant: str) -> Network:
    """One of the two versions."""
    defines = {"batch": 2, "image": 49, "classes": 7, "dropout": 0.0, "variant": variant}
    return Network(
        Task("samples:squeezenet", defines=defines, limits={"y": 7}),
        loss,
        lambda params: torch.optim.SGD(params, lr=0.01, momentum=0.9, weight_decay=1e-4),
    )


NETWORK = network("v1_0")
