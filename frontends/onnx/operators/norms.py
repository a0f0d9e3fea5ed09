"""Normalisations."""

from __future__ import annotations

from npuc.frontends.dsl.syntax import Call, Name
from npuc.frontends.onnx.context import OnnxContext
from npuc.frontends.onnx.operators import Meaning, Result, registry

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)


@operator("BatchNormalization")
def batch_norm(c: OnnxContext) -> Result:
    """In training form, as the network was before it was exported; with running statistics in inference."""
    c.only(1)
    weight, bias, mean, var = (c.weight(index) for index in range(1, 5))
    eps, momentum = c.onnx.float("epsilon", 1e-5), 1 - c.onnx.float("momentum", 0.9)
    named = _eps(eps) | ({} if abs(momentum - 0.1) < 1e-6 else {"momentum": round(momentum, 7)})
    if None not in (weight, bias, mean, var) and c.own(weight=weight, bias=bias, running_mean=mean, running_var=var):
        return c.call("batch_norm", c.x(), **named)
    shape = [-1, *[1] * (len(c.shape(c.x())) - 2)]
    if not c.onnx.int("training_mode"):
        centre, spread = (c.let("reshape", c.x(index), shape) for index in (3, 4))
        factor = c.let("rsqrt", c.let("add", spread, eps))
        plain = c.let("mul", c.let("sub", c.x(), centre), factor)
    elif mean is not None and var is not None and c.own(running_mean=mean, running_var=var):
        plain = c.settled(c.call("batch_norm", c.x(), affine=False, **named))
    else:
        raise c.error("is in training mode, expected running statistics that are parameters of its own")
    scale, shift = (c.let("reshape", c.x(index), shape) for index in (1, 2))
    return c.call("add", c.let("mul", plain, scale), shift)


def _eps(eps: float, usual: float = 1e-5) -> dict[str, float]:
    """The epsilon of a normalisation where it is not the usual one; as it was before it was rounded to 32 bits."""
    return {} if abs(eps - usual) < 1e-6 * usual else {"eps": float(f"{eps:.7g}")}


@operator("InstanceNormalization")
def instance_norm(c: OnnxContext) -> Result:
    eps = _eps(c.onnx.float("epsilon", 1e-5))
    weight, bias = c.weight(1), c.weight(2)
    if weight is not None and bias is not None and c.own(weight=weight, bias=bias):
        return c.call("instance_norm", c.x(), affine=True, **eps)
    shape = [-1, *[1] * (len(c.shape(c.x())) - 2)]
    scaled = c.let("mul", c.let("instance_norm", c.x(), **eps), c.let("reshape", c.x(1), shape))
    return c.call("add", scaled, c.let("reshape", c.x(2), shape))


@operator("GroupNormalization")
def group_norm(c: OnnxContext) -> Result:
    eps, groups = _eps(c.onnx.float("epsilon", 1e-5)), c.onnx.int("num_groups", 1)
    weight, bias = c.weight(1), c.weight(2)
    if weight is not None and bias is not None and c.own(weight=weight, bias=bias):
        return c.call("group_norm", c.x(), groups, **eps)
    shape = [-1, *[1] * (len(c.shape(c.x())) - 2)]
    plain = c.let("group_norm", c.x(), groups, affine=False, **eps)
    return c.call("add", c.let("mul", plain, c.let("reshape", c.x(1), shape)), c.let("reshape", c.x(2), shape))


@operator("LayerNormalization")
def layer_norm(c: OnnxContext) -> Result:
    x = c.x()
    axes, eps = len(c.shape(x)) - c.axis_of(x, -1), c.onnx.float("epsilon", 1e-5)
    return layer_normed(c, x, 1, 2, axes, eps, any(c.onnx.outputs[1:]))


def layer_normed(
    c: OnnxContext, x: Name, scale: int, shift: int, axes: int, eps: float, statistics: bool = False
) -> Result:
    """
    The last axes of a value normalised, with the operands of two numbers as scale and shift.

    With `statistics` the mean and the inverse of the deviation are a second and a third result.
    """
    weight, bias = c.weight(scale), c.weight(shift)
    rank = len(c.shape(x))
    shape = c.shape(x)[rank - axes :]
    fits = weight is not None and weight.shape == shape and (bias is None or bias.shape == shape)
    if fits and not statistics and (bias is not None or not c.onnx.has(shift)) and c.own(weight=weight, bias=bias):
        named = _eps(eps) | ({} if axes == 1 else {"axes": axes}) | ({} if bias is not None else {"bias": False})
        return c.call("layer_norm", x, **named)
    over = list(range(rank - axes, rank))
    mean = c.let("mean", x, axis=over, keepdim=True)
    centred = c.let("sub", x, mean)
    factor = c.let("rsqrt", c.let("add", c.let("var", x, axis=over, correction=0, keepdim=True), eps))
    scaled: Name | Call = c.call("mul", c.let("mul", centred, factor), c.x(scale))
    if c.onnx.has(shift):
        scaled = c.call("add", c.held(scaled), c.x(shift))
    return [scaled, mean, factor] if statistics else scaled


@operator("RMSNormalization", "SimplifiedLayerNormalization", "com.microsoft.SimplifiedLayerNormalization")
def rms_norm(c: OnnxContext) -> Result:
    c.only(1)
    x = c.x()
    return rms_normed(c, x, 1, len(c.shape(x)) - c.axis_of(x, -1), c.onnx.float("epsilon", 1e-5))


def rms_normed(c: OnnxContext, x: Name, scale: int, axes: int, eps: float) -> Call:
    """The last axes of a value over the root of their mean square, times the operand of a number."""
    named = {"eps": float(f"{eps:.7g}")} | ({} if axes == 1 else {"axes": axes})
    weight = c.weight(scale)
    if weight is not None and weight.shape == c.shape(x)[len(c.shape(x)) - axes :] and c.own(weight=weight):
        return c.call("rms_norm", x, **named)
    return c.call("mul", c.let("rms_norm", x, affine=False, **named), c.x(scale))


@operator("LRN")
def local_response_norm(c: OnnxContext) -> Result:
    named = {"alpha": c.onnx.float("alpha", 1e-4), "beta": c.onnx.float("beta", 0.75), "k": c.onnx.float("bias", 1.0)}
    usual = {"alpha": 1e-4, "beta": 0.75, "k": 1.0}
    given = {name: float(f"{v:.7g}") for name, v in named.items() if abs(v - usual[name]) > 1e-6 * usual[name]}
    return c.call("local_response_norm", c.x(), c.onnx.int("size"), **given)


@operator("MeanVarianceNormalization")
def mean_variance(c: OnnxContext) -> Result:
    x, axes = c.x(), list(c.onnx.ints("axes") or (0, 2, 3))
    centred = c.let("sub", x, c.let("mean", x, axis=axes, keepdim=True))
    spread = c.let("sqrt", c.let("var", x, axis=axes, correction=0, keepdim=True))
    return c.call("div", centred, c.let("add", spread, 1e-9))
