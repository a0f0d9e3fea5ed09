"""The sample `ncf` with small tables."""

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.pytorch.networks import Inputs, Network, Weights
from tests.steps import Task


def _loss(w: Weights, x: Inputs) -> Tensor:
    product = w.embedding("user_factors", x["user"]) * w.embedding("item_factors", x["item"])
    h = torch.cat([w.embedding("user_vector", x["user"]), w.embedding("item_vector", x["item"])], 1)
    for layer in (1, 2):
        h = F.relu(w.linear(f"{layer}.mlp.linear", h))
    logits = w.linear("logits", torch.cat([product, h], 1))
    return F.binary_cross_entropy_with_logits(logits, x["liked"])


NETWORK = Network(
    Task(
        "samples:ncf",
        defines={"batch": 6, "users": 7, "items": 5, "factors": 3, "widths": [8, 6, 4]},
        limits={"user": 7, "item": 5},
        inputs={"liked": [[1.0], [0.0], [1.0], [1.0], [0.0], [0.0]]},
    ),
    _loss,
    lambda params: torch.optim.Adam(params, lr=0.0045, betas=(0.25, 0.5)),
)
