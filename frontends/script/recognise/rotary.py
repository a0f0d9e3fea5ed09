"""
Rotary positions that graphs spell out: in halves or in neighbours, as sums, as pairs that are stacked, or as products
of complex numbers, with frequencies of any kind.

Source: Su et al., "RoFormer", 2021; GPT-NeoX and LLaMA pair element i with i + size / 2, GPT-J and Meta's LLaMA 2i with
2i + 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

from npuc.frontends.dsl.syntax import Call, Name
from npuc.frontends.script.recognise.matching import either_way, joined, made_by, operands, same, unshaped
from npuc.frontends.script.recognise.rotary_angles import by_structure, by_tables
from npuc.frontends.script.recognise.rotary_tables import Options, Order

if TYPE_CHECKING:
    from npuc.frontends.script.writer import CallWriter


def summed(c: CallWriter, x: Any, y: Any) -> Call | None:
    """x cos + swapped x sin, where swapped is (-second half, first half), or (-x1, x0, -x3, x2, …)."""
    for plain, turned in either_way([x, y]):
        for source, cosine in either_way(operands(c, plain, "mul")):
            for swapped, sine in either_way(operands(c, turned, "mul")):
                order = _order_of_swapped(c, swapped, source)
                if order is None:
                    continue
                found = by_structure(c, cosine, sine, source) if order == "halves" else None
                if found is None:
                    found = by_tables(c, cosine, sine, source, order, tiled=True)
                if found is not None:
                    return _call(c, source, order, found)
    return None


def joined_halves(c: CallWriter, parts: Any, axis: Any = 0) -> Call | None:
    """(first cos - second sin, second cos + first sin), joined along the last axis."""
    given = cast("list[Any]", parts) if isinstance(parts, list) else []
    rank = len(c.shape(given[0])) if len(given) == 2 else 0
    return _turned(c, given, "halves") if rank and isinstance(axis, int) and axis % rank == rank - 1 else None


def flattened_pairs(c: CallWriter, value: Any, shape: Any) -> Call | None:
    """The same of even and odd elements, stacked along a new last axis that is then made one with the one before."""
    parts = _stacked(c, value)
    if not parts:
        return None
    *lead, half, two = c.shape(value)
    return _turned(c, parts, "pairs") if list(shape) == [*lead, half * two] else None


def flattened_last(c: CallWriter, value: Any, start: int = 1) -> Call | None:
    """The same where the last two axes are made one by name."""
    parts = _stacked(c, value)
    return _turned(c, parts, "pairs") if parts and start % len(c.shape(value)) == len(c.shape(value)) - 2 else None


def _stacked(c: CallWriter, value: Any) -> list[Any]:
    """The two parts that a value is the stack of along its last axis; none for another one."""
    found = operands(c, value, "stack")
    if len(found) != 2 or not isinstance(found[0], list) or len(cast("list[Any]", found[0])) != 2:
        return []
    rank = len(c.shape(value))
    return cast("list[Any]", found[0]) if found[1] % rank == rank - 1 else []


PATTERNS = {"add": [summed], "concat": [joined_halves], "reshape": [flattened_pairs], "flatten": [flattened_last]}


def _call(c: CallWriter, source: Any, order: Order, options: Options) -> Call:
    interleaved = {"interleaved": True} if order == "pairs" else {}
    return c.call("rotary_embedding", source, **{**options, **interleaved})


def _turned(c: CallWriter, parts: list[Any], order: Order) -> Call | None:
    """The rotary function whose results' first and second elements of pairs are these; None for others."""
    minus, plus = operands(c, parts[0], "sub"), operands(c, parts[1], "add")
    for first, cosine in either_way(operands(c, minus[0], "mul") if len(minus) == 2 else []):
        for second, sine in either_way(operands(c, minus[1], "mul")):
            if not _is_sum(c, plus, (first, sine), (second, cosine)):
                continue
            source = _whole(c, first, second, order)
            found = None if source is None else by_tables(c, cosine, sine, source, order, tiled=False)
            if source is not None and found is not None:
                return _call(c, source, order, found)
    return None


