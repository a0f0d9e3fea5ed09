"""The sample `t5_small` at a small size, without dropout, with the buckets of distances as in Hugging Face's T5."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.pytorch.networks import Inputs, Network, Weights
from tests.pytorch.networks._attention import heads_of
from tests.steps import Task

_HEADS, _WIDTH = 2, 6


def bucket(distance: Tensor, *, bidirectional: bool, buckets: int = 32, farthest: int = 128) -> Tensor:
    """The bucket of key position minus query position."""
    start = torch.zeros_like(distance)
    if bidirectional:
        buckets //= 2
        start = (distance > 0) * buckets
        distance = distance.abs()
    else:
        distance = -torch.minimum(distance, torch.zeros_like(distance))
    exact = buckets // 2
    far = torch.log(distance.float() / exact) / math.log(farthest / exact) * (buckets - exact)
    far = torch.where(distance > 0, far, 0.0).long() + exact
    return start + torch.where(distance < exact, distance, far.clamp(max=buckets - 1))


def _bias(table: Tensor, length: int, *, bidirectional: bool) -> Tensor:
    """[heads, length, length]."""
    position = torch.arange(length)
    ids = bucket(position[None, :] - position[:, None], bidirectional=bidirectional)
    return F.embedding(ids, table).permute(2, 0, 1)


def _attention(w: Weights, name: str, x: Tensor, memory: Tensor, bias: Tensor | None) -> Tensor:
    q, k, v = (heads_of(w.linear(f"{name}.{part}", x if part == "q" else memory), _HEADS) for part in "qkv")
    context = F.scaled_dot_product_attention(q, k, v, bias, scale=1.0)
    return w.linear(f"{name}.out", context.transpose(1, 2).flatten(2))


def _feed_forward(w: Weights, name: str, x: Tensor) -> Tensor:
    inside = F.relu(w.linear(f"{name}.wi", w.rms_norm(f"{name}.rms_norm", x, 1e-6)))
    return w.linear(f"{name}.wo", inside)


def _loss(w: Weights, x: Inputs) -> Tensor:
    memory, h = F.embedding(x["source"], w["words"]), F.embedding(x["target"], w["words"])
    bias = _bias(w["encoder.bias.table"], memory.shape[1], bidirectional=True)
    for layer in range(2):
        name = f"encoder.{layer}"
        norm = w.rms_norm(f"{name}.norm1", memory, 1e-6)
        memory = memory + _attention(w, f"{name}.attention", norm, norm, bias)
        memory = memory + _feed_forward(w, f"{name}.feed_forward", memory)
    memory = w.rms_norm("encoder.norm", memory, 1e-6)
    length = h.shape[1]
    later = torch.ones(length, length, dtype=torch.bool).triu(1)
    bias = _bias(w["decoder.bias.table"], length, bidirectional=False).masked_fill(later, -torch.inf)
    for layer in range(2):
        name = f"decoder.{layer}"
        norm = w.rms_norm(f"{name}.norm1", h, 1e-6)
        h = h + _attention(w, f"{name}.self_attention", norm, norm, bias)
        norm = w.rms_norm(f"{name}.norm2", h, 1e-6)
        h = h + _attention(w, f"{name}.cross_attention", norm, memory, None)
        h = h + _feed_forward(w, f"{name}.feed_forward", h)
    h = w.rms_norm("decoder.norm", h, 1e-6) * _WIDTH**-0.5
    return F.cross_entropy(F.linear(h, w["words"]).flatten(0, 1), x["y"].flatten())


NETWORK = Network(
    Task(
        "samples:t5_small",
        # longer than the distance from which on all are alike
        defines={"batch": 1, "length": 140, "target_length": 135, "layers": 2, "width": _WIDTH, "heads": _HEADS}
        | {"size": 4, "hidden": 10, "vocabulary": 12, "dropout": 0.0},
        limits={"source": 12, "target": 12, "y": 12},
    ),
    _loss,
    lambda params: torch.optim.AdamW(params, lr=1e-3),
)
