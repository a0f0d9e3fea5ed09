"""The sample `lstm_lm` at a small size, without dropout, by torch.nn.LSTM."""

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.pytorch.networks import Inputs, Network, Weights
from tests.pytorch.networks._recurrent import lstm_by_operations, recurrent
from tests.steps import Task


def _loss(w: Weights, x: Inputs) -> Tensor:
    output, _ = recurrent(w, "lstm", torch.nn.LSTM, w.embedding("words.embedding", x["tokens"]))
    return _scored(w, x, output)


def loss_by_operations(w: Weights, x: Inputs) -> Tensor:
    """The same without the kernel that PyTorch has for the layer."""
    output, _ = lstm_by_operations(w, "lstm", w.embedding("words.embedding", x["tokens"]))
    return _scored(w, x, output)


def _scored(w: Weights, x: Inputs, output: Tensor) -> Tensor:
    return F.cross_entropy(w.linear("logits", output).transpose(1, 2), x["y"])


NETWORK = Network(
    Task(
        "samples:lstm_lm",
        defines={"batch": 3, "length": 6, "hidden": 5, "layers": 2, "vocabulary": 11, "dropout": 0.0},
        limits={"tokens": 11, "y": 11},
    ),
    _loss,
    lambda params: torch.optim.SGD(params, lr=1.0),
)
