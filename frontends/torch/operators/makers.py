"""Tensors made of numbers: ranges, constants."""

from __future__ import annotations

from npuc.frontends.dsl.syntax import Call
from npuc.frontends.script.weights import Tensor, Uniform
from npuc.frontends.torch.context import Context
from npuc.frontends.torch.operators import Meaning, registry

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)


@operator("aten.arange")
def arange(c: Context, end: float = 0, start: float = 0, step: float = 1, **_: object) -> Call:
    named = {"dtype": c.result_element()}
    if step != 1:
        return c.call("arange", end, start, step, **named)
    return c.call("arange", end, **named) if start == 0 else c.call("arange", end, start, **named)


def filled(c: Context, value: float) -> Call:
    """A constant tensor of one value."""
    element = c.result_element()
    number = float(value) if element in ("f32", "f64", "f16", "bf16") else int(value)
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
