"""The sample `lenet`."""

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.pytorch.networks import Inputs, Network, Weights
from tests.steps import Task


def _loss(w: Weights, x: Inputs) -> Tensor:
    h = F.max_pool2d(F.relu(w.conv2d("conv1", x["x"], padding=2)), 2)
    h = F.max_pool2d(F.relu(w.conv2d("conv2", h)), 2).flatten(1)
    h = F.relu(w.linear("fc4", F.relu(w.linear("fc3", h))))
    return F.cross_entropy(w.linear("logits", h), x["y"])


NETWORK = Network(
    Task(
        "samples:lenet",
        defines={"batch": 4},
        limits={"y": 10},
    ),
    _loss,
    lambda params: torch.optim.SGD(params, lr=0.01, momentum=0.9, weight_decay=5e-4),
)
