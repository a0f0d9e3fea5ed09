"""The sample `mlp`."""

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.pytorch.networks import Network, Weights


def _loss(w: Weights, x: Mapping[str, Tensor]) -> Tensor:
    hidden = F.relu(w.linear("h.linear", x["x"]))
    return F.cross_entropy(w.linear("logits", hidden), x["y"])


NETWORK = Network(
    "samples:mlp",
    _loss,
    lambda params: torch.optim.SGD(params, lr=0.1, momentum=0.9),
    defines={"batch": 8, "hidden": 32},
    limits={"y": 10},
)
