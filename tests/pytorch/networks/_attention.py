"""Self-attention by torch.nn.functional.scaled_dot_product_attention, from the weights of an attention block."""

import torch.nn.functional as F
from torch import Tensor

from tests.pytorch.networks import Weights


def heads_of(x: Tensor, heads: int) -> Tensor:
    """[batch, length, width] -> [batch, heads, length, width / heads]."""
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def self_attention(w: Weights, name: str, x: Tensor, heads: int, *, causal: bool = False) -> Tensor:
    """Attention of a sequence to itself."""
    q, k, v = (heads_of(w.linear(f"{name}.{part}", x), heads) for part in "qkv")
    context = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    return w.linear(f"{name}.out", context.transpose(1, 2).flatten(2))
