"""The sample `llama_block` at a small size, with queries in groups."""

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.pytorch.networks import Inputs, Network, Weights
from tests.pytorch.networks._attention import rotary_attention
from tests.steps import Task

_HEADS, _KV_HEADS = 4, 2


def _loss(w: Weights, x: Inputs) -> Tensor:
    h = x["x"]
    for layer in range(2):
        h = h + rotary_attention(w, f"{layer}.attention", w.rms_norm(f"{layer}.norm1", h, 1e-6), _HEADS, _KV_HEADS)
        norm = w.rms_norm(f"{layer}.norm2", h, 1e-6)
        h = h + w.linear(f"{layer}.down", F.silu(w.linear(f"{layer}.gate", norm)) * w.linear(f"{layer}.up", norm))
    return F.mse_loss(h, x["expected"])


NETWORK = Network(
    Task(
        "samples:llama_block",
        defines={
            "batch": 2,
            "length": 5,
            "layers": 2,
            "width": 16,
            "heads": _HEADS,
            "kv_heads": _KV_HEADS,
            "hidden": 12,
        },
    ),
    _loss,
    lambda params: torch.optim.AdamW(params, lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1),
)
