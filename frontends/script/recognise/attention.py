"""The parts of attention that graphs spell out: rotary positions, groups of queries, masks that are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from npuc.frontends.script.recognise.matching import (
    either_way,
    is_number,
    joined,
    made_by,
    operands,
    same,
    uncast,
    unshaped,
)
from npuc.frontends.script.weights import Weight

if TYPE_CHECKING:
    from npuc.frontends.dsl.syntax import Call
    from npuc.frontends.script.writer import CallWriter

FUNCTION = "scaled_dot_product_attention"
_DEFAULT_BASE = 10000.0


def attention(c: CallWriter, query: Any, key: Any, value: Any, **named: Any) -> Call | None:
    """Attention with a mask that is known, or whose keys and values are repeated for the heads of a group."""
    changed = dict(named)
    mask = named.get("mask")
    known = None if mask is None or named.get("causal") else c.numbers(mask)
    if known is not None and known.dtype == bool:
        rows, columns = known.shape[-2:]
        if known.all():
            del changed["mask"]
        elif (known == np.tri(rows, columns, dtype=bool)).all():
            del changed["mask"]
            changed["causal"] = True
    shared = [_unrepeated(c, one) for one in (key, value)]
    if None in shared:
        shared = [key, value]
    if changed == dict(named) and shared[0] is key:
        return None
    return c.call(FUNCTION, query, *shared, **changed)


def _unrepeated(c: CallWriter, value: Any) -> Any:
    """Keys or values [batch, groups, length, size] before each is repeated for the heads of its group."""
    whole = operands(c, value, "reshape")
    wide = operands(c, whole[0], "expand") if whole else []
    narrow = operands(c, wide[0], "reshape") or operands(c, wide[0], "unsqueeze") if wide else []
    if not narrow:
        return None
    own, repeated, shape = c.shape(narrow[0]), c.shape(whole[0]), c.shape(value)
    if len(own) != 4 or len(repeated) != 5:
        return None
    batch, groups, length, size = own
    each = repeated[2]
    if repeated == (batch, groups, each, length, size) and shape == (batch, groups * each, length, size):
        return narrow[0]
    return None


def rotary(c: CallWriter, x: Any, y: Any) -> Call | None:
    """
    x cos + (-second half of x, first half of x) sin, with angles position / base^(2 i / size).

    Source: Su et al., "RoFormer", 2021, in the order of halves of GPT-NeoX and LLaMA.
    """
    for plain, turned in either_way([x, y]):
        for source, cosine in either_way(operands(c, plain, "mul")):
            for swapped, sine in either_way(operands(c, turned, "mul")):
                if _is_turned(c, swapped, source):
                    base = _base(c, cosine, sine, source)
                    if base is not None:
                        return c.call("rotary_embedding", source, **({} if base == _DEFAULT_BASE else {"base": base}))
    return None


def _is_turned(c: CallWriter, value: Any, x: Any) -> bool:
    """Whether a value is (-second half of x, first half of x)."""
    halves = joined(c, value)
    if len(halves) != 2:
        return False
    high, low = halves
    negated = operands(c, high, "neg")
    size = c.shape(x)[-1]
    axis = len(c.shape(x)) - 1
    return (
        bool(negated)
        and _is_slice(c, negated[0], x, axis, size // 2, size)
        and _is_slice(c, low, x, axis, 0, size // 2)
    )


def _is_slice(c: CallWriter, value: Any, x: Any, axis: int, start: int, stop: int) -> bool:
    found = operands(c, value, "slice")
    return len(found) == 4 and same(found[0], x) and found[1:] == [axis, start, stop]


def _base(c: CallWriter, cosine: Any, sine: Any, x: Any) -> float | None:
    """The base of the angles whose cosine and sine are given; None where they are no such angles."""
    angles = [_angle(c, table, name) for table, name in ((cosine, "cos"), (sine, "sin"))]
    if None in angles or not same(angles[0], angles[1]):
        return None
    doubled = joined(c, angles[0])
    if len(doubled) != 2 or not same(*doubled):
        return None
    length, size = c.shape(x)[-2:]
    half = unshaped(c, doubled[0])
    if transposed := operands(c, half, "transpose"):
        half = transposed[0]
    for function in ("mul", "matmul"):
        for positions, frequencies in either_way(operands(c, half, function)):
            counted = c.numbers(positions) if not isinstance(unshaped(c, uncast(c, positions)), Weight) else None
            if counted is not None and np.array_equal(np.unique(counted), np.arange(length)):
                return _base_of(c, unshaped(c, uncast(c, unshaped(c, frequencies))), size)
    return None


def _angle(c: CallWriter, table: Any, function: str) -> Any:
    """The angle whose cosine or sine a table holds, scaled by 1 or not at all."""
    table = unshaped(c, uncast(c, unshaped(c, table)))
    for inner, scale in either_way(operands(c, table, "mul")):
        if is_number(scale, 1.0):
            table = inner
    found = operands(c, table, function)
    return found[0] if found else None


def _base_of(c: CallWriter, frequencies: Any, size: int) -> float | None:
    """The base of frequencies base^(-2 i / size); the usual one where their values are not known."""
    weight = _weight(c, frequencies)
    if weight is not None and weight.read is None:
        return _DEFAULT_BASE
    values = weight.read() if weight is not None and weight.read is not None else c.numbers(frequencies)
    if values is None or values.size != size // 2:
        return None
    flat = values.ravel().astype(np.float64)
    if size == 2:
        return _DEFAULT_BASE if is_number(float(flat[0]), 1.0) else None
    base = float(flat[1]) ** (-size / 2)
    rounded = float(f"{base:.5g}")
    fits = np.allclose(flat, rounded ** (-2 * np.arange(size // 2) / size), rtol=1e-5)
    return rounded if fits else None


def _weight(c: CallWriter, value: Any) -> Weight | None:
    """The weight that a variable stands for."""
    if isinstance(value, Weight):
        return value
    return c.script.weights.get(value.text) if made_by(c, value, "param") is not None else None


PATTERNS = {FUNCTION: [attention], "add": [rotary]}
