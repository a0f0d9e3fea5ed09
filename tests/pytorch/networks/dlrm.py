"""The sample `dlrm` with small tables."""

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.pytorch.networks import Inputs, Network, Weights
from tests.steps import Task

_TABLES = [4, 9, 3, 6]


def _mlp(w: Weights, name: str, x: Tensor, layers: int) -> Tensor:
    for layer in range(layers):
        x = F.relu(w.linear(f"{name}.{layer}.x.linear", x))
    return x


def _loss(w: Weights, x: Inputs) -> Tensor:
    numbers = _mlp(w, "features.mlp", x["numbers"], 3)
    offsets = torch.arange(len(x["clicked"]))  # a bag for each sample, with one index
    bags = [
        F.embedding_bag(ids, w[f"{table}.table.weight"], offsets, mode="sum")
        for table, ids in enumerate(x["categories"])
    ]
    features = torch.stack([numbers, *bags], 1)
    products = torch.bmm(features, features.transpose(1, 2))
    rows, columns = torch.tril_indices(len(bags) + 1, len(bags) + 1, -1)
    top = _mlp(w, "top", torch.cat([numbers, products[:, rows, columns]], 1), 2)
    return F.binary_cross_entropy_with_logits(w.linear("logits", top), x["clicked"])


NETWORK = Network(
    Task(
        "samples:dlrm",
        defines={"batch": 5, "size": 4, "bottom": [6, 5], "top": [7, 5], "tables": _TABLES},
        limits={"categories": 3},
        inputs={"clicked": [[1.0], [0.0], [0.0], [1.0], [0.0]]},
    ),
    _loss,
    lambda params: torch.optim.SGD(params, lr=0.1),
)
