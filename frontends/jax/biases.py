"""
Additions of a bias to a product, which are of its layer.

JAX broadcasts a bias and adds it by an operation of its own. Where nothing else reads the product, the two are one
layer of the language, which computes, names and prices them together.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from npuc.frontends.dsl.syntax import Call, Name
from npuc.frontends.jax.layers import PRODUCTS
from npuc.frontends.jax.values import FlatOp, FlatProgram, HloValue, Operand, made_of
from npuc.frontends.jax.views import TensorView

if TYPE_CHECKING:
    from npuc.frontends.jax.context import HloContext

_SPREADS = ("broadcast_in_dim", "reshape")
MOST_SPREADS = 8
"""So many of them, one after the other, are looked behind."""


def mark_biases(flat: FlatProgram) -> None:
    """Mark each addition of one axis to a product that nothing else reads."""
    readers = Counter(made for op in flat.ops for operand in op.operands for made in made_of(operand))
    readers.update(made for result in flat.results for made in made_of(result))
    for op in flat.ops:
        if op.kind != "add":
            continue
        for one, other in (op.operands, op.operands[::-1]):
            product = one.op if isinstance(one, HloValue) else None
            if product is None or product.kind not in PRODUCTS or readers[product.results[0]] != 1:
                continue
            if _is_spread(other):
                op.product = product
                product.is_biased = True
                op.layer = product.layer
                break


def _is_spread(operand: Operand) -> bool:
    """Whether an operand is one axis of numbers that is repeated along others."""
    for _ in range(MOST_SPREADS):
        if not isinstance(operand, HloValue) or operand.op is None or operand.op.kind not in _SPREADS:
            break
        operand = operand.op.operands[0]
        if len(operand.type.shape) == 1:
            return True
    return False


def with_bias(c: HloContext) -> TensorView | None:
    """The layer of a product to which an addition adds a bias; None where it is no bias of its features."""
    product = c.flat.product
    if product is None:
        return None
    place = next(number for number, one in enumerate(c.flat.operands) if _is_of(one, product))
    y, bias = c.view(place), c.view(1 - place)
    call = c.script.written(y.name)
    if not isinstance(call, Call) or not y.is_whole or len(c.shape(y.name)) != len(y.axes):
        return None
    feature = len(y.axes) - 1 if call.function == "matmul" else 1
    axis = y.axes.index(feature)
    if any((spread is not None) != (number == axis) for number, spread in enumerate(bias.axes)):
        return None
    given = c.views.ordered(c, bias, [axis])
    layer = _with_bias(c, call, given)
    return None if layer is None else TensorView(c.named(layer), y.axes, c.type.shape, y.element)


def _is_of(operand: Operand, product: FlatOp) -> bool:
    return isinstance(operand, HloValue) and operand.op is product


def _with_bias(c: HloContext, call: Call, bias: Name) -> Call | None:
    given = [one.value for one in call.arguments if one.name is None]
    named = {one.name: c.script.constant(one.value) for one in call.arguments if one.name is not None}
    if call.function in ("conv1d", "conv2d", "conv3d"):
        return c.call(call.function, *given, **{**named, "bias": bias})  # pyright: ignore[reportArgumentType]
    if call.function != "matmul" or named.keys() - {"transpose_b"} or not isinstance(given[1], Name):
        return None
    if len(c.shape(given[1])) != 2:
        return None
    turned = {"transpose_weight": True} if "transpose_b" in named else {}
    return c.call("linear", given[0], **turned, weight=given[1], bias=bias)  # pyright: ignore[reportArgumentType]
