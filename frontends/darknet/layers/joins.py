"""Layers that read others: [route], [shortcut], [scale_channels], [sam]."""

from __future__ import annotations

from npuc.frontends.darknet.layer import DarknetLayer, DarknetValue
from npuc.frontends.darknet.layers import Meaning, registry
from npuc.frontends.dsl.syntax import Name

MEANINGS: dict[str, Meaning] = {}
section = registry(MEANINGS)


@section("route")
def route(c: DarknetLayer) -> DarknetValue:
    """Layers one behind the other in their channels, of each the part `group_id` of `groups` (route_layer.c)."""
    own = c.section
    own.refuse("stream")
    numbers = own.integers("layers")
    if not numbers:
        raise own.wrong("layers", "found no layer, expected at least one, as layers=-1,-4")
    groups, part = own.integer("groups", 1, 1), own.integer("group_id", 0)
    if part >= groups:
        raise own.wrong("group_id", f"found {part}, expected 0 to {groups - 1}")
    values = [_part(c, c.at("layers", number), groups, part) for number in numbers]
    if len(values) == 1:
        return DarknetValue(values[0])
    if len({len(c.shape(value)) for value in values}) > 1:
        values = [c.image(value) for value in values]
    first = c.shape(values[0])
    for number, value in zip(numbers, values, strict=True):
        if c.shape(value)[2:] != first[2:]:
            shapes = f"{_size(c, value)}, layer {numbers[0]} {_size(c, values[0])}"
            raise own.wrong("layers", f"found layer {number} of {shapes}, expected equal heights and widths")
    return DarknetValue(c.result("concat", values, 1))


def _part(c: DarknetLayer, value: Name, groups: int, part: int) -> Name:
    if groups == 1:
        return value
    channels = c.shape(value)[1]
    if channels % groups:
        raise c.section.wrong("groups", f"found {groups} for {channels} channels, expected a divisor")
    each = channels // groups
    return c.let("slice", value, 1, part * each, (part + 1) * each)


def _size(c: DarknetLayer, value: Name) -> str:
    return " x ".join(map(str, c.shape(value)[2:])) or "vectors"


@section("shortcut")
def shortcut(c: DarknetLayer) -> DarknetValue:
    """
    The value above plus earlier ones.

    Of an earlier value of another size the channels that both have are added, and of its rows and columns each
    n-th (`shortcut_cpu` of blas.c).
    """
    own = c.section
    own.refuse("weights_type")
    own.read.add("weights_normalization")
    numbers = own.integers("from")
    if not numbers:
        raise own.wrong("from", "found no layer, expected one, as from=-3")
    alpha, beta = own.real("alpha", 1.0), own.real("beta", 1.0)
    value = c.x if alpha == 1 else c.let("mul", c.x, alpha)
    for place, number in enumerate(numbers):
        other = _fitted(c, c.at("from", number), value)
        call = c.call("add", value, other if beta == 1 else c.let("mul", other, beta))
        if place < len(numbers) - 1:
            value = c.script.assign(f"{c.layer}.add", call)
        else:
            return DarknetValue(c.activate(call, "linear"))
    raise AssertionError


def _fitted(c: DarknetLayer, other: Name, x: Name) -> Name:
    """An earlier value in the size of another: each n-th row and column, channels left out or filled with zeros."""
    (whole, own) = (c.shape(x), c.shape(other))
    if whole == own:
        return other
    if len(whole) != 4 or len(own) != 4 or own[2] % whole[2] or own[2] // whole[2] * whole[3] != own[3]:
        raise c.section.wrong("from", f"found a layer of {list(own[1:])}, expected one that fits {list(whole[1:])}")
    step, channels = own[2] // whole[2], min(whole[1], own[1])
    if channels < own[1]:
        other = c.let("slice", other, 1, 0, channels)
    if step > 1:
        other = c.let("slice", c.let("slice", other, 2, 0, own[2], step), 3, 0, own[3], step)
    if channels < whole[1]:
        other = c.let("pad", other, [0, 0, 0, 0, 0, whole[1] - channels])
    return other


@section("scale_channels")
def scale_channels(c: DarknetLayer) -> DarknetValue:
    """An earlier layer times a number for each channel, or with `scale_wh` one for each place."""
    own, x = c.section, c.image()
    numbers = own.integers("from")
    if len(numbers) != 1:
        raise own.wrong("from", f"found {len(numbers)} layers, expected one")
    other = c.image(c.at("from", numbers[0]))
    batch, channels, *sizes = c.shape(other)
    expected = (batch, 1, *sizes) if own.flag("scale_wh") else (batch, channels, 1, 1)
    if c.shape(x) != expected:
        raise own.wrong("from", f"found {list(c.shape(x)[1:])} above, expected {list(expected[1:])} for this layer")
    return DarknetValue(c.activate(c.call("mul", other, x), "linear"))


@section("sam")
def sam(c: DarknetLayer) -> DarknetValue:
    """The value above times an earlier one of its size."""
    own = c.section
    numbers = own.integers("from")
    other = c.at("from", numbers[0]) if len(numbers) == 1 else None
    if other is None or c.shape(other) != c.shape(c.x):
        raise own.wrong("from", f"expected one layer of the size {list(c.shape(c.x)[1:])}")
    return DarknetValue(c.activate(c.call("mul", c.x, other), "linear"))
