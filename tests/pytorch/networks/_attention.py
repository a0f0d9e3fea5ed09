"""Attention by torch.nn.functional and torch.nn, from the weights of an attention block."""

import torch
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


def module_weights(w: Weights, ours: str, theirs: str) -> dict[str, Tensor]:
    """The parameters of torch.nn.MultiheadAttention from those of an attention block."""
    parts = [f"{ours}.{part}" for part in "qkv"]
    return {
        f"{theirs}.in_proj_weight": torch.cat([w[f"{part}.weight"].T for part in parts]),
        f"{theirs}.in_proj_bias": torch.cat([w[f"{part}.bias"] for part in parts]),
        f"{theirs}.out_proj.weight": w[f"{ours}.out.weight"].T,
        f"{theirs}.out_proj.bias": w[f"{ours}.out.bias"],
    }


def rotary_attention(
    w: Weights, name: str, x: Tensor, heads: int, kv_heads: int, *, base: float = 1e4, interleaved: bool = False
) -> Tensor:
    """Causal attention of a sequence to itself, queries and keys turned by their positions."""
    counts = {"q": heads, "k": kv_heads, "v": kv_heads}
    q, k, v = (heads_of(w.linear(f"{name}.{part}", x), count) for part, count in counts.items())
    q, k = turned(q, base, interleaved), turned(k, base, interleaved)
    context = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    return w.linear(f"{name}.out", context.transpose(1, 2).flatten(2))


def turned(x: Tensor, base: float, interleaved: bool) -> Tensor:
    """Pairs as complex numbers times exp(i p / base^(2j / size)), as in LLaMA's own code, in float32 for bf16."""
    if x.dtype == torch.bfloat16:
        return turned(x.float(), base, interleaved).type_as(x)
    length, size = x.shape[-2:]
    frequency = 1.0 / base ** (torch.arange(0, size, 2, dtype=x.dtype) / size)
    angle = torch.outer(torch.arange(length, dtype=x.dtype), frequency)
    turn = torch.polar(torch.ones_like(angle), angle)
    if interleaved:
        pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
        return torch.view_as_real(pairs * turn).flatten(-2)
    product = torch.complex(*x.chunk(2, -1)) * turn
    return torch.cat([product.real, product.imag], -1)
