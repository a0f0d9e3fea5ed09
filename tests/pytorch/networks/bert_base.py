"""The sample `bert_base` at a small size, without dropout."""

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.pytorch.networks import Inputs, Network, Weights
from tests.pytorch.networks._attention import self_attention
from tests.steps import Task

_HEADS = 2


def _loss(w: Weights, x: Inputs) -> Tensor:
    h = w.embedding("embeddings.word", x["tokens"]) + w.embedding("embeddings.segment", x["segments"])
    h = w.layer_norm("embeddings.norm", h + w.embedding("embeddings.position", x["positions"]), eps=1e-12)
    for layer in range(2):
        name = f"encoder.{layer}"
        h = w.layer_norm(f"{name}.norm1", h + self_attention(w, f"{name}.attention", h, _HEADS), eps=1e-12)
        inner = w.linear(f"{name}.fc2", F.gelu(w.linear(f"{name}.fc1", h)))
        h = w.layer_norm(f"{name}.norm2", h + inner, eps=1e-12)
    pooled = torch.tanh(w.linear("pooler", h[:, 0]))
    return F.cross_entropy(w.linear("logits", pooled), x["y"])


NETWORK = Network(
    Task(
        "samples:bert_base",
        defines={"batch": 2, "length": 6, "layers": 2, "width": 8, "heads": _HEADS, "hidden": 12, "vocabulary": 20}
        | {"max_length": 7, "dropout": 0.0},
        limits={"tokens": 20, "segments": 2, "y": 2},
        inputs={"positions": [0, 1, 2, 3, 4, 5]},
    ),
    _loss,
    lambda params: torch.optim.AdamW(params, lr=2e-5, eps=1e-6, weight_decay=0.01),
)
