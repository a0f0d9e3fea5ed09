"""The sample `lenet`."""

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.pytorch.networks import Network, Weights


def _loss(w: Weights, x: Mapping[str, Tensor]) -> Tensor:
    h = F.max_pool2d(F.relu(w.conv2d("conv1", x["x"], padding=2)), 2)
    h = F.max_pool2d(F.relu(w.conv2d("conv2", h)), 2).flatten(1)
    h = F.relu(w.linear("fc4", F.relu(w.linear("fc3", h))))
    return F.cross_entropy(w.linear("logits", h), x["y"])


NETWORK = Network(
    "samples:lenet",
    _loss,
    lambda params: torch.optim.SGD(params, lr=0.01, momentum=0.9, weight_decay=5e-4),
    defines={"batch": 4},
    limits={"y": 10},
)
