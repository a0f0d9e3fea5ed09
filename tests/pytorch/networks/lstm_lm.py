"""The sample `lstm_lm` at a small size, without dropout, by torch.nn.LSTM."""

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.pytorch.networks import Inputs, Network, Weights
from tests.pytorch.networks._recurrent import recurrent
from tests.steps import Task


def _loss(w: Weights, x: Inputs) -> Tensor:
    words = w.embedding("words.embedding", x["tokens"])
    output, _ = recurrent(w, "lstm", torch.nn.LSTM, words)
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
