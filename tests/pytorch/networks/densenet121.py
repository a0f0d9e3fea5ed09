"""The sample `densenet121` with few layers and channels."""

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.pytorch.networks import Inputs, Network, Weights
from tests.steps import Task

_DEPTHS = [2, 3, 2, 2]


def _conv(w: Weights, name: str, x: Tensor, **options: int) -> Tensor:
    """The paper's composite function: normalisation, relu, convolution."""
    return w.conv2d(name, F.relu(w.batch_norm(f"{name}.batch_norm", x)), **options)


def _loss(w: Weights, x: Inputs) -> Tensor:
    h = F.relu(w.batch_norm("pool0.batch_norm", w.conv2d("conv0", x["x"], stride=2, padding=3)))
    h = F.max_pool2d(h, 3, 2, 1)
    for number, depth in enumerate(_DEPTHS, start=1):
        features = [h]
        for layer in range(depth):
            name = f"dense{number}.{layer}"
            inside = _conv(w, f"{name}.conv1", torch.cat(features, 1))
            features.append(_conv(w, f"{name}.conv2", inside, padding=1))
        h = torch.cat(features, 1)
        if number < len(_DEPTHS):
            h = F.avg_pool2d(_conv(w, f"transition{number}.conv", h), 2)
    h = F.adaptive_avg_pool2d(F.relu(w.batch_norm("features.batch_norm", h)), 1).flatten(1)
    return F.cross_entropy(w.linear("logits", h), x["y"])


NETWORK = Network(
    Task(
        "samples:densenet121",
        defines={"batch": 4, "image": 64, "classes": 7, "growth": 4, "depths": _DEPTHS},
        limits={"y": 7},
    ),
    _loss,
    lambda params: torch.optim.SGD(params, lr=0.1, momentum=0.9, weight_decay=1e-4),
)
