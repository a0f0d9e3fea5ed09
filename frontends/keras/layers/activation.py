"""Activations that are layers."""

from __future__ import annotations

from npuc.frontends.dsl.syntax import Call
from npuc.frontends.keras.activations import activate
from npuc.frontends.keras.layer import KerasLayer
from npuc.frontends.keras.layers import Meaning, registry
from npuc.frontends.keras.values import KerasValue, to_first
from npuc.frontends.script.weights import Refused

MEANINGS: dict[str, Meaning] = {}
layer = registry(MEANINGS)


def _like(c: KerasLayer, value: KerasValue, call: Call) -> KerasValue:
    return KerasValue(c.script.assign(c.layer, call), value.first)


@layer("Activation")
def activation(c: KerasLayer) -> KerasValue:
    return activate(c, c.x, c.options.get("activation"), alone=True)


@layer("ReLU")
def relu(c: KerasLayer) -> KerasValue:
    """x above the threshold to max_value, and below negative_slope (x - threshold)."""
    x, most = c.x, c.options.maybe_number("max_value")
    slope = c.options.number("negative_slope", default=0.0)
    threshold = c.options.number("threshold", default=0.0)
    if threshold == 0 and slope == 0:
        if most is None or most == 6:
            return _like(c, x, c.call("relu" if most is None else "relu6", x.name))
        return _like(c, x, c.call("clip", x.name, 0.0, most))
    if threshold == 0:
        call = c.call("leaky_relu", x.name, negative_slope=slope)
    else:
        below = 0.0 if slope == 0 else c.let("mul", c.let("sub", x.name, threshold), slope)
        call = c.call("where", c.let("greater", x.name, threshold), x.name, below)
    if most is None:
        return _like(c, x, call)
    return _like(c, x, c.call("min", c.script.assign(f"{c.layer}.{call.function}", call), most))


@layer("LeakyReLU")
def leaky_relu(c: KerasLayer) -> KerasValue:
    slope = c.options.number("negative_slope", "alpha", default=0.3)
    return _like(c, c.x, c.call("leaky_relu", c.x.name, negative_slope=slope))


@layer("ThresholdedReLU")
def thresholded_relu(c: KerasLayer) -> KerasValue:
    return _like(c, c.x, c.call("threshold", c.x.name, c.options.number("theta", default=1.0), 0.0))


@layer("ELU")
def elu(c: KerasLayer) -> KerasValue:
    return _like(c, c.x, c.call("elu", c.x.name, alpha=c.options.number("alpha", default=1.0)))


@layer("PReLU")
def prelu(c: KerasLayer) -> KerasValue:
    """A slope for each element but along `shared_axes`, which have one."""
    x, shape = c.x, c.shape_of(c.x)
    shared = c.options.get("shared_axes") or []
    listed = [c.axis_of(axis, x) for axis in (shared if isinstance(shared, list) else [shared])]
    sizes = [1 if axis in listed else size for axis, size in enumerate(shape)][1:]
    channels_alone = all(size == 1 for size in sizes[:-1]) and sizes[-1] == shape[-1]
    if channels_alone and not c.shared and (len(shape) == 2 or x.first):
        return KerasValue(c.main("prelu", x.name), x.first)
    weight = c.weight("weight", sizes)
    if x.first:
        rank = len(shape)
        weight = c.let("transpose", c.let("unsqueeze", weight, 0), to_first(rank))
    negative = c.let("mul", weight, c.let("min", x.name, 0.0))
    return _like(c, x, c.call("add", c.let("relu", x.name), negative))


@layer("Softmax")
def softmax(c: KerasLayer) -> KerasValue:
    x, axis = c.x, c.options.get("axis")
    if len(c.args) > 1 or c.kwargs.get("mask") is not None:
        raise Refused("its mask has no counterpart")
    place = c.axis_of(-1 if axis is None else axis, x)
    made = c.done("softmax", x.name, axis=c.place(place, x))
    return KerasValue(made, x.first, softmax_of=x if place == len(c.shape_of(x)) - 1 else None)
