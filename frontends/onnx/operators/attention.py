"""Attention as one operator."""

from __future__ import annotations

from npuc.frontends.onnx.container.element_types import ELEMENT_TYPES
from npuc.frontends.onnx.context import OnnxContext
from npuc.frontends.onnx.operators import Meaning, Result, registry
from npuc.frontends.onnx.parts.attending import Attention, Masks, head_axis, joined_heads

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)


@operator("Attention")
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
