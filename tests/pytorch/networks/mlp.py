"""The sample `mlp`."""

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.pytorch.networks import Inputs, Network, Weights
from tests.steps import Task


def _loss(w: Weights, x: Inputs) -> Tensor:
    hidden = F.relu(w.linear("h.linear", x["x"]))
    return F.cross_entropy(w.linear("logits", hidden), x["y"])


NETWORK = Network(
    Task(
        "samples:mlp",
        defines={"batch": 8, "hidden": 32},
        limits={"y": 10},
    ),
    _loss,
    lambda params: torch.optim.SGD(params, lr=0.1, momentum=0.9),
)
