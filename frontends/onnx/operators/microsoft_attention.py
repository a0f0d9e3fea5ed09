"""
Attention as onnxruntime's domain has it, with its projections, packed operands and masks.

Source: https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md.
"""

from __future__ import annotations

from npuc.frontends.dsl.syntax import Name
from npuc.frontends.onnx.context import OnnxContext
from npuc.frontends.onnx.operators import Meaning, Result, registry
from npuc.frontends.onnx.operators.attention import positioned, turned_by
from npuc.frontends.onnx.parts.attending import Attention, Masks, head_axis, joined_heads

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)


def _scale(c: OnnxContext) -> float | None:
    scale = c.onnx.float("scale")
    return float(f"{scale:.7g}") if scale else None


@operator("com.microsoft.Attention", ranks={0: 3, 1: 2, 2: 1})
def attention(c: OnnxContext) -> Result:
    """One product for queries, keys and values of [batch, length, features], then attention."""
    if any(c.onnx.has(index) for index in (4, 6)) or any(c.onnx.outputs[1:]) or c.onnx.int("do_rotary"):
        raise c.error("has a past, or turns by positions, which has no counterpart")
    x, weight, heads = c.x(0), c.weight(1), c.onnx.int("num_heads")
    width = c.tensor(1).shape[1]
    sizes = list(c.onnx.ints("qkv_hidden_sizes") or (width // 3,) * 3)
    if sum(sizes) != width or heads < 1:
        raise c.error(f"its weight has {width} columns, expected {sum(sizes)}")
    bias = c.weight(2)
    fits = weight is not None and (bias is not None or not c.onnx.has(2)) and c.own(weight=weight, bias=bias)
    if fits:
        named = {} if bias is not None else {"bias": False}
        both = c.settled(c.call("linear", x, width, **named))
    else:
        product = c.let("linear", x, bias=False, weight=c.x(1))
        both = c.let("add", product, c.x(2)) if c.onnx.has(2) else product
    parts = c.several(["q", "k", "v"], "split", both, sizes, 2)
    query, key, value = (head_axis(c, part, heads) for part in parts)
    form = Attention(c, query, key, value, scale=_scale(c))
    masks = Masks(c, form.rows, form.columns)
    _hide(c, masks, 3)
    if c.onnx.int("unidirectional"):
        masks.window(0, -1, 0)
    if c.onnx.has(5):
        masks.operand(c.x(5))
    out, _ = form.result(masks)
    return joined_heads(c, c.held(out))


def _hide(c: OnnxContext, masks: Masks, index: int) -> None:
    """A mask of the keys: 1 where a query may look, [batch, keys] or [batch, queries, keys], or lengths [batch]."""
    if not c.onnx.has(index):
        return
    mask = c.x(index)
    shape = c.shape(mask)
    if len(shape) == 1:
        (batch,) = shape
        if batch != c.tensor(0).shape[0]:
            raise c.error(f"its mask is {list(shape)}, expected a length for each sample")
        lengths = c.let("reshape", mask, [batch, 1, 1, 1])
        masks.allow(c.let("less", masks.places(c.element(mask)), lengths))
        return
    if len(shape) not in (2, 3):
        raise c.error(f"its mask is {list(shape)}, expected rank 1 to 3")
    wide = [shape[0], 1, 1 if len(shape) == 2 else shape[1], shape[-1]]
    seen = mask if c.element(mask) == "bool" else c.let("not_equal", mask, 0)
    masks.allow(c.let("reshape", seen, wide))


@operator("com.microsoft.MultiHeadAttention", ranks={0: (3, 5), 1: (3, 4, 5), 2: (3, 4), 3: 1, 6: 4, 7: 4})
def multi_head(c: OnnxContext) -> Result:
    """Queries, keys and values apart, packed, or keys and values as [batch, heads, length, size]."""
    heads = c.onnx.int("num_heads")
    if c.onnx.has(8) or c.onnx.has(9):
        raise c.error("has a cache of fixed length, which has no counterpart")
    query, key, value = _operands(c, heads)
    if c.onnx.has(6) and c.onnx.has(7):
        key, value = c.let("concat", [c.x(6), key], 2), c.let("concat", [c.x(7), value], 2)
    form = Attention(c, query, key, value, scale=_scale(c))
    masks = Masks(c, form.rows, form.columns)
    _hide(c, masks, 4)
    if c.onnx.int("unidirectional"):
        masks.window(form.columns - form.rows, -1, 0)
    if c.onnx.has(5):
        masks.operand(c.x(5))
    out, _ = form.result(masks)
    joined = joined_heads(c, c.held(out))
    return [joined, key, value] if any(c.onnx.outputs[1:]) else joined


def _operands(c: OnnxContext, heads: int) -> list[Name]:
    """The three operands as [batch, heads, length, size], each with its part of the bias."""
    query = c.x(0)
    shape = c.shape(query)
    if len(shape) == 5:
        packed = c.let("reshape", c.let("transpose", query, [3, 0, 2, 1, 4]), [3, shape[0], heads, shape[1], shape[4]])
        if c.onnx.has(3):
            raise c.error("has a bias beside packed operands, which has no counterpart")
        return [c.let("squeeze", c.let("slice", packed, 0, i, i + 1), 0) for i in range(3)]
    given = [query, *(c.x(index) for index in (1, 2) if c.onnx.has(index))]
    if len(given) == 2:
        raise c.error("has packed keys and values, which has no counterpart")
    widths = [shape[2], *(c.shape(one)[2] if len(c.shape(one)) == 3 else 0 for one in given[1:])]
    apart: list[Name] = []
    start = 0
    for one, width in zip(given, widths, strict=True):
        if c.onnx.has(3) and width:
            one = c.let("add", one, c.let("slice", c.x(3), 0, start, start + width))
        start += width
        apart.append(head_axis(c, one, heads) if width else one)
    return apart


@operator("com.microsoft.GroupQueryAttention", ranks={0: 3, 1: 3, 2: 3, 3: 4, 4: 4, 7: 2, 8: 2, 9: 2})
def grouped(c: OnnxContext) -> Result:
    """Causal attention with fewer keys than queries; `seqlens_k` of each sample is its number of keys less one."""
    heads, groups = c.onnx.int("num_heads"), c.onnx.int("kv_num_heads")
    if c.onnx.has(11) or c.onnx.int("smooth_softmax", 0) == 1 or heads < 1 or groups < 1 or heads % groups:
        raise c.error("has a sink, or heads that do not fit, which has no counterpart")
    if any(c.onnx.has(index) and c.tensor(index).shape[2] for index in (3, 4)):
        raise c.error("has a past of its own, which has no counterpart", hint="export it without a cache")
    query, key, value = _grouped_operands(c, heads, groups)
    if c.onnx.int("do_rotary"):
        length = c.shape(query)[2]
        tables = [c.let("slice", c.x(index), 0, 0, length) for index in (7, 8)]
        if c.onnx.has(9):
            tables = [positioned(c, c.x(index), c.x(9), length) for index in (7, 8)]
        pairs = c.onnx.int("rotary_interleaved") != 0
        size = 2 * c.shape(tables[0])[-1]
        query, key = (c.held(turned_by(c, one, tables, size, pairs)) for one in (query, key))
    form = Attention(c, query, key, value, scale=_scale(c), cap=c.onnx.float("softcap"))
    masks = Masks(c, form.rows, form.columns)
    lengths = c.x(5)
    batch = c.shape(query)[0]
    known = c.script.numbers(lengths)
    if known is None or (known != form.columns - 1).any():
        wide = c.let("reshape", lengths, [batch, 1, 1, 1])
        masks.allow(c.let("less_equal", masks.places(c.element(lengths)), wide))
    window = c.onnx.int("local_window_size", -1)
    masks.window(0, window - 1 if window > 0 else -1, 0)
    if c.onnx.has(10):
        masks.operand(c.x(10))
    out, _ = form.result(masks)
    return [joined_heads(c, c.held(out)), key, value]


def _grouped_operands(c: OnnxContext, heads: int, groups: int) -> list[Name]:
    """Queries, keys and values as [batch, heads, length, size], from one operand or three."""
    if c.onnx.has(1) and c.onnx.has(2):
        return [head_axis(c, c.x(index), count) for index, count in enumerate((heads, groups, groups))]
    x = c.x(0)
    size = c.shape(x)[2] // (heads + 2 * groups)
    parts = c.several(["q", "k", "v"], "split", x, [heads * size, groups * size, groups * size], 2)
    return [head_axis(c, part, count) for part, count in zip(parts, (heads, groups, groups), strict=True)]
