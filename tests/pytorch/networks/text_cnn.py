"""A classifier of sentences by convolutions of several widths and the maximum over time (Kim, 2014)."""

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.pytorch.networks import Inputs, Network, Weights
from tests.steps import Task

_SOURCE = """
block convolution(words, kernel) {
  conv = conv1d(words, 5, kernel=kernel, padding=kernel // 2, dilation=1 if kernel == 2 else 2)
  return amax(leaky_relu(conv, 0.1), 2)
}

network text_cnn(batch=3, length=9, width=6) {
  input  tokens: i32[batch, length]
  labels y: i32[batch]
  table = frozen embedding(tokens, 17, width)
  tuned = embedding(tokens, 17, width)
  words = transpose(concat([table, tuned], axis=2), [0, 2, 1])
  features = []
  for kernel in [2, 3, 4] { features = features + [convolution(words, kernel)] }
  merged = concat(features, axis=1)
  pooled = max_pool1d(conv_transpose1d(words, 4, kernel=3, stride=2, output_padding=1), kernel=3, stride=2)
  gate = sigmoid(linear(flatten(avg_pool1d(pooled, kernel=2)), 15))
  logits = linear(merged * gate, 4)
  loss cross_entropy(logits, y)
  optimizer adagrad(lr=0.05, lr_decay=0.1)
}
"""


def _loss(w: Weights, x: Inputs) -> Tensor:
    words = torch.cat([w.embedding("table", x["tokens"]), w.embedding("tuned", x["tokens"])], -1).mT
    features: list[Tensor] = []
    for number, kernel in enumerate((2, 3, 4)):
        name = f"{number}.features.convolution.conv"
        h = w.conv1d(name, words, padding=kernel // 2, dilation=1 if kernel == 2 else 2)
        features.append(torch.amax(F.leaky_relu(h, 0.1), -1))
    name = "pooled.conv_transpose1d"
    h = F.conv_transpose1d(words, w[f"{name}.weight"], w[f"{name}.bias"], stride=2, output_padding=1)
    pooled = F.avg_pool1d(F.max_pool1d(h, 3, 2), 2).flatten(1)
    gate = torch.sigmoid(w.linear("gate.linear", pooled))
    return F.cross_entropy(w.linear("logits", torch.cat(features, 1) * gate), x["y"])


NETWORK = Network(
    Task(_SOURCE, limits={"tokens": 17, "y": 4}),
    _loss,
    lambda params: torch.optim.Adagrad(params, lr=0.05, lr_decay=0.1),
    frozen=frozenset({"table.weight"}),
)