def _is_sum(c: CallWriter, terms: list[Any], one: tuple[Any, Any], two: tuple[Any, Any]) -> bool:
    """Whether a sum is of two products, each of two values."""
    return any(
        any(same(x, one[0]) and same(y, one[1]) for x, y in either_way(operands(c, a, "mul")))
        and any(same(x, two[0]) and same(y, two[1]) for x, y in either_way(operands(c, b, "mul")))
        for a, b in either_way(terms)
    )


# which elements are pairs


def _order_of_swapped(c: CallWriter, value: Any, x: Any) -> Order | None:
    """The order of pairs of which a value has the second ones negated, and the first ones in their place."""
    halves = joined(c, value)
    parts: list[Any] = halves or _stacked(c, unshaped(c, value))
    order: Order = "halves" if halves else "pairs"
    if len(parts) != 2 or c.shape(value) != c.shape(x):
        return None
    negated = operands(c, parts[0], "neg")
    source = _whole(c, parts[1], negated[0], order) if negated else None
    return order if source is not None and same(source, x) else None


class Part(NamedTuple):
    """A part of a tensor: the tensor, the axis, and the first, last and step of its places."""

    source: Any
    axis: int
    place: tuple[int, int, int]


def _sliced(c: CallWriter, value: Any) -> Part | None:
    """What a value is a slice of."""
    found = made_by(c, value, "slice")
    if found is None or len(found[0]) != 4:
        return None
    source, axis, first, last = found[0]
    return Part(source, axis, (first, last, int(found[1].get("step", 1))))


def _unpacked(c: CallWriter, value: Any, function: str) -> Part | None:
    """What a value is one of several parts of, by `split` or `unbind` along an axis."""
    origin = c.script.origin(value) if isinstance(value, Name) else None
    if origin is None or origin[0].function != function:
        return None
    call, place = origin
    given: list[Any] = [c.script.constant(argument.value) for argument in call.arguments if argument.name is None]
    if function == "unbind":
        return Part(given[0], given[1], (place, place + 1, 1))
    if len(given) != 3 or not isinstance(given[1], list):
        return None
    sizes = cast("list[int]", given[1])
    start = sum(sizes[:place])
    return Part(given[0], given[2], (start, start + sizes[place], 1))


def _whole(c: CallWriter, first: Any, second: Any, order: Order) -> Any:
    """The tensor whose pairs' first and second elements two values are; None where they are no such parts."""
    if order == "pairs":
        return _whole_of_neighbours(c, first, second)
    low = _sliced(c, first) or _unpacked(c, first, "split")
    high = _sliced(c, second) or _unpacked(c, second, "split")
    if low is None or high is None or not same(low.source, high.source):
        return None
    axis, size = len(c.shape(first)) - 1, c.shape(low.source)[-1]
    wanted = ((axis, (0, size // 2, 1)), (axis, (size // 2, size, 1)))
    return low.source if ((low.axis, low.place), (high.axis, high.place)) == wanted else None


def _whole_of_neighbours(c: CallWriter, first: Any, second: Any) -> Any:
    """The tensor […, size] of whose last axis two values are the even and the odd elements."""
    rank = len(c.shape(first))
    even, odd = _sliced(c, first), _sliced(c, second)
    if even is not None and odd is not None and same(even.source, odd.source) and even.place[2] == 2:
        size = c.shape(even.source)[-1]
        places = {(even.axis, even.place[0], even.place[2]), (odd.axis, odd.place[0], odd.place[2])}
        whole = min(even.place[1], odd.place[1]) >= size - 1 and even.place[0] == 0
        return even.source if whole and places == {(rank - 1, 0, 2), (rank - 1, 1, 2)} else None
    even = _unpacked(c, first, "unbind") or _sliced(c, unshaped(c, first))
    odd = _unpacked(c, second, "unbind") or _sliced(c, unshaped(c, second))
    if even is None or odd is None or not same(even.source, odd.source):
        return None
    shape = c.shape(even.source)
    if len(shape) != rank + 1 or shape[-1] != 2 or (even.axis, odd.axis) != (rank, rank):
        return None
    if (even.place, odd.place) != ((0, 1, 1), (1, 2, 1)):
        return None
    root = operands(c, even.source, "reshape")
    source, whole = root[0] if root else even.source, [*shape[:-2], shape[-2] * 2]
    return source if list(c.shape(source)) == whole else c.let("reshape", source, whole)
