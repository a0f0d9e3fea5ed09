"""Attention as one operator, and rotary position embedding by tables of cosines and sines."""

from __future__ import annotations

from npuc.frontends.dsl.syntax import Call, Name
from npuc.frontends.onnx.container.element_types import ELEMENT_TYPES
from npuc.frontends.onnx.context import OnnxContext
from npuc.frontends.onnx.operators import Meaning, Result, registry
from npuc.frontends.onnx.parts.attending import Attention, Masks, head_axis, joined_heads

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)


@operator("Attention", ranks={0: (3, 4), 1: (3, 4), 2: (3, 4), 4: 4, 5: 4})
def attention(c: OnnxContext) -> Result:
    """Of [batch, heads, length, size], or of [batch, length, heads * size] with the numbers of heads as attributes."""
    three = len(c.tensor(0).shape) == 3
    counts = (c.onnx.int("q_num_heads"), *[c.onnx.int("kv_num_heads")] * 2)
    query, key, value = (head_axis(c, c.x(index), count) if three else c.x(index) for index, count in enumerate(counts))
    past = 0
    if c.onnx.has(4) and c.onnx.has(5):
        past = c.tensor(4).shape[2]
        key, value = c.let("concat", [c.x(4), key], 2), c.let("concat", [c.x(5), value], 2)
    form = Attention(
        c,
        query,
        key,
        value,
        scale=c.onnx.float("scale") or None,
        cap=c.onnx.float("softcap"),
        precision=_precision(c),
        empty_rows=True,
    )
    shown = _shown(c) if any(c.onnx.outputs[3:4]) else None
    out, scores = form.result(_masks(c, form, past), shown)
    if three:
        out = joined_heads(c, c.held(out))
    return [out, key, value, scores] if any(c.onnx.outputs[1:]) else out


def _precision(c: OnnxContext) -> str | None:
    """The type that the weights are computed in, where it is another one."""
    code = c.onnx.int("softmax_precision")
    if not code:
        return None
    if code not in ELEMENT_TYPES:
        raise c.error(f"found the element type {code}, expected 1 to {max(ELEMENT_TYPES)}")
    return c.language(ELEMENT_TYPES[code])


def _shown(c: OnnxContext) -> int:
    """Which scores are the fourth result, in the order in which they are computed: see `Attention.result`."""
    mode = c.onnx.int("qk_matmul_output_mode")
    if not 0 <= mode <= 3:
        raise c.error(f"found qk_matmul_output_mode {mode}, expected 0 to 3")
    return mode


def _masks(c: OnnxContext, form: Attention, past: int) -> Masks:
    """Where queries may look: the operand, the order of time, windows, and how many keys each sample has."""
    rows, columns = form.rows, form.columns
    masks = Masks(c, rows, columns)
    lengths = c.x(6) if c.onnx.has(6) else None
    if lengths is not None:
        batch = c.shape(form.query)[0]
        if c.shape(lengths) != (batch,):
            raise c.error(f"its lengths are {list(c.shape(lengths))}, expected [{batch}]")
        lengths = c.let("reshape", lengths, [batch, 1, 1, 1])
        masks.allow(c.let("less", masks.places(c.element(lengths)), lengths))
    left, right = c.onnx.int("left_window_size", -1), c.onnx.int("right_window_size", -1)
    causal = c.onnx.int("is_causal") != 0
    if lengths is not None and past == 0 and (causal or left >= 0 or right >= 0):
        masks.window_from(c.let("sub", lengths, rows), left, 0 if causal else right)
    else:
        masks.window(past, left, 0 if causal else right)
    if c.onnx.has(3):
        masks.operand(c.x(3))
    return masks


@operator("RotaryEmbedding", ranks={0: (3, 4), 1: (2, 3), 2: (2, 3), 3: 2})
def rotary(c: OnnxContext) -> Result:
    """Of [batch, heads, length, size], or [batch, length, heads * size]."""
    tables = [c.x(index) for index in (1, 2)]
    if c.onnx.has(3):
        tables = [c.let("embedding", c.x(3), weight=table) for table in tables]
    return _embedded(c, tables)


@operator("com.microsoft.RotaryEmbedding", ranks={0: (3, 4), 1: (1, 2), 2: 2, 3: 2})
def contributed(c: OnnxContext) -> Result:
    """
    As ONNX's own, with the tables last and the positions before them: one of the first row, or those of all.

    Source: https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md.
    """
    if c.onnx.int("is_packed_batching") or c.onnx.float("scale", 1.0) != 1:
        raise c.error("has packed batches or a scale, which has no counterpart")
    return _embedded(c, [positioned(c, c.x(index), c.x(1), _length(c)) for index in (2, 3)])


def _length(c: OnnxContext) -> int:
    shape = c.tensor(0).shape
    return shape[2] if len(shape) == 4 else shape[1]


def positioned(c: OnnxContext, table: Name, positions: Name, length: int) -> Name:
    """The rows of a table at the positions of a batch, [batch, length, …]; one position is that of the first row."""
    if len(c.shape(positions)) == 1:
        row = c.let("reshape", c.let("arange", length, dtype=c.element(positions)), [1, length])
        positions = c.let("add", row, c.let("reshape", positions, [1, 1]))
    return c.let("embedding", positions, weight=table)


def _embedded(c: OnnxContext, tables: list[Name]) -> Result:
    x = c.x(0)
    rank = len(c.shape(x))
    heads = c.onnx.int("num_heads")
    size = c.onnx.int("rotary_embedding_dim")
    if rank == 3 and not heads:
        heads = c.shape(x)[2] // (size or 2 * c.shape(tables[0])[-1])
    apart = head_axis(c, x, heads) if rank == 3 else x
    turned = turned_by(c, apart, tables, size, c.onnx.int("interleaved") != 0)
    return joined_heads(c, c.held(turned)) if rank == 3 else turned


def turned_by(c: OnnxContext, x: Name, tables: list[Name], size: int, interleaved: bool) -> Name | Call:
    """The first `size` elements of each head (0: all) turned by the angles of tables [batch, length, size / 2]."""
    batch, heads, length, whole = c.sizes(x, 4)
    size = size or whole
    if size % 2 or not 2 <= size <= whole or any(c.shape(table)[-1] != size // 2 for table in tables):
        raise c.error(f"its tables have {c.shape(tables[0])[-1]} columns, expected half of {size}")
    rows = [c.let("unsqueeze", table, 1) if len(c.shape(table)) == 3 else table for table in tables]
    cosine, sine = rows
    part = x if size == whole else c.let("slice", x, 3, 0, size)
    if interleaved:
        pairs = c.let("reshape", part, [batch, heads, length, size // 2, 2])
        first, second = (c.let("squeeze", c.let("slice", pairs, 4, i, i + 1), 4) for i in range(2))
    else:
        first, second = (c.let("slice", part, 3, i * size // 2, (i + 1) * size // 2) for i in range(2))
    real = c.let("sub", c.let("mul", first, cosine), c.let("mul", second, sine))
    imaginary = c.let("add", c.let("mul", second, cosine), c.let("mul", first, sine))
    if interleaved:
        turned = c.call("reshape", c.let("stack", [real, imaginary], 4), [batch, heads, length, size])
    else:
        turned = c.call("concat", [real, imaginary], 3)
    if size == whole:
        return turned
    return c.call("concat", [c.held(turned), c.let("slice", x, 3, size, whole)], 3)
