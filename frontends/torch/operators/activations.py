"""Activations and softmax."""

from __future__ import annotations

from npuc.frontends.dsl.syntax import Call
from npuc.frontends.script.weights import FLOATS, Refused, Tensor
from npuc.frontends.torch.context import Context
from npuc.frontends.torch.operators import Meaning, registry
from npuc.frontends.torch.program import Keyword

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)
Number = Tensor | int | float | bool


@operator("aten.clamp", "aten.clip", "aten.clamp_min", "aten.clamp_max", "aten.hardtanh")
def clamp(
    c: Context,
    x: Tensor,
    min: Number | None = None,
    max: Number | None = None,
    min_val: float | None = None,
    max_val: float | None = None,
) -> Tensor | Call:
    low, high = (min, max) if min_val is None else (min_val, max_val)
    if isinstance(low, int | float) and isinstance(high, int | float) and c.element(x) in FLOATS:
        return c.call("clip", x, low, high)
    element = c.result_element()
    if low is None:
        return x if high is None else c.call("min", c.cast(x, element), c.operand(high, element))
    raised = c.call("max", c.cast(x, element), c.operand(low, element))
    if high is None:
        return raised
    return c.call("min", c.script.assign(f"{c.layer}.max", raised), c.operand(high, element))


@operator("aten.hardtanh.default")
def hardtanh(c: Context, x: Tensor, min_val: float = -1, max_val: float = 1) -> Tensor | Call:
    return clamp(c, x, min_val=min_val, max_val=max_val)


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


@operator("aten.softplus")
def softplus(c: Context, x: Tensor, beta: float = 1, threshold: float = 20) -> Call:
    if beta == 1:
        return c.call("softplus", x)
    return c.call("div", c.let("softplus", c.let("mul", x, beta)), beta)


@operator("aten.log_sigmoid")
def log_sigmoid(c: Context, x: Tensor) -> Call:
    return c.call("neg", c.let("softplus", c.let("neg", x)))


@operator("aten.prelu")
def prelu(c: Context, x: Tensor, weight: Tensor) -> Call:
    if (
        len(c.shape(weight)) == 1
        and len(c.shape(x)) > 1
        and c.shape(weight)[0] == c.shape(x)[1]
        and c.owner(weight=weight)
    ):
        return c.call("prelu", x)
    return c.call("prelu", x, weight=weight)


@operator("aten.softmax", "aten._softmax")
def softmax(c: Context, x: Tensor, dim: int, dtype: Keyword | None = None, half_to_float: bool = False) -> Call:
    return c.call("softmax", c.cast(x, c.result_element()), dim)


@operator("aten.log_softmax", "aten._log_softmax")
def log_softmax(c: Context, x: Tensor, dim: int, dtype: Keyword | None = None, half_to_float: bool = False) -> Call:
    return c.call("log_softmax", c.cast(x, c.result_element()), dim)


@operator("aten.glu")
def glu(c: Context, x: Tensor, dim: int = -1) -> Call:
    axis = c.axis(dim, x)
    half = c.shape(x)[axis] // 2
    a, b = c.script.several([f"{c.layer}.value", f"{c.layer}.gate"], "split", c.variable(x), half, axis)
    return c.call("mul", a, c.let("sigmoid", b))


@operator("aten.selu")
def selu(c: Context, x: Tensor) -> Call:
    return c.call("mul", c.let("elu", x, 1.6732632423543772848170429916717), 1.0507009873554804934193349852946)


@operator("aten.celu")
def celu(c: Context, x: Tensor, alpha: float = 1) -> Call:
    return c.call("elu", x) if alpha == 1 else c.call("mul", c.let("elu", c.let("div", x, alpha)), alpha)


@operator("aten.threshold")
def threshold(c: Context, x: Tensor, threshold: float, value: float) -> Call:
    return c.call("where", c.let("greater", x, threshold), x, value)
