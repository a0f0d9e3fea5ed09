"""Normalisations and dropout."""

from __future__ import annotations

from collections.abc import Sequence

from npuc.frontends.dsl.syntax import Call
from npuc.frontends.script.weights import Refused, Tensor
from npuc.frontends.torch.context import Context
from npuc.frontends.torch.operators import Meaning, registry

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)


@operator("aten.batch_norm")
def batch_norm(
    c: Context,
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Call:
    statistics = {"running_mean": running_mean, "running_var": running_var}
    if running_mean is None or running_var is None:
        return _of_batch(c, input, weight, bias, eps)
    named: dict[str, float | bool] = {}
    if momentum != 0.1:
        named["momentum"] = momentum
    if eps != 1e-5:
        named["eps"] = eps
    if (weight is None) == (bias is None) and c.adopt(statistics, weight=weight, bias=bias):
        return c.call("batch_norm", input, **({} if weight is not None else {"affine": False}), **named)
    if c.adopt(statistics):
        return _of_channels(c, c.call("batch_norm", input, affine=False, **named), c.shape(input), weight, bias)
    if training or c.script.training:
        raise Refused("found a batch norm in training that shares its running statistics")
    return _of_statistics(c, input, (running_mean, running_var), weight, bias, eps)


def _of_batch(c: Context, x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float) -> Call:
    """Each channel less its mean over the batch, over its standard deviation: no statistics are kept."""
    over = [axis for axis in range(len(c.shape(x))) if axis != 1]
    centred = c.let("sub", x, c.let("mean", x, axis=over, keepdim=True))
    spread = c.let("var", x, axis=over, correction=0, keepdim=True)
    plain = c.call("mul", centred, c.let("rsqrt", c.let("add", spread, eps)))
    return _of_channels(c, plain, c.shape(x), weight, bias)


def _of_statistics(
    c: Context, x: Tensor, statistics: tuple[Tensor, Tensor], weight: Tensor | None, bias: Tensor | None, eps: float
) -> Call:
    """Each channel less a given mean, over the root of a given variance."""
    shape = [c.shape(x)[1], *[1] * (len(c.shape(x)) - 2)]
    mean, spread = (c.let("reshape", one, shape) for one in statistics)
    plain = c.call("mul", c.let("sub", x, mean), c.let("rsqrt", c.let("add", spread, eps)))
    return _of_channels(c, plain, c.shape(x), weight, bias)


def _of_channels(c: Context, plain: Call, sizes: Sequence[int], weight: Tensor | None, bias: Tensor | None) -> Call:
    """Channels times a weight, plus a bias, which may be missing."""
    if weight is None and bias is None:
        return plain
    shape = [sizes[1], *[1] * (len(sizes) - 2)]
    scale, shift = (None if one is None else c.let("reshape", one, shape) for one in (weight, bias))
    return _scaled(c, c.script.assign(f"{c.layer}.normalize", plain), scale, shift)


@operator("aten.layer_norm")
def layer_norm(
    c: Context,
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Call:
    axes = len(normalized_shape)
    named: dict[str, int | float | bool] = {} if eps == 1e-5 else {"eps": eps}
    if axes != 1:
        named["axes"] = axes
    if weight is not None and c.adopt(weight=weight, bias=bias):
        return c.call("layer_norm", input, **named, **({} if bias is not None else {"bias": False}))
    plain = _plain(c, input, axes, eps)
    if weight is None and bias is None:
        return plain
    return _scaled(c, c.script.assign(f"{c.layer}.normalize", plain), weight, bias)


def _plain(c: Context, x: Tensor, axes: int, eps: float) -> Call:
    """Values less their mean, over their standard deviation, along the last axes."""
    over = list(range(-axes, 0))
    centred = c.let("sub", x, c.let("mean", x, axis=over, keepdim=True))
    spread = c.let("var", x, axis=over, correction=0, keepdim=True)
    return c.call("mul", centred, c.let("rsqrt", c.let("add", spread, eps)))


def _scaled(c: Context, x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Call:
    """A normalised tensor times a weight, plus a bias, of which one may be missing."""
    if weight is not None and bias is not None:
        return c.call("add", c.let("mul", x, weight), bias)
    return c.call("mul", x, weight) if weight is not None else c.call("add", x, bias)


@operator("aten.rms_norm")
def rms_norm(
    c: Context, input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Call:
    epsilon = (
        {"f64": 2.0**-52, "f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7}[c.element(input)] if eps is None else eps
    )
    named = {"eps": epsilon, "axes": len(normalized_shape)}
    if weight is None:
        return c.call("rms_norm", input, affine=False, **named)
    if c.adopt(weight=weight):
        return c.call("rms_norm", input, **named)
    return c.call("mul", c.let("rms_norm", input, affine=False, **named), weight)


@operator("aten.group_norm")
def group_norm(
    c: Context,
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Call:
    named = {} if eps == 1e-5 else {"eps": eps}
    if weight is not None and bias is not None and c.adopt(weight=weight, bias=bias):
        return c.call("group_norm", input, num_groups, **named)
    if weight is None and bias is None:
        return c.call("group_norm", input, num_groups, affine=False, **named)
    plain = c.let("group_norm", input, num_groups, affine=False, **named)
    shape = [c.shape(input)[1], *[1] * (len(c.shape(input)) - 2)]
    shaped = [None if one is None else c.let("reshape", one, shape) for one in (weight, bias)]
    return _scaled(c, plain, *shaped)


@operator("aten.instance_norm")
def instance_norm(
    c: Context,
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Call:
    if running_mean is not None:
        raise Refused("found an instance norm with running statistics, which has no counterpart")
    named = {} if eps == 1e-5 else {"eps": eps}
    if weight is None and bias is None:
        return c.call("instance_norm", input, **named)
    if weight is not None and bias is not None and c.adopt(weight=weight, bias=bias):
        return c.call("instance_norm", input, affine=True, **named)
    return group_norm(c, input, c.shape(input)[1], weight, bias, eps)


@operator("aten.dropout")
def dropout(c: Context, x: Tensor, p: float, train: bool = True) -> Tensor | Call:
    return x if p == 0 else c.call("dropout", x, p)
