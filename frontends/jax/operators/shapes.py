"""Operations that move elements, most of them as views."""

from __future__ import annotations

from npuc.frontends.jax.context import HloContext, Meaning, registry
from npuc.frontends.jax.operators.products import moved, turned_product
from npuc.frontends.jax.values import Known
from npuc.frontends.jax.views import TensorView, Value, constant
from npuc.frontends.script.weights import Refused

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)


@operator("broadcast_in_dim")
def broadcast_in_dim(c: HloContext) -> Value:
    x = c.view(0)
    axes: list[int | None] = [None] * len(c.type.shape)
    for axis, size, place in zip(c.ints["broadcast_dimensions"], x.shape, x.axes, strict=True):
        axes[axis] = place if size == c.type.shape[axis] else None
    return TensorView(x.name, tuple(axes), c.type.shape, x.element)


@operator("reshape")
def reshape(c: HloContext) -> Value:
    x = c.view(0)
    if c.flat.order is not None:  # what reads it has its rows in this order, too
        turned = moved(c, x, c.flat.order)
        return c.result(c.call("reshape", turned, list(c.type.shape)))
    places = [place for place, size in zip(x.axes, x.shape, strict=True) if size != 1]
    if [size for size in x.shape if size != 1] == [size for size in c.type.shape if size != 1]:
        rest = iter(places)
        axes = tuple(None if size == 1 else next(rest) for size in c.type.shape)
        return TensorView(x.name, axes, c.type.shape, x.element)
    return c.result(c.call("reshape", c.views.plain(c, x), list(c.type.shape)))


@operator("transpose")
def transpose(c: HloContext) -> Value:
    x, permutation = c.view(0), c.ints["permutation"]
    turned = turned_product(c, x, permutation)
    return turned or TensorView(x.name, tuple(x.axes[axis] for axis in permutation), c.type.shape, x.element)


@operator("slice")
def slice_(c: HloContext) -> Value:
    bounds = zip(c.ints["start_indices"], c.ints["limit_indices"], c.ints["strides"], strict=True)
    return _sliced(c, c.view(0), list(bounds))


@operator("dynamic_slice")
def dynamic_slice(c: HloContext) -> Value:
    x, starts = c.view(0), c.given[1:]
    bounds: list[tuple[int, int, int]] = []
    for start, size, part in zip(starts, x.shape, c.type.shape, strict=True):
        if part == size:
            bounds.append((0, size, 1))
            continue
        known = start.scalar if isinstance(start, Known) else None
        if known is None:
            raise Refused("found a slice whose place depends on data", "jnp.take reads rows at computed places")
        at = min(max(int(known), 0), size - part)
        bounds.append((at, at + part, 1))
    return _sliced(c, x, bounds)


def _sliced(c: HloContext, x: TensorView, bounds: list[tuple[int, int, int]]) -> TensorView:
    name, cut = x.name, [(a, b) for a, b in enumerate(bounds) if b != (0, x.shape[a], 1)]
    for axis, (start, stop, step) in cut:
        if x.axes[axis] is None:
            continue
        named = {"start": start, "stop": stop, **({"step": step} if step != 1 else {})}
        name = c.named(c.call("slice", name, x.axes[axis], **named))
    return TensorView(name, x.axes, c.type.shape, x.element)


@operator("pad")
def pad(c: HloContext) -> Value:
    x, value = c.view(0), c.argument(1)
    number = value.scalar if isinstance(value, Known) else None
    if number is None:
        raise Refused("found padding with a value that is computed, expected a number")
    low, high, inner = (c.ints[name] for name in ("edge_padding_low", "edge_padding_high", "interior_padding"))
    if any(inner):
        from npuc.dialects.tensors import tensor_of, tensor_type
        from npuc.dialects.train.box import PadOp

        if min(*low, *high) < 0 or not c.is_step:
            raise Refused(
                "found padding between elements", "a step that JAX derived may have it, without negative edges"
            )
        name = c.views.plain(c, x)
        operand = c.tensor(name)
        type = tensor_of(tensor_type(operand).element_type, c.type.shape)
        steps = tuple(between + 1 for between in inner)
        return c.result(
            c.built(
                lambda b: (
                    b.emit(PadOp(operand, results=[type], starts=tuple(low), steps=steps, value=float(number))).out
                ),
            )
        )
    name = c.views.plain(c, x)
    edges = list(zip(low, high, strict=True))
    while edges and edges[0] == (0, 0):
        edges.pop(0)
    listed = [side for pair in reversed(edges) for side in pair]
    return c.result(c.call("pad", name, listed, **({"value": float(number)} if number else {})) if listed else name)


@operator("concatenate")
def concatenate(c: HloContext) -> Value:
    parts = [constant(c, one) if isinstance(one, Known) else one for one in c.given]
    axis = c.ints["dimension"][0]
    order = parts[0].order
    if all(part.is_whole and part.order == order for part in parts) and len(c.shape(parts[0].name)) == len(order):
        same = all(len(c.shape(part.name)) == len(order) for part in parts)
        if same:
            place = order.index(axis)
            name = c.named(c.call("concat", [part.name for part in parts], place))
            return TensorView(name, parts[0].axes, c.type.shape, c.type.element)
    return c.result(c.call("concat", [c.views.plain(c, part) for part in parts], axis))


@operator("reverse")
def reverse(c: HloContext) -> Value:
    x = c.view(0)
    places = [place for axis in c.ints["dimensions"] if (place := x.axes[axis]) is not None]
    return TensorView(c.named(c.call("flip", x.name, places)), x.axes, x.shape, x.element) if places else x
