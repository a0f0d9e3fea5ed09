"""Copies, casts, and calls that compute nothing."""

from __future__ import annotations

from npuc.frontends.dsl.syntax import Call
from npuc.frontends.script.weights import FLOATS, Tensor, Weight
from npuc.frontends.torch.context import Context
from npuc.frontends.torch.operators import Meaning, registry
from npuc.frontends.torch.program import Keyword
from npuc.frontends.torch.values import element_of

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)


@operator("aten.to", "aten._to_copy", "aten.type_as", "aten.float", "aten.half")
def to(
    c: Context,
    x: Tensor,
    other: Tensor | None = None,
    dtype: Keyword | None = None,
    device: Keyword | None = None,
    layout: Keyword | None = None,
    pin_memory: bool | None = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Keyword | None = None,
) -> Tensor | Call:
    element = c.element(other) if other is not None else c.element(x) if dtype is None else element_of(dtype.name)
    return x if element == c.element(x) else c.call("cast", x, to=element)


@operator("aten.detach", "aten.detach_", "aten.lift_fresh_copy", "aten.lift_fresh")
def detach(c: Context, x: Tensor) -> Tensor | Call:
    trained = not isinstance(x, Weight) or x.trained
    return c.call("detach", x) if trained and c.element(x) in FLOATS else x


@operator("aten.clone", "aten.contiguous")
def clone(c: Context, x: Tensor, memory_format: Keyword | None = None) -> Tensor:
    return x


@operator(
    "aten._assert_tensor_metadata", "aten._assert_scalar", "aten._assert_async", "aten.sym_constrain_range_for_size"
)
def nothing(c: Context, *arguments: object, **named: object) -> None:
    return None


@operator("aten.copy")
def copy(c: Context, x: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor | Call:
    value = c.cast(src, c.element(x))
    return value if c.shape(value) == c.shape(x) else c.call("expand", value, list(c.shape(x)))
