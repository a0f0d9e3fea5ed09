"""Reductions over axes, and what is largest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from npuc.frontends.jax.context import HloContext, Meaning, registry
from npuc.frontends.jax.program import HloOp
from npuc.frontends.jax.values import Known
from npuc.frontends.jax.views import TensorView, Value, checked, whole
from npuc.frontends.script.weights import Refused

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)
REDUCED: Mapping[str, str] = {"add": "sum", "maximum": "amax", "minimum": "amin", "multiply": "prod"}
LOGICAL: Mapping[str, str] = {"or": "any", "and": "all", "maximum": "any", "minimum": "all", "add": "any"}


def combiner(op: HloOp, region: int = 0) -> str | None:
    """The one operation of a region that combines two elements; None for another region."""
    body = op.regions[region]
    kinds = [one.kind for one in body.ops]
    if len(kinds) != 2 or kinds[1] != "return" or set(body.ops[0].operands) != set(body.arguments):
        return None
    return kinds[0]


@operator("reduce")
def reduce(c: HloContext) -> Value | Sequence[Value]:
    if len(c.flat.operands) == 4:
        return _places(c)
    if len(c.flat.operands) != 2 or (kind := combiner(c.flat.op)) is None:
        raise Refused("found a reduction by a function of its own, expected a sum, product, maximum or minimum")
    table = LOGICAL if c.type.element == "bool" else REDUCED
    if kind not in table:
        raise Refused(f"found a reduction by {kind}")
    if not _is_neutral(c.argument(1), kind):
        raise Refused("found a reduction that starts from another number than a sum or maximum does")
    x, axes = c.view(0), c.ints["dimensions"]
    places = [place for axis in axes if (place := x.axes[axis]) is not None]
    repeated = [axis for axis in axes if x.axes[axis] is None and x.shape[axis] > 1]
    if repeated and table[kind] in ("sum", "prod"):
        x = whole(c.views.plain(c, x), x.shape, x.element)
        places = list(axes)
    if not places:
        rest = [
            (place, size) for axis, (place, size) in enumerate(zip(x.axes, x.shape, strict=True)) if axis not in axes
        ]
        return TensorView(x.name, tuple(place for place, _ in rest), c.type.shape, x.element)
    axis = sorted(places)
    name = c.named(c.call(table[kind], x.name, axis=axis[0] if len(axis) == 1 else axis))
    rest = [place for number, place in enumerate(x.axes) if number not in axes]
    moved = tuple(None if place is None else place - sum(gone < place for gone in axis) for place in rest)
    return TensorView(name, moved, c.type.shape, checked(c.type.element))


def _is_neutral(value: Value, kind: str) -> bool:
    """Whether a reduction may start from a number: it changes no result."""
    number = value.scalar if isinstance(value, Known) else None
    if number is None:
        return False
    match kind:
        case "add" | "or":
            return number == 0
        case "multiply" | "and":
            return number == 1 or number == -1
        case "maximum":
            return number == float("-inf") or (isinstance(number, int) and number <= 0 and number in _LEAST)
        case _:
            return number == float("inf") or number in _MOST


_LEAST = (0, *(-(1 << bits) for bits in (7, 15, 31, 63)))
_MOST = (1, *((1 << bits) - 1 for bits in (7, 15, 31, 63)))


def _places(c: HloContext) -> Sequence[Value]:
    """The largest or least element and its place: a reduction of elements beside their places."""
    op = c.flat.op
    directions = [one.texts.get("comparison_direction") for one in op.regions[0].ops if one.kind == "compare"]
    axes = c.ints["dimensions"]
    places = c.argument(1)
    is_places = isinstance(places, Known) and len(axes) == 1 and places.array.ndim > axes[0]
    if not directions or directions[0] not in ("GT", "GE", "LT", "LE") or not is_places:
        raise Refused("found a reduction of several tensors, expected that of argmax")
    largest = directions[0] in ("GT", "GE")
    name = c.plain(0)
    best = c.let("amax" if largest else "amin", name, axis=axes[0])
    where = c.named(c.call("argmax" if largest else "argmin", name, axis=axes[0]))
    first, second = (made.type for made in c.flat.results)
    if second.element != "i32":
        where = c.let("cast", where, to=checked(second.element))
    return [whole(best, first.shape, first.element), whole(where, second.shape, second.element)]


@operator("top_k")
def top_k(c: HloContext) -> Sequence[Value]:
    values, places = c.script.several(
        [c.layer, f"{c.layer}.places"], "topk", c.plain(0), c.ints["k"][0], axis=len(c.type.shape) - 1
    )
    first, second = (made.type for made in c.flat.results)
    return [whole(values, first.shape, first.element), whole(places, second.shape, second.element)]
