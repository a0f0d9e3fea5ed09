"""Weights that several layers share, one of them a table of words and the output layer; one that stays."""

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.func import functional_call

from tests.pytorch.networks import Inputs, Network, Weights
from tests.steps import Task

_SOURCE = """
network tied(batch=3, length=4, words=9, width=6) {
  input tokens: i32[batch, length]
  input later: i32[batch, length]
  labels y: i32[batch, length]
  table = param([words, width])
  fixed = frozen param([width, width], bound=0.7)
  square = param([width, width])
  ih = param([width, width])
  hh = param([width, width])
  outputs = []
  h = mean(embedding(tokens, weight=table), axis=1)
  for step in unbind(embedding(tokens, weight=table), 1) {
    h = rnn_cell(step, h, ih, hh, bias=false)
    outputs = outputs + [linear(h, weight=square, bias=false)]
  }
  states = stack(outputs, 1)
  mixed = linear(linear(states, weight=fixed, bias=false), weight=square, bias=false) + states
  logits = matmul(mixed, table, transpose_b=true)
  product = matmul(table, table, transpose_b=true)
  output logits
  loss cross_entropy(logits, y)
  loss cross_entropy(linear(mixed, weight=transpose(table, [1, 0]), bias=false), later) * 0.5
  loss 0.01 * sum(product ** 2)
  optimizer adamw(lr=0.01, weight_decay=0.05)
}
"""


def _loss(w: Weights, x: Inputs) -> Tensor:
    table = w["table"]
    words = F.embedding(x["tokens"], table)
    cell = torch.nn.RNN(6, 6, bias=False, batch_first=True)
    weights = {"weight_ih_l0": w["ih"].T, "weight_hh_l0": w["hh"].T}
    outputs, _ = functional_call(cell, weights, (words, words.mean(1)[None]))
    states = outputs @ w["square"]
    mixed = states @ w["fixed"] @ w["square"] + states
    logits = (mixed @ table.T).mT
    loss = F.cross_entropy(logits, x["y"]) + 0.5 * F.cross_entropy(logits, x["later"])
    return loss + 0.01 * torch.linalg.matrix_norm(table @ table.T) ** 2


NETWORK = Network(
    Task(_SOURCE, limits={"tokens": 9, "later": 9, "y": 9}),
    _loss,
    lambda params: torch.optim.AdamW(params, lr=0.01, weight_decay=0.05),
    frozen=frozenset({"fixed"}),
)
