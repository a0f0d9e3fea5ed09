"""A classifier of sequences by the last states of two layers of LSTM in both directions."""

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.pytorch.networks import Inputs, Network, Weights
from tests.pytorch.networks._recurrent import lstm_by_operations, recurrent
from tests.steps import Task

_SOURCE = """
network lstm_classifier(batch=3, length=5, hidden=4) {
  input tokens: i32[batch, length]
  labels y: i32[batch]
  words = embedding(tokens, 11, 6)
  lstm, last, cell = lstm(words, hidden, layers=2, bidirectional=true, states=true)
  forward, backward = [slice(last, 0, 2, 3), slice(last, 0, 3, 4)]
  state = concat([squeeze(forward, 0), squeeze(backward, 0)], axis=1)
  logits = linear(state + mean(lstm, 1) * 0.5, 4)
  output logits
  output cell
  loss cross_entropy(logits, y)
  optimizer adam(lr=0.01, amsgrad=true)
}
"""


def _loss(w: Weights, x: Inputs) -> Tensor:
    words = w.embedding("words", x["tokens"])
    return _scored(w, x, *recurrent(w, "lstm", torch.nn.LSTM, words, bidirectional=True))


def loss_by_operations(w: Weights, x: Inputs) -> Tensor:
    """The same without the kernel that PyTorch has for the layer."""
    return _scored(w, x, *lstm_by_operations(w, "lstm", w.embedding("words", x["tokens"])))


def _scored(w: Weights, x: Inputs, output: Tensor, last: Tensor) -> Tensor:
    state = torch.cat([last[-2], last[-1]], -1)
    return F.cross_entropy(w.linear("logits", state + 0.5 * output.mean(1)), x["y"])


NETWORK = Network(
    Task(_SOURCE, limits={"tokens": 11, "y": 4}),
    _loss,
    lambda params: torch.optim.Adam(params, lr=0.01, amsgrad=True),
)
