"""A language model with rotary positions: neighbours are pairs, and one key and value serve all heads."""

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.pytorch.networks import Inputs, Network, Weights
from tests.pytorch.networks._attention import rotary_attention
from tests.steps import Task

_SOURCE = """
block layer(x, heads) {
  attention = multi_head_attention(layer_norm(x), heads, causal=true, kv_heads=1, rotary=true, base=500,
                                   interleaved=true)
  residual = x + attention
  inside = gelu(linear(layer_norm(residual), 24))
  outside = linear(inside, 12)
  return residual + outside
}

network rotary_gpt(batch=2, length=6, layers=2, heads=3) {
  input tokens: i32[batch, length]
  labels y: i32[batch, length]
  h = embedding(tokens, 15, 12)
  for i in 0..layers { h = layer(h, heads) }
  logits = linear(layer_norm(h), 15)
  loss cross_entropy(logits, y, label_smoothing=0.1, ignore_index=3)
  optimizer nadam(lr=0.01)
}
"""


def _loss(w: Weights, x: Inputs) -> Tensor:
    h = w.embedding("h", x["tokens"])
    for layer in range(2):
        norm = w.layer_norm(f"{layer}.attention.layer_norm", h)
        h = h + rotary_attention(w, f"{layer}.attention", norm, 3, 1, base=500.0, interleaved=True)
        norm = w.layer_norm(f"{layer}.inside.layer_norm", h)
        h = h + w.linear(f"{layer}.outside", F.gelu(w.linear(f"{layer}.inside.linear", norm)))
    logits = w.linear("logits", w.layer_norm("logits.layer_norm", h))
    return F.cross_entropy(logits.flatten(0, 1), x["y"].flatten(), label_smoothing=0.1, ignore_index=3)


NETWORK = Network(
    Task(_SOURCE, limits={"tokens": 15, "y": 15}),
    _loss,
    lambda params: torch.optim.NAdam(params, lr=0.01),
)
