"""Random draws: masks, and the dropout of what they choose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuc.frontends.jax.context import HloContext, Meaning, registry
from npuc.frontends.jax.uniform import DIGITS
from npuc.frontends.jax.views import TensorView, Value, whole

if TYPE_CHECKING:
    from npuc.frontends.dsl.syntax import Name

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)


@operator("bernoulli")
def bernoulli(c: HloContext) -> Value:
    return _mask(c, float(c.flat.op.texts["p"]), c.type.shape)


def _mask(c: HloContext, kept: float, shape: tuple[int, ...]) -> TensorView:
    """The mask of a draw, which is made once for all that read it in a forward function."""
    draw = c.ints["draw"][0], kept
    if c.is_step:
        order = c.views.orders.setdefault(draw[0], tuple(range(len(shape))))
        name = _drawn_mask(c, kept, tuple(shape[axis] for axis in order))
        return TensorView(name, tuple(order.index(axis) for axis in range(len(order))), shape, "bool")
    if draw not in c.views.masks:
        c.views.masks[draw] = c.named(c.call("bernoulli", list(shape), kept, dtype="bool"))
    return whole(c.views.masks[draw], shape, "bool")


def _drawn_mask(c: HloContext, kept: float, shape: tuple[int, ...]) -> Name:
    from npuc.compiler.layers.dropout import mask_of

    p = round(1.0 - kept, DIGITS)
    return c.built(lambda b: mask_of(b, shape, p, c.views.seed(c.ints["draw"][0], b)))


@operator("dropout")
def dropout(c: HloContext) -> Value:
    p, draw = float(c.flat.op.texts["p"]), c.ints["draw"][0]
    x = c.view(0)
    if not c.is_step:
        return _dropout_of_network(c, x, p)
    from npuc.dialects.train.dropout import DropoutOp

    # where an element lies decides whether it is kept: all that share a draw have it in the same order
    order = c.views.orders.setdefault(draw, tuple(x.order) if x.is_whole else tuple(range(len(x.shape))))
    name = c.views.plain(c, TensorView(x.name, *_turned(x, order), x.element))
    operand = c.tensor(name)
    made = c.built(lambda b: b.emit(DropoutOp(operand, b.step(), p=p, seed=c.views.seed(draw, b))).out)
    return TensorView(made, tuple(order.index(axis) for axis in range(len(order))), c.type.shape, c.type.element)


def _turned(x: TensorView, order: tuple[int, ...]) -> tuple[tuple[int | None, ...], tuple[int, ...]]:
    return tuple(x.axes[axis] for axis in order), tuple(x.shape[axis] for axis in order)


def _dropout_of_network(c: HloContext, x: TensorView, p: float) -> TensorView:
    """Dropout of the language; by a mask of its own where several share it."""
    from npuc.frontends.jax.operators.elementwise import applied

    if c.views.sharers.get(c.ints["draw"][0], 0) < 2:
        return c.result(c.call("dropout", c.views.plain(c, x), p))
    if not c.script.training:
        return x
    mask = _mask(c, round(1.0 - p, DIGITS), c.type.shape)
    scaled = c.let("mul", x.name, 1.0 / (1.0 - p))
    return applied(c, "where", [mask, TensorView(scaled, x.axes, x.shape, x.element), 0.0])
