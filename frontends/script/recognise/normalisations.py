"""Normalisations that graphs spell out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from npuc.frontends.script.recognise.matching import either_way, is_number, made_by, operands, same, uncast
from npuc.frontends.script.weights import Weight

if TYPE_CHECKING:
    from npuc.frontends.dsl.syntax import Call
    from npuc.frontends.script.writer import CallWriter


def rms_norm(c: CallWriter, x: Any, y: Any) -> Call | None:
    """weight x / sqrt(mean(x^2) + eps) over the last axis, computed in single precision or as x is."""
    for weight, scaled in either_way([x, y]):
        if not isinstance(weight, Weight) or len(weight.shape) != 1:
            continue
        for wide, root in either_way(operands(c, uncast(c, scaled), "mul")):
            eps = _epsilon(c, root, wide)
            source = uncast(c, wide)
            if eps is not None and c.shape(source)[-1:] == weight.shape and c.element(source) == weight.element:
                if c.adopt(weight=weight):
                    return c.call("rms_norm", source, eps=eps)
    return None


def _epsilon(c: CallWriter, root: Any, x: Any) -> float | None:
    """The eps of 1 / sqrt(mean(x^2) + eps) over the last axis; None for another value."""
    inverse = operands(c, root, "rsqrt")
    if not inverse:
        divided = operands(c, root, "div")
        inverse = operands(c, divided[1], "sqrt") if len(divided) == 2 and is_number(divided[0], 1.0) else []
    for mean, eps in either_way(operands(c, inverse[0], "add") if inverse else []):
        found = made_by(c, mean, "mean")
        if isinstance(eps, int | float) and found is not None and _is_square(c, found[0][0], x):
            last = len(c.shape(x)) - 1
            if found[1].get("axis") in (last, -1) and found[1].get("keepdim") is True:
                return float(eps)
    return None


def _is_square(c: CallWriter, value: Any, x: Any) -> bool:
    power = operands(c, value, "pow")
    if len(power) == 2 and same(power[0], x) and is_number(power[1], 2):
        return True
    return any(same(a, x) and same(b, x) for a, b in either_way(operands(c, value, "mul")))


PATTERNS = {"mul": [rms_norm]}
