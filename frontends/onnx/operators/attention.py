"""Attention as one operator."""

from __future__ import annotations

from npuc.frontends.dsl.syntax import Call, Name
from npuc.frontends.onnx.context import OnnxContext
from npuc.frontends.onnx.operators import Meaning, Result, registry

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)


@operator("Attention")
def attention(c: OnnxContext) -> Result:
    """Of [batch, heads, length, size], or of [batch, length, heads * size] with the numbers of heads as attributes."""
    if c.onnx.has(6) or any(c.onnx.int(f"{side}_window_size", -1) >= 0 for side in ("left", "right")):
        raise c.error("has lengths of its own, or a window, which has no counterpart")
    if any(c.onnx.outputs[3:4]):
        raise c.error("returns its scores, which has no counterpart")
    three = len(c.tensor(0).shape) == 3
    counts = (c.onnx.int("q_num_heads"), *[c.onnx.int("kv_num_heads")] * 2)
    query, key, value = (_heads(c, index, count) if three else c.x(index) for index, count in enumerate(counts))
    past = 0
    if c.onnx.has(4) and c.onnx.has(5):
        past = c.tensor(4).shape[2]
        key, value = c.let("concat", [c.x(4), key], 2), c.let("concat", [c.x(5), value], 2)
    rows, columns = c.shape(query)[2], c.shape(key)[2]
    mask = _mask(c, columns)
    causal = c.onnx.int("is_causal") != 0
    out: Name | Call = _attended(c, query, key, value, mask, causal, past, rows)
    if three:
        moved = c.let("transpose", c.held(out), [0, 2, 1, 3])
        shape = c.shape(moved)
        out = c.call("reshape", moved, [*shape[:2], shape[2] * shape[3]])
    return [out, key, value] if any(c.onnx.outputs[1:3]) else out


def _heads(c: OnnxContext, index: int, heads: int) -> Name:
    x = c.x(index)
    batch, length, width = c.shape(x)
    if heads < 1 or width % heads:
        raise c.error(f"{width} elements do not go into {heads} heads")
    return c.let("transpose", c.let("reshape", x, [batch, length, heads, width // heads]), [0, 2, 1, 3])


def _mask(c: OnnxContext, columns: int) -> Name | None:
    """The mask, as one of rank 4."""
    if not c.onnx.has(3):
        return None
    mask = c.x(3)
    shape = c.shape(mask)
    if shape[-1] != columns:
        raise c.error(f"its mask has {shape[-1]} columns, expected {columns}")
    return mask


def _attended(
    c: OnnxContext, query: Name, key: Name, value: Name, mask: Name | None, causal: bool, past: int, rows: int
) -> Call:
    scale, cap = c.onnx.float("scale"), c.onnx.float("softcap")
    columns = c.shape(key)[2]
    if cap:
        return _capped(c, query, key, value, mask, causal, past, scale or c.shape(query)[3] ** -0.5, cap)
    named: dict[str, bool | float] = {"scale": scale} if scale else {}
    if causal and past == 0 and mask is None:
        named["causal"] = True
    elif causal:
        seen = c.let("causal_mask", rows, columns, past)
        mask = seen if mask is None else _both(c, seen, mask)
    if mask is None:
        return c.call("scaled_dot_product_attention", query, key, value, **named)
    whole = c.call("scaled_dot_product_attention", query, key, value, mask=mask, **named)
    known = c.script.numbers(mask) if c.element(mask) == "bool" else None
    if c.element(mask) != "bool" or (known is not None and known.any(-1).all()):
        return whole
    # a query that may look nowhere gets nothing
    looks = c.let("greater", c.let("amax", c.let("cast", mask, to=c.element(query)), axis=-1, keepdim=True), 0)
    return c.call("where", looks, c.held(whole), 0.0)


_FAR = {"f32": -3.4028234663852886e38, "f64": -1.7976931348623157e308, "f16": -65504.0, "bf16": -3.3895313892515355e38}


def _both(c: OnnxContext, seen: Name, mask: Name) -> Name:
    """A mask, and where a query may not look at all."""
    element = c.element(mask)
    return c.let("logical_and", seen, mask) if element == "bool" else c.let("where", seen, mask, _FAR[element])


def _capped(
    c: OnnxContext,
    query: Name,
    key: Name,
    value: Name,
    mask: Name | None,
    causal: bool,
    past: int,
    scale: float,
    cap: float,
) -> Call:
    """Attention whose scores are limited by tanh before they are masked."""
    if c.shape(query)[1] != c.shape(key)[1]:
        raise c.error("limits scores of grouped heads, which has no counterpart")
    scores = c.let("mul", c.let("matmul", query, key, transpose_b=True), scale)
    limited = c.let("mul", c.let("tanh", c.let("div", scores, cap)), cap)
    element = c.element(query)
    if causal:
        seen = c.let("causal_mask", c.shape(query)[2], c.shape(key)[2], past)
        limited = c.let("where", seen, limited, _FAR[element])
    if mask is not None:
        hidden = c.element(mask) == "bool"
        limited = c.let("where", mask, limited, _FAR[element]) if hidden else c.let("add", limited, mask)
    return c.call("matmul", c.let("softmax", limited, -1), value)
