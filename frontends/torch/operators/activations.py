"""Activations and softmax."""

from __future__ import annotations

from math import inf

from npuc.frontends.dsl.syntax import Call
from npuc.frontends.script.weights import FLOATS, Refused, Tensor
from npuc.frontends.torch.context import Context
from npuc.frontends.torch.operators import Meaning, registry
from npuc.frontends.torch.program import Keyword

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)
Number = Tensor | int | float | bool


@operator("aten.gelu")
def gelu(c: Context, x: Tensor, approximate: str = "none") -> Call:
    return c.call("gelu", x, **({} if approximate == "none" else {"approximate": approximate}))


@operator("aten.leaky_relu")
def leaky_relu(c: Context, x: Tensor, negative_slope: float = 0.01) -> Call:
    return c.call("leaky_relu", x, negative_slope)


@operator("aten.elu")
def elu(c: Context, x: Tensor, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Call:
    if input_scale != 1:
        raise Refused(f"found input_scale {input_scale}, expected 1")
    return c.call("elu", x, alpha) if scale == 1 else c.call("mul", c.let("elu", x, alpha), scale)


@operator("aten.prelu")
def prelu(c: Context, x: Tensor, weight: Tensor) -> Call:
    if (
        len(c.shape(weight)) == 1
        and len(c.shape(x)) > 1
        and c.shape(weight)[0] == c.shape(x)[1]
        and c.adopt(weight=weight)
    ):
        return c.call("prelu", x)
    if len(c.shape(x)) > 1 and c.shape(weight) == (c.shape(x)[1],):
        return c.call("prelu", x, weight=weight)
    slope = c.let("reshape", weight, []) if c.shape(weight) else weight
    return c.call("where", c.let("greater", x, 0.0), x, c.let("mul", x, slope))


@operator("aten.softmax", "aten._softmax", "aten.special_softmax")
def softmax(c: Context, x: Tensor, dim: int, dtype: Keyword | None = None, half_to_float: bool = False) -> Call:
    return c.call("softmax", c.cast(x, c.result_element()), dim)


@operator("aten.log_softmax", "aten._log_softmax", "aten.special_log_softmax")
def log_softmax(c: Context, x: Tensor, dim: int, dtype: Keyword | None = None, half_to_float: bool = False) -> Call:
    return c.call("log_softmax", c.cast(x, c.result_element()), dim)


@operator("aten.clamp", "aten.clip", "aten.clamp_min", "aten.clamp_max")
def clamp(c: Context, x: Tensor, min: Number | None = None, max: Number | None = None) -> Tensor | Call:
    element = c.result_element()
    min = None if isinstance(min, float) and min == -inf else min
    max = None if isinstance(max, float) and max == inf else max
    if min is None and max is None:
        return c.cast(x, element)
    if element in FLOATS:
        low, high = (None if one is None else c.operand(one, element) for one in (min, max))
        return c.call("clip", c.cast(x, element), low=low, high=high)
    value: Tensor = c.cast(x, element)
    if min is not None and max is not None:
        value = c.let("max", value, c.operand(min, element))
    function, bound = ("min", max) if max is not None else ("max", min)
    return c.call(function, value, c.operand(bound, element) if bound is not None else None)


@operator("aten.hardtanh")
def hardtanh(c: Context, x: Tensor, min_val: float = -1, max_val: float = 1) -> Call:
    if c.element(x) not in FLOATS:
        return c.call("min", c.let("max", x, min_val), max_val)
    return c.call("hardtanh", x, min_val, max_val)


@operator("aten.softplus")
def softplus(c: Context, x: Tensor, beta: float = 1, threshold: float = 20) -> Call:
    named = {} if beta == 1 else {"beta": beta}
    if threshold >= 20:  # the function is the line there to the precision of float64
        return c.call("softplus", x, **named)
    far = c.let("greater", x if beta == 1 else c.let("mul", x, beta), threshold)
    return c.call("where", far, x, c.let("softplus", x, **named))


@operator("aten.celu")
def celu(c: Context, x: Tensor, alpha: float = 1) -> Call:
    return c.call("celu", x, alpha)


@operator("aten.threshold")
def threshold(c: Context, x: Tensor, threshold: float, value: float) -> Call:
    return c.call("threshold", x, threshold, value)


@operator("aten.hardshrink")
def hardshrink(c: Context, x: Tensor, lambd: float = 0.5) -> Call:
    return c.call("hardshrink", x, lambd)


@operator("aten.softshrink")
def softshrink(c: Context, x: Tensor, lambd: float = 0.5) -> Call:
    return c.call("softshrink", x, lambd)


@operator("aten.glu")
def glu(c: Context, x: Tensor, dim: int = -1) -> Call:
    return c.call("glu", x, c.axis(dim, x))
