"""Layers that take several tensors."""

from __future__ import annotations

from npuc.frontends.dsl.syntax import Name
from npuc.frontends.keras.layer import KerasLayer
from npuc.frontends.keras.layers import Meaning, registry
from npuc.frontends.keras.values import KerasValue
from npuc.frontends.script.weights import Refused

MEANINGS: dict[str, Meaning] = {}
layer = registry(MEANINGS)


def folded(c: KerasLayer, function: str, least: int = 2) -> KerasValue:
    """A function of two tensors over all of a call."""
    names, first = c.aligned(c.operands(least))
    value = names[0]
    for number, other in enumerate(names[1:], 2):
        if number == len(names):
            value = c.done(function, value, other)
        else:
            value = c.let(function, value, other)
    return KerasValue(value, first)


@layer("Add")
def add(c: KerasLayer) -> KerasValue:
    return folded(c, "add")


@layer("Multiply")
def multiply(c: KerasLayer) -> KerasValue:
    return folded(c, "mul")


@layer("Maximum")
def maximum(c: KerasLayer) -> KerasValue:
    return folded(c, "max")


@layer("Minimum")
def minimum(c: KerasLayer) -> KerasValue:
    return folded(c, "min")


@layer("Subtract")
def subtract(c: KerasLayer) -> KerasValue:
    if len(c.operands()) != 2:
        raise Refused(f"found {len(c.operands())} tensors, expected 2")
    return folded(c, "sub")


@layer("Average")
def average(c: KerasLayer) -> KerasValue:
    names, first = c.aligned(c.operands())
    value = names[0]
    for other in names[1:]:
        value = c.let("add", value, other)
    return KerasValue(c.done("div", value, float(len(names))), first)


@layer("Concatenate")
def concatenate(c: KerasLayer) -> KerasValue:
    values, axis = c.operands(1), c.options.get("axis")
    names, first = c.aligned(values)
    whole = KerasValue(names[0], first)
    place = c.place(c.axis_of(-1 if axis is None else axis, whole), whole)
    return whole if len(names) == 1 else KerasValue(c.done("concat", names, place), first)


@layer("Dot")
def dot(c: KerasLayer) -> KerasValue:
    """The sums of products along an axis of each of two tensors; with `normalize` those of vectors of length 1."""
    x, y = (c.last(value) for value in _two(c))
    given = c.options.get("axes")
    listed = given if isinstance(given, list) else [given, given]
    if len(listed) != 2:
        raise Refused(f"axes: found {given}, expected one, or two")
    a, b = c.axis_of(listed[0], KerasValue(x)), c.axis_of(listed[1], KerasValue(y))
    if 0 in (a, b) or c.shape(x)[a] != c.shape(y)[b]:
        raise Refused(f"axes: found {given} of {list(c.shape(x))} and {list(c.shape(y))}")
    if c.options.flag("normalize", False):
        x, y = (_unit(c, value, axis) for value, axis in ((x, a), (y, b)))
    letters = iter("cdefghijklm")
    left = ["b", *("a" if axis == a else next(letters) for axis in range(1, len(c.shape(x))))]
    right = ["b", *("a" if axis == b else next(letters) for axis in range(1, len(c.shape(y))))]
    result = [letter for letter in (*left, *right[1:]) if letter != "a"]
    equation = f"{''.join(left)},{''.join(right)}->{''.join(result)}"
    made = c.let("einsum", equation, [x, y])
    return KerasValue(c.let("unsqueeze", made, 1) if len(result) == 1 else made)


def _two(c: KerasLayer) -> list[KerasValue]:
    values = c.operands()
    if len(values) != 2:
        raise Refused(f"found {len(values)} tensors, expected 2")
    return values


def _unit(c: KerasLayer, x: Name, axis: int) -> Name:
    squares = c.let("sum", c.let("mul", x, x), axis, keepdim=True)
    return c.let("mul", x, c.let("rsqrt", c.let("max", squares, 1e-12)))
