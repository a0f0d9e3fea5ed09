"""Attention whose state is a matrix of fixed size, step by step."""

from __future__ import annotations

from npuc.frontends.dsl.syntax import Name
from npuc.frontends.onnx.context import OnnxContext
from npuc.frontends.onnx.operators import Meaning, Result, registry
from npuc.frontends.onnx.parts.attending import head_axis, joined_heads

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)
_RULES = {"linear": (False, False), "gated": (True, False), "delta": (False, True), "gated_delta": (True, True)}
"""Whether a rule fades the state, and whether it corrects what the state holds for a key."""


@operator("LinearAttention", ranks={0: 3, 1: 3, 2: 3, 3: 4, 4: 3, 5: 3})
def linear_attention(c: OnnxContext) -> Result:
    """
    Queries, keys and values [batch, length, heads * size]; the state is [batch, heads, size of keys, size of values].

    Source: https://github.com/onnx/onnx/blob/main/docs/Operators.md.
    """
    rule = c.onnx.string("update_rule", "gated_delta")
    if rule not in _RULES:
        raise c.error(f"found the rule '{rule}', expected {', '.join(_RULES)}")
    fades, corrects = _RULES[rule]
    heads, groups = c.onnx.int("q_num_heads"), c.onnx.int("kv_num_heads")
    if heads < 1 or groups < 1 or heads % groups:
        raise c.error(f"found {heads} heads of queries and {groups} of keys")
    query, key, value = (head_axis(c, c.x(index), n) for index, n in enumerate((heads, groups, groups)))
    batch, _, length, size = c.shape(query)
    width = c.shape(value)[3]
    scaled = c.let("mul", query, c.onnx.float("scale") or size**-0.5)
    rows = c.let("reshape", scaled, [batch, groups, heads // groups, length, size])
    decay = _by_step(c, 4, groups) if fades else None
    beta = _by_step(c, 5, groups) if corrects else None
    state = c.x(3) if c.onnx.has(3) else c.let("zeros", [batch, groups, size, width], dtype=c.element(query))
    outputs: list[Name] = []
    for step in range(length):
        k, v = (c.let("slice", x, 2, step, step + 1) for x in (key, value))
        if decay is not None:
            faded = c.let("exp", c.let("slice", decay, 2, step, step + 1))
            state = c.let("mul", state, c.let("transpose", faded, [0, 1, 3, 2]))
        if beta is not None:
            error = c.let("sub", v, c.let("matmul", k, state))
            v = c.let("mul", error, c.let("slice", beta, 2, step, step + 1))
        state = c.let("add", state, c.let("matmul", k, v, transpose_a=True))
        q = c.let("squeeze", c.let("slice", rows, 3, step, step + 1), 3)
        outputs.append(c.let("reshape", c.let("matmul", q, state), [batch, heads, 1, width]))
    whole = c.let("concat", outputs, 2) if len(outputs) > 1 else outputs[0]
    return [joined_heads(c, whole), state]


def _by_step(c: OnnxContext, index: int, heads: int) -> Name:
    """Factors [batch, length, heads * size], or one for all heads, as [batch, heads, length, size]."""
    width = c.tensor(index).shape[2]
    return head_axis(c, c.x(index), 1 if width == 1 else heads)
