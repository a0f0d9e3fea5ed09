"""Activations that graphs spell out."""

from __future__ import annotations

from math import pi, sqrt
from typing import TYPE_CHECKING, Any

from npuc.frontends.script.recognise.matching import either_way, is_number, operands, same

if TYPE_CHECKING:
    from npuc.frontends.dsl.syntax import Call
    from npuc.frontends.script.writer import CallWriter


def silu(c: CallWriter, x: Any, y: Any) -> Call | None:
    """x sigmoid(x)."""
    for a, b in either_way([x, y]):
        gate = operands(c, b, "sigmoid")
        if gate and same(gate[0], a):
            return c.call("silu", a)
    return None


def gelu(c: CallWriter, x: Any, y: Any) -> Call | None:
    """
    x / 2 (1 + erf(x / sqrt(2))), or its approximation by tanh, in any order of its three factors.

    Sources: Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016, sections 2 and 3.
    """
    for a, b in either_way([x, y]):
        for half, rest in _halves(c, a, b):
            for one, curve in either_way(operands(c, rest, "add")):
                if is_number(one, 1.0) and (name := _curve_of(c, curve, half)) is not None:
                    return c.call("gelu", half, **({} if name == "none" else {"approximate": name}))
    return None


def _halves(c: CallWriter, a: Any, b: Any) -> list[tuple[Any, Any]]:
    """The argument and the other factor of a product of three factors of which one is a half."""
    halved = [value for value, half in either_way(operands(c, a, "mul")) if is_number(half, 0.5)]
    found = [pair for value in halved for pair in ((value, b), (b, value))]
    if is_number(b, 0.5):
        found += [(value, rest) for value, rest in either_way(operands(c, a, "mul"))]
    return found


def _curve_of(c: CallWriter, curve: Any, x: Any) -> str | None:
    """Which form of gelu a curve of x belongs to."""
    if erf := operands(c, curve, "erf"):
        divided, times = operands(c, erf[0], "div"), operands(c, erf[0], "mul")
        if len(divided) == 2 and same(divided[0], x) and is_number(divided[1], sqrt(2)):
            return "none"
        if any(same(a, x) and is_number(b, sqrt(0.5)) for a, b in either_way(times)):
            return "none"
    if tanh := operands(c, curve, "tanh"):
        for total, scale in either_way(operands(c, tanh[0], "mul")):
            if is_number(scale, sqrt(2 / pi)):
                for a, cubic in either_way(operands(c, total, "add")):
                    if same(a, x) and _is_cubic(c, cubic, x):
                        return "tanh"
    return None


def _is_cubic(c: CallWriter, value: Any, x: Any) -> bool:
    """Whether a value is 0.044715 x^3."""
    for cube, scale in either_way(operands(c, value, "mul")):
        power = operands(c, cube, "pow")
        if is_number(scale, 0.044715) and len(power) == 2 and same(power[0], x) and is_number(power[1], 3):
            return True
        if is_number(scale, 0.044715) and any(
            same(one, x) and all(same(side, x) for side in operands(c, square, "mul") or [None])
            for one, square in either_way(operands(c, cube, "mul"))
        ):
            return True
    return False


PATTERNS = {"mul": [silu, gelu]}
