"""Kernels of attention that an export has in place of `scaled_dot_product_attention`, as the blocks that they are."""

from __future__ import annotations

from npuc.frontends.dsl.syntax import Call
from npuc.frontends.script.weights import Refused, Tensor
from npuc.frontends.torch.context import Context
from npuc.frontends.torch.operators import Meaning, registry
from npuc.frontends.torch.operators.products import attention

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)

_SWAPPED = [0, 2, 1, 3]
_SQUARE = "export it with equal numbers of queries and keys, or with a mask"


@operator("aten._scaled_dot_product_flash_attention")
def flash_attention(
    c: Context,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    return_debug_mask: bool = False,
    scale: float | None = None,
) -> list[Call]:
    _check_square(c, query, key, is_causal)
    return [attention(c, query, key, value, None, dropout_p, is_causal, scale)]


@operator("aten._scaled_dot_product_flash_attention_for_cpu")
def flash_attention_for_cpu(
    c: Context,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> list[Call]:
    return [attention(c, query, key, value, attn_mask, dropout_p, is_causal, scale)]


@operator("aten._scaled_dot_product_efficient_attention", "aten._scaled_dot_product_cudnn_attention")
def biased_attention(
    c: Context,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_bias: Tensor | None = None,
    compute_log_sumexp: bool = False,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    return_debug_mask: bool = False,
    scale: float | None = None,
) -> list[Call]:
    return [attention(c, query, key, value, attn_bias, dropout_p, is_causal, scale)]


@operator("aten._flash_attention_forward")
def flash_attention_forward(
    c: Context,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cum_seq_q: Tensor | None = None,
    cum_seq_k: Tensor | None = None,
    max_q: int = 0,
    max_k: int = 0,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    return_debug_mask: bool = False,
    scale: float | None = None,
) -> list[Call]:
    if cum_seq_q is not None or cum_seq_k is not None:
        raise Refused("found sequences of several lengths in one, expected batches", _SQUARE)
    _check_square(c, query, key, is_causal, axis=1)
    return [_by_heads(c, query, key, value, None, dropout_p, is_causal, scale)]


@operator("aten._efficient_attention_forward")
def efficient_attention_forward(
    c: Context,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Tensor | None = None,
    cu_seqlens_q: Tensor | None = None,
    cu_seqlens_k: Tensor | None = None,
    max_seqlen_q: int | None = None,
    max_seqlen_k: int | None = None,
    dropout_p: float = 0.0,
    custom_mask_type: int = 0,
    compute_log_sumexp: bool = False,
    scale: float | None = None,
) -> list[Call]:
    if cu_seqlens_q is not None or cu_seqlens_k is not None:
        raise Refused("found sequences of several lengths in one, expected batches", _SQUARE)
    if custom_mask_type not in (0, 1):  # 1: causal from the top left
        _check_square(c, query, key, is_causal=True, axis=1)
    return [_by_heads(c, query, key, value, bias, dropout_p, custom_mask_type != 0, scale)]


def _by_heads(
    c: Context,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    dropout: float,
    causal: bool,
    scale: float | None,
) -> Call:
    """Attention of tensors [batch, sequence, heads, width]."""
    heads = [c.let("transpose", one, _SWAPPED) for one in (query, key, value)]
    out = c.script.assign(f"{c.layer}.attention", attention(c, *heads, mask, dropout, causal, scale))
    return c.call("transpose", out, _SWAPPED)


def _check_square(c: Context, query: Tensor, key: Tensor, is_causal: bool, axis: int = -2) -> None:
    """Refuse a causal mask of which kernels of different versions begin at different corners."""
    if is_causal and c.shape(query)[axis] != c.shape(key)[axis]:
        raise Refused("found a causal mask between different numbers of queries and keys", _SQUARE)
