"""A classifier of sequences by the last state of two layers of GRU, with the last class rare and so weighed by hand."""

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.pytorch.networks import Inputs, Network, Weights
from tests.pytorch.networks._recurrent import recurrent
from tests.steps import Task

_SOURCE = """
network gru_classifier(batch=4, length=6, hidden=5) {
  input x: f32[batch, length, 3]
  labels y: i32[batch]
  input weight: f32[batch]
  gru, last = gru(x, hidden, layers=2, states=true)
  state = squeeze(slice(last, 0, 1), 0)
  scores = log_softmax(linear(state, 3))
  chosen = sum(scores * one_hot(y, 3), axis=1)
  output gru
  output scores
  loss 0 - mean(chosen * weight)
  optimizer rmsprop(lr=0.02, alpha=0.8, centered=true)
}
"""


def _loss(w: Weights, x: Inputs) -> Tensor:
    _, last = recurrent(w, "gru", torch.nn.GRU, x["x"])
    each = F.cross_entropy(w.linear("scores.linear", last[-1]), x["y"], reduction="none")
    return (each * x["weight"]).mean()


NETWORK = Network(
    Task(_SOURCE, limits={"y": 3}),
    _loss,
    lambda params: torch.optim.RMSprop(params, lr=0.02, alpha=0.8, centered=True),
)
