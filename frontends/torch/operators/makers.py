"""Tensors made of numbers: ranges, constants."""

from __future__ import annotations

import numpy as np

from npuc.frontends.dsl.syntax import Call
from npuc.frontends.script.weights import FLOATS, Refused, Tensor, Uniform
from npuc.frontends.torch.context import Context
from npuc.frontends.torch.operators import Meaning, registry
from npuc.frontends.torch.values import finite

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)


@operator("aten.arange")
def arange(c: Context, end: float = 0, start: float = 0, step: float = 1, **_: object) -> Call:
    named = {"dtype": c.result_element()}
    if c.result_element() not in FLOATS:  # integers of a number that the file tells
        start, step = int(start), int(step)
        if step == 0:
            return filled(c, start)
        end = start + step * c.result_shape()[0]
    start, end, step = (int(one) if isinstance(one, bool) else one for one in (start, end, step))
    if step != 1:
        return c.call("arange", end, start, step, **named)
    return c.call("arange", end, **named) if start == 0 else c.call("arange", end, start, **named)


def filled(c: Context, value: float) -> Call:
    """A constant tensor of one value."""
    element = c.result_element()
    number = finite(float(value), element) if element in FLOATS else int(value)
    named = {} if element == "f32" else {"dtype": element}
    return c.call("full", list(c.result_shape()), number, **named)


@operator("aten.full", "aten.full_like", "aten.new_full")
def full(c: Context, *_: object, fill_value: float, **__: object) -> Call:
    return filled(c, fill_value)


@operator("aten.scalar_tensor")
def scalar_tensor(c: Context, s: float, **_: object) -> Call:
    return filled(c, s)


@operator("aten.zeros", "aten.zeros_like", "aten.new_zeros", "aten.empty", "aten.empty_like", "aten.new_empty")
def zeros(c: Context, *_: object, **__: object) -> Call:
    return filled(c, 0)


@operator("aten.ones", "aten.ones_like", "aten.new_ones")
def ones(c: Context, *_: object, **__: object) -> Call:
    return filled(c, 1)


@operator("aten.fill")
def fill(c: Context, x: object, value: Tensor | float) -> Call:
    if isinstance(value, int | float):
        return filled(c, value)
    return c.call("expand", c.cast(value, c.result_element()), list(c.result_shape()))


@operator("aten.bernoulli.p", "aten.bernoulli.float")
def bernoulli(c: Context, x: object, p: float = 0.5, generator: None = None) -> Call:
    named = {} if c.result_element() == "f32" else {"dtype": c.result_element()}
    return c.call("bernoulli", list(c.result_shape()), p, **named)


@operator("aten.rand", "aten.rand_like")
def rand(c: Context, *_: object, **__: object) -> Uniform:
    return Uniform(c.result_shape(), c.result_element())


@operator("aten.zero")
def zero(c: Context, x: object) -> Call:
    return filled(c, 0)


@operator("aten.eye")
def eye(c: Context, *_: object, **__: object) -> Call:
    rows, columns = c.result_shape()
    down = c.let("unsqueeze", c.let("arange", rows, dtype="i64"), 1)
    return c.call("cast", c.let("equal", down, c.let("arange", columns, dtype="i64")), to=c.result_element())


@operator("aten.linspace")
def linspace(c: Context, start: float, end: float, steps: int, **_: object) -> Call:
    if c.result_element() not in FLOATS:
        raise Refused("found integers between two numbers, expected real numbers")
    if steps == 1:
        return filled(c, start)
    places = c.let("arange", steps, dtype=c.result_element())
    return c.call("add", c.let("mul", places, (end - start) / (steps - 1)), float(start))


@operator("aten.logspace")
def logspace(c: Context, start: float, end: float, steps: int, base: float = 10.0, **_: object) -> Call:
    exponents = c.script.assign(f"{c.layer}.exponents", linspace(c, start, end, steps))
    return c.call("pow", float(base), exponents)


@operator("aten.tril_indices")
def tril_indices(c: Context, row: int, col: int, offset: int = 0, **_: object) -> Call:
    return c.listed(np.array(np.tril_indices(row, offset, col)), c.result_element())


@operator("aten.triu_indices")
def triu_indices(c: Context, row: int, col: int, offset: int = 0, **_: object) -> Call:
    return c.listed(np.array(np.triu_indices(row, offset, col)), c.result_element())
