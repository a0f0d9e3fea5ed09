"""Layers that give the same elements another shape or order."""

from __future__ import annotations

from math import prod

from npuc.frontends.keras.layer import KerasLayer
from npuc.frontends.keras.layers import Meaning, registry
from npuc.frontends.keras.values import KerasValue
from npuc.frontends.script.weights import Refused

MEANINGS: dict[str, Meaning] = {}
layer = registry(MEANINGS)


def _is_point(sizes: tuple[int, ...] | list[int]) -> bool:
    """Whether a sample has channels alone: its other axes are single."""
    return set(sizes[:-1]) <= {1}


@layer("Flatten")
def flatten(c: KerasLayer) -> KerasValue:
    """A vector in the order of the channels last; images with channels first are turned round (Keras's Flatten)."""
    x, shape = c.x, c.shape_of(c.x)
    if len(shape) == 2:
        return x
    if len(shape) == 1:
        return KerasValue(c.done("reshape", x.name, [shape[0], 1]))
    if not c.channels_last:
        batch, channels, *sizes = shape
        turned = c.let("transpose", c.last(x), [0, *range(2, len(shape)), 1]) if prod(sizes) > 1 else c.last(x)
        return KerasValue(c.done("reshape", turned, [batch, channels * prod(sizes)]))
    own = x.name if x.first and _is_point(shape[1:]) else c.last(x)
    return KerasValue(c.done("flatten", own))


@layer("Reshape")
def reshape(c: KerasLayer) -> KerasValue:
    batch, *sizes = c.shape_of(c.x)
    target = _target(c, prod(sizes))
    if list(sizes) == target:
        return c.x
    if _is_point(sizes) and _is_point(target) and target[-1] == sizes[-1]:  # a vector and images of one element
        first = len(target) > 1
        shape = [batch, target[-1], *target[:-1]] if first else [batch, *target]
        return KerasValue(c.done("reshape", c.x.name, shape), first)
    return KerasValue(c.done("reshape", c.last(c.x), [batch, *target]))


def _target(c: KerasLayer, count: int) -> list[int]:
    given = c.options.get("target_shape")
    sizes = [one for one in given if type(one) is int and one >= -1] if isinstance(given, list) else []
    if not isinstance(given, list) or len(sizes) != len(given) or sizes.count(-1) > 1:
        raise Refused(f"target_shape: found {given}, expected sizes, at most one of them -1")
    known = prod(size for size in sizes if size != -1)
    if known == 0 or count % known or (-1 not in sizes and known != count):
        raise Refused(f"target_shape: found {sizes} for {count} elements of a sample")
    return [count // known if size == -1 else size for size in sizes]


@layer("Permute")
def permute(c: KerasLayer) -> KerasValue:
    x = c.last(c.x)
    rank, dims = len(c.shape(x)), c.options.get("dims")
    if not isinstance(dims, list) or sorted(map(str, dims)) != sorted(map(str, range(1, rank))):
        raise Refused(f"dims: found {dims}, expected the axes 1 to {rank - 1} in another order")
    return KerasValue(c.done("transpose", x, [0, *[int(str(axis)) for axis in dims]]))


@layer("RepeatVector")
def repeat_vector(c: KerasLayer) -> KerasValue:
    x, times = c.last(c.x), c.options.integer("n")
    if len(c.shape(x)) != 2:
        raise Refused(f"found a tensor of rank {len(c.shape(x))}, expected rank 2")
    batch, width = c.shape(x)
    return KerasValue(c.done("expand", c.let("unsqueeze", x, 1), [batch, times, width]))


@layer("Identity")
def identity(c: KerasLayer) -> KerasValue:
    return c.x
