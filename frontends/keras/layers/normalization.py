"""Normalisations."""

from __future__ import annotations

from math import prod

from npuc.frontends.dsl.syntax import Name
from npuc.frontends.keras.layer import KerasLayer
from npuc.frontends.keras.layers import Meaning, registry
from npuc.frontends.keras.values import KerasValue
from npuc.frontends.script.weights import Refused

MEANINGS: dict[str, Meaning] = {}
layer = registry(MEANINGS)


@layer("BatchNormalization", "SyncBatchNormalization")
def batch_norm(c: KerasLayer) -> KerasValue:
    """
    By the batch's statistics in training, unless the layer is not trainable, then by the running ones, as Keras does.

    Of a value whose channels are last the other axes are one, so that no element moves.
    """
    x = c.x
    rank = len(c.shape(x.name))
    axis = c.options.get("axis")
    axis = c.axis_of(-1 if axis is None else axis, x)
    eps = c.options.number("epsilon", default=1e-3)
    momentum = round(1 - c.options.number("momentum", default=0.99), 12)
    scale, center = c.options.flag("scale", True), c.options.flag("center", True)
    if axis == rank - 1 and x.first:
        value, back = x.name, None
    elif axis == rank - 1:
        shape = c.shape(x.name)
        value, back = (c.let("reshape", x.name, [prod(shape[:-1]), shape[-1]]), shape) if rank > 2 else (x.name, None)
    elif axis == 1:
        value, back, x = c.last(x), None, KerasValue(c.last(x))
    else:
        raise Refused(f"axis: found {axis}, expected the last, or the second")
    made = _batch_normalised(c, value, eps, momentum, scale, center)
    return KerasValue(made if back is None else c.let("reshape", made, list(back)), x.first)


def _batch_normalised(c: KerasLayer, x: Name, eps: float, momentum: float, scale: bool, center: bool) -> Name:
    """The second axis normalised."""
    if not c.trainable or (c.shared and not c.script.training):
        return _by_running(c, x, eps, scale, center)
    c.refuse_shared()
    if scale == center:
        return c.main("batch_norm", x, eps=eps, momentum=momentum, **({} if scale else {"affine": False}))
    made = c.main("batch_norm", x, eps=eps, momentum=momentum, affine=False)
    shape = [c.shape(x)[1], *[1] * (len(c.shape(x)) - 2)]
    if scale:
        return c.let("mul", made, c.weight("scale", shape, 1.0))
    return c.let("add", made, c.weight("shift", shape, 0.0))


def _by_running(c: KerasLayer, x: Name, eps: float, scale: bool, center: bool) -> Name:
    """(x - mean) / sqrt(variance + eps) scale + shift with weights that are not trained for the statistics."""
    shape = [c.shape(x)[1], *[1] * (len(c.shape(x)) - 2)]
    mean, variance = (c.weight(n, shape, f, trained=False) for n, f in (("running_mean", 0.0), ("running_var", 1.0)))
    factor = c.let("rsqrt", c.let("add", variance, eps))
    if scale:
        factor = c.let("mul", c.weight("scale", shape, 1.0), factor)
    made = c.let("mul", c.let("sub", x, mean), factor)
    return c.let("add", made, c.weight("shift", shape, 0.0)) if center else made


@layer("LayerNormalization")
def layer_norm(c: KerasLayer) -> KerasValue:
    """Over the last axes; with neither scale nor shift, or a scale that is left out, it is written out."""
    x = KerasValue(c.last(c.x))
    rank = len(c.shape(x.name))
    axes = c.options.get("axis")
    listed = [-1] if axes is None else axes if isinstance(axes, list) else [axes]
    places = sorted(c.axis_of(axis, x) for axis in listed)
    if places != list(range(rank - len(places), rank)):
        raise Refused(f"axis: found {places}, expected the last axes")
    eps, scale, center = c.options.number("epsilon", default=1e-3), *_affine(c)
    if c.options.flag("rms_scaling", False):
        return _rms(c, x.name, eps, len(places))
    if scale and not c.shared:
        named = {**({"axes": len(places)} if len(places) > 1 else {}), **({} if center else {"bias": False})}
        return KerasValue(c.main("layer_norm", x.name, eps=eps, **named))
    mean = c.let("mean", x.name, places, keepdim=True)
    apart = c.let("sub", x.name, mean)
    variance = c.let("mean", c.let("mul", apart, apart), places, keepdim=True)
    made = c.let("mul", apart, c.let("rsqrt", c.let("add", variance, eps)))
    return KerasValue(_scaled(c, made, list(c.shape(x.name)[places[0] :]), scale, center))


def _affine(c: KerasLayer) -> tuple[bool, bool]:
    return c.options.flag("scale", True), c.options.flag("center", True)


def _scaled(c: KerasLayer, x: Name, shape: list[int], scale: bool, center: bool) -> Name:
    if scale:
        x = c.let("mul", x, c.weight("weight", shape, 1.0))
    return c.let("add", x, c.weight("bias", shape, 0.0)) if center else x


def _rms(c: KerasLayer, x: Name, eps: float, axes: int) -> KerasValue:
    c.refuse_shared()
    named = {"axes": axes} if axes > 1 else {}
    return KerasValue(c.main("rms_norm", x, eps=eps, **named))


@layer("RMSNormalization")
def rms_norm(c: KerasLayer) -> KerasValue:
    x, axis = KerasValue(c.last(c.x)), c.options.get("axis")
    if c.axis_of(-1 if axis is None else axis, x) != len(c.shape(x.name)) - 1:
        raise Refused("axis: expected the last one")
    return _rms(c, x.name, c.options.number("epsilon", default=1e-6), 1)


@layer("GroupNormalization")
def group_norm(c: KerasLayer) -> KerasValue:
    x, axis = c.x, c.options.get("axis")
    if c.axis_of(-1 if axis is None else axis, x) != len(c.shape(x.name)) - 1:
        raise Refused("axis: expected the last one")
    value, scale, center = c.first(x), *_affine(c)
    channels, groups = c.shape(value)[1], c.options.integer("groups", 32, least=-1)
    groups = channels if groups == -1 else groups
    if groups < 1 or channels % groups:
        raise Refused(f"groups: found {groups} for {channels} channels, expected a divisor")
    eps, is_first = c.options.number("epsilon", default=1e-3), len(c.shape(value)) > 2
    if scale and center and not c.shared:
        return KerasValue(c.main("group_norm", value, groups, eps=eps), is_first)
    made = c.let("group_norm", value, groups, eps=eps, affine=False)
    return KerasValue(_scaled(c, made, [channels, *[1] * (len(c.shape(value)) - 2)], scale, center), is_first)


@layer("UnitNormalization")
def unit_norm(c: KerasLayer) -> KerasValue:
    """x over its Euclidean length along an axis; of zeros 0."""
    x, axis = c.x, c.options.get("axis")
    place = c.place(c.axis_of(-1 if axis is None else axis, x), x)
    squares = c.let("sum", c.let("mul", x.name, x.name), place, keepdim=True)
    return KerasValue(c.done("mul", x.name, c.let("rsqrt", c.let("max", squares, 1e-12))), x.first)
