"""The sample `shufflenet_v2` at small images and with few channels."""

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.pytorch.networks import Inputs, Network, Weights
from tests.steps import Task

_WIDTHS = [8, 16, 32, 24]


def _conv(w: Weights, name: str, x: Tensor, **options: int) -> Tensor:
    return F.relu(w.batch_norm(f"{name}.batch_norm", w.conv2d(f"{name}.conv2d", x, **options)))


def _depthwise(w: Weights, name: str, x: Tensor, stride: int) -> Tensor:
    h = w.conv2d(f"{name}.conv2d", x, stride=stride, padding=1, groups=x.shape[1])
    return w.batch_norm(name, h)


def _branch(w: Weights, name: str, x: Tensor, stride: int) -> Tensor:
    h = _depthwise(w, f"{name}.depthwise", _conv(w, f"{name}.conv1", x), stride)
    return _conv(w, f"{name}.conv2", h)


def _loss(w: Weights, x: Inputs) -> Tensor:
    h = F.max_pool2d(_conv(w, "conv1", x["x"], stride=2, padding=1), 3, 2, 1)
    for stage, units in ((2, 4), (3, 8), (4, 4)):
        left = _conv(w, f"stage{stage}.left.conv", _depthwise(w, f"stage{stage}.left.depthwise", h, 2))
        h = F.channel_shuffle(torch.cat([left, _branch(w, f"stage{stage}.right", h, 2)], 1), 2)
        for unit in range(1, units):
            kept, changed = h.chunk(2, 1)
            h = F.channel_shuffle(torch.cat([kept, _branch(w, f"stage{stage}.{unit}.right", changed, 1)], 1), 2)
    return F.cross_entropy(w.linear("logits", _conv(w, "conv5", h).mean((2, 3))), x["y"])


NETWORK = Network(
    Task(
        "samples:shufflenet_v2",
        defines={"batch": 4, "image": 96, "classes": 7, "widths": _WIDTHS},
        limits={"y": 7},
    ),
    _loss,
    lambda params: torch.optim.SGD(params, lr=0.5, momentum=0.9, weight_decay=2e-5),
)
