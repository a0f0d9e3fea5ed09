"""The sample `googlenet` at small images, without dropout."""

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.pytorch.networks import Inputs, Network, Weights
from tests.steps import Task


def _inception(w: Weights, name: str, x: Tensor) -> Tensor:
    """Figure 2b."""
    pooled = F.max_pool2d(x, 3, 1, 1)
    reduced3 = F.relu(w.conv2d(f"{name}.reduce3.conv2d", x))
    reduced5 = F.relu(w.conv2d(f"{name}.reduce5.conv2d", x))
    branches = [
        w.conv2d(f"{name}.b1.conv2d", x),
        w.conv2d(f"{name}.b3.conv2d", reduced3, padding=1),
        w.conv2d(f"{name}.b5.conv2d", reduced5, padding=2),
        w.conv2d(f"{name}.pool.conv2d", pooled),
    ]
    return F.relu(torch.cat(branches, 1))


def _auxiliary(w: Weights, name: str, x: Tensor) -> Tensor:
    h = F.relu(w.conv2d(f"{name}.conv.conv2d", F.avg_pool2d(x, 5, 3)))
    return w.linear(f"{name}.logits", F.relu(w.linear(f"{name}.fc.linear", h.flatten(1))))


def _loss(w: Weights, x: Inputs) -> Tensor:
    h = F.max_pool2d(F.relu(w.conv2d("conv1.conv2d", x["x"], stride=2, padding=3)), 3, 2, ceil_mode=True)
    h = F.relu(w.conv2d("reduce2.conv2d", F.local_response_norm(h, 5)))
    h = F.local_response_norm(F.relu(w.conv2d("norm2.conv2d", h, padding=1)), 5)
    loss = torch.zeros(())
    for name in ("", "3a", "3b", "", "4a", "4b", "4c", "4d", "4e", "", "5a", "5b"):
        h = _inception(w, f"inception{name}", h) if name else F.max_pool2d(h, 3, 2, ceil_mode=True)
        if name in ("4a", "4d"):
            logits = _auxiliary(w, "aux1" if name == "4a" else "aux2", h)
            loss = loss + 0.3 * F.cross_entropy(logits, x["y"])
    return loss + F.cross_entropy(w.linear("logits", h.mean((-1, -2))), x["y"])


NETWORK = Network(
    Task(
        "samples:googlenet",
        defines={"batch": 2, "image": 80, "classes": 7, "dropout": 0.0, "auxiliary_dropout": 0.0},
        limits={"y": 7},
    ),
    _loss,
    lambda params: torch.optim.SGD(params, lr=0.01, momentum=0.9, weight_decay=2e-4),
)
