"""Attention."""

from __future__ import annotations

from npuc.frontends.dsl.syntax import Name
from npuc.frontends.keras.layer import KerasLayer
from npuc.frontends.keras.layers import Meaning, registry
from npuc.frontends.keras.layers.core import dense_product
from npuc.frontends.keras.values import KerasValue
from npuc.frontends.script.weights import Refused

MEANINGS: dict[str, Meaning] = {}
layer = registry(MEANINGS)


def _tensor(c: KerasLayer, place: int, name: str) -> Name | None:
    """An argument by its place or its name."""
    value = c.args[place] if place < len(c.args) else c.kwargs.get(name)
    if value is None:
        return None
    if not isinstance(value, KerasValue):
        raise Refused(f"{name}: found no tensor")
    return c.last(value)


@layer("MultiHeadAttention")
def multi_head_attention(c: KerasLayer) -> KerasValue:
    return _heads(c, c.options.integer("num_heads"), c.options.integer("key_dim"), None)


@layer("GroupQueryAttention", "GroupedQueryAttention")
def grouped_query_attention(c: KerasLayer) -> KerasValue:
    """Several heads of queries share keys and values."""
    query_heads, groups = c.options.integer("num_query_heads"), c.options.integer("num_key_value_heads")
    if query_heads % groups:
        raise Refused(f"num_key_value_heads: found {groups} for {query_heads} heads, expected a divisor")
    return _heads(c, query_heads, c.options.integer("head_dim"), groups)


def _heads(c: KerasLayer, heads: int, size: int, groups: int | None) -> KerasValue:
    """Products q, k and v with biases, softmax(q kᵀ / sqrt(size)) v for each head, and a product `out`."""
    query, value = _tensor(c, 0, "query"), _tensor(c, 1, "value")
    if query is None or value is None:
        raise Refused("found no query and value, expected both")
    key = _tensor(c, 2, "key")
    key = value if key is None else key
    _check_call(c, query)
    value_size = c.options.integer("value_dim", size)
    bias, dropout = c.options.flag("use_bias", True), c.options.rate("dropout", 0.0)
    shared = heads if groups is None else groups
    batch, length, width = c.shape(query)
    q = _split(c, dense_product(c, query, heads * size, bias=bias, part="query"), heads)
    k = _split(c, dense_product(c, key, shared * size, bias=bias, part="key"), shared)
    v = _split(c, dense_product(c, value, shared * value_size, bias=bias, part="value"), shared)
    if shared < heads:
        k, v = (c.let("repeat_interleave", one, heads // shared, 1) for one in (k, v))
    mask = _mask(c)
    named = {
        **({} if mask is None else {"mask": mask}),
        **({"causal": True} if c.kwargs.get("use_causal_mask") is True else {}),
        **({"dropout": dropout} if dropout else {}),
        **({} if value_size == size else {"scale": size**-0.5}),
    }
    made = c.let("scaled_dot_product_attention", q, k, v, **named)
    joined = c.let("reshape", c.let("transpose", made, [0, 2, 1, 3]), [batch, length, heads * value_size])
    given = c.options.get("output_shape")
    given = given[0] if isinstance(given, list) and len(given) == 1 else given
    if given is not None and (type(given) is not int or given < 1):
        raise Refused(f"output_shape: found {given}, expected one size")
    return KerasValue(dense_product(c, joined, given or width, bias=bias, part="out"))


def _check_call(c: KerasLayer, query: Name) -> None:
    axes = c.options.get("attention_axes")
    if len(c.shape(query)) != 3 or (axes is not None and axes not in ([1], 1)):
        raise Refused("attention over other axes than the second of three has no counterpart")
    for name in ("use_gate", "sliding_window"):
        if c.options.get(name):
            raise Refused(f"{name} has no counterpart")
    for name in ("return_attention_scores", "query_mask", "value_mask", "key_mask"):
        if c.kwargs.get(name):
            raise Refused(f"{name} has no counterpart")


def _split(c: KerasLayer, x: Name, heads: int) -> Name:
    batch, length, width = c.shape(x)
    return c.let("transpose", c.let("reshape", x, [batch, length, heads, width // heads]), [0, 2, 1, 3])


def _mask(c: KerasLayer) -> Name | None:
    """The mask of a call, [batch, query, key] or with heads: true where a query may look."""
    mask = _tensor(c, 3, "attention_mask")
    if mask is None:
        return None
    if c.element(mask) != "bool":
        mask = c.let("not_equal", mask, 0.0 if c.element(mask).startswith(("f", "b")) else 0)
    return c.let("unsqueeze", mask, 1) if len(c.shape(mask)) == 3 else mask


@layer("Attention", "AdditiveAttention")
def attention(c: KerasLayer) -> KerasValue:
    """
    softmax(scores) value, for query, value and key, which is the value by default.

    Scores are q kᵀ, times a trained number with `use_scale`; or, of sums, the sum of tanh(q + k), each element times a
    trained number.
    """
    values = [c.last(value) for value in c.operands(2)]
    query, value = values[0], values[1]
    key = values[2] if len(values) > 2 else value
    if len(values) > 3 or any(len(c.shape(one)) != 3 for one in values) or c.kwargs.get("mask"):
        raise Refused("found other arguments than query, value and key of rank 3")
    if c.kwargs.get("return_attention_scores"):
        raise Refused("return_attention_scores has no counterpart")
    additive = c.spec.kind == "AdditiveAttention"
    scaled, mode = c.options.flag("use_scale", additive), c.options.word("score_mode", "dot", ("dot", "concat"))
    if additive or mode == "concat":
        tanh = c.let("tanh", c.let("add", c.let("unsqueeze", query, 2), c.let("unsqueeze", key, 1)))
        if additive and scaled:
            tanh = c.let("mul", tanh, c.weight("scale", [c.shape(query)[-1]]))
        elif scaled:
            raise Refused("use_scale of concatenated scores has no counterpart")
        scores = c.let("sum", tanh, -1)
    else:
        scores = c.let("matmul", query, key, transpose_b=True)
        if scaled:
            scores = c.let("mul", scores, c.weight("scale", [1], 1.0))
    if c.kwargs.get("use_causal_mask") is True:
        allowed = c.let("causal_mask", *c.shape(scores)[1:])
        scores = c.let("where", allowed, scores, -3.0e38)
    weights = c.let("softmax", scores)
    dropout = c.options.rate("dropout", 0.0)
    if dropout:
        weights = c.let("dropout", weights, dropout)
    return KerasValue(c.done("matmul", weights, value))
