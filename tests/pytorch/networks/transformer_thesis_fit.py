"""The variant `thesis_fit` of the sample `transformer`, without dropout: relu on q, k and v, no biases."""

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.pytorch.networks import Inputs, Network, Weights
from tests.pytorch.networks._attention import heads_of
from tests.steps import Task

_HEADS = 2


def _attention(w: Weights, name: str, x: Tensor, memory: Tensor, *, causal: bool = False) -> Tensor:
    inputs = {"q": x, "k": memory, "v": memory}
    query, key, value = (heads_of(F.relu(w.linear(f"{name}.{part}", of)), _HEADS) for part, of in inputs.items())
    context = F.scaled_dot_product_attention(query, key, value, is_causal=causal)
    return w.linear(f"{name}.out", context.transpose(1, 2).flatten(2))


def _feed_forward(w: Weights, name: str, x: Tensor) -> Tensor:
    return w.linear(f"{name}.fc2", F.relu(w.linear(f"{name}.fc1", x)))


def _loss(w: Weights, x: Inputs) -> Tensor:
    memory, h = x["source"], x["target"]
    for layer in range(2):
        name = f"encoder.{layer}"
        memory = w.layer_norm(f"{name}.norm1", memory + _attention(w, f"{name}.attention", memory, memory))
        memory = w.layer_norm(f"{name}.norm2", memory + _feed_forward(w, f"{name}.feed_forward", memory))
    for layer in range(2):
        name = f"decoder.{layer}"
        h = w.layer_norm(f"{name}.norm1", h + _attention(w, f"{name}.self_attention", h, h, causal=True))
        h = w.layer_norm(f"{name}.norm2", h + _attention(w, f"{name}.cross_attention", h, memory))
        h = w.layer_norm(f"{name}.norm3", h + _feed_forward(w, f"{name}.feed_forward", h))
    return F.mse_loss(h, x["expected"])


NETWORK = Network(
    Task(
        "samples:transformer",
        defines={
            "batch": 2,
            "length": 5,
            "layers": 2,
            "width": 8,
            "heads": _HEADS,
            "dropout": 0.0,
            "variant": "thesis_fit",
        },
    ),
    _loss,
    lambda params: torch.optim.Adam(params, lr=5e-4, betas=(0.9, 0.98), eps=1e-9),
)
