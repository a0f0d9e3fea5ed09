"""Softmax and its logarithm, which graphs spell out with the largest element subtracted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from npuc.frontends.script.recognise.matching import made_by, operands, same, unshaped

if TYPE_CHECKING:
    from npuc.frontends.dsl.syntax import Call
    from npuc.frontends.script.writer import CallWriter


def softmax(c: CallWriter, x: Any, y: Any) -> Call | None:
    """exp(x - max(x)) / sum(exp(x - max(x))) along one axis."""
    total, powers = _reduced(c, y, "sum", y), operands(c, x, "exp")
    if total is None or not powers or not same(total[0], x):
        return None
    source = _centred(c, powers[0], total[1])
    return None if source is None else c.call("softmax", source, axis=total[1])


def log_softmax(c: CallWriter, x: Any, y: Any) -> Call | None:
    """x - max(x) - log(sum(exp(x - max(x)))) along one axis."""
    logarithm = operands(c, unshaped(c, y), "log")
    total = _reduced(c, logarithm[0], "sum", y) if logarithm else None
    powers = operands(c, total[0], "exp") if total is not None else []
    if total is None or not powers or not same(powers[0], x):
        return None
    source = _centred(c, x, total[1])
    return None if source is None else c.call("log_softmax", source, axis=total[1])


def _reduced(c: CallWriter, value: Any, function: str, spread: Any) -> tuple[Any, int] | None:
    """
    What a value is reduced of along one axis, and the axis from 0; None for another value.

    `spread` is what has become of it: with size 1 along the axis, so that it is spread along that one.
    """
    found = made_by(c, unshaped(c, value), function)
    if found is None or len(found[0]) != 1:
        return None
    (source,), named = found
    given: Any = named.get("axis")
    axes = cast("list[Any]", given) if isinstance(given, list) else [given]
    if len(axes) != 1 or not isinstance(axes[0], int) or named.keys() - {"axis", "keepdim"}:
        return None
    (axis,) = axes
    rank = len(c.shape(source))
    kept = [1 if number == axis % rank else size for number, size in enumerate(c.shape(source))]
    return (source, axis % rank) if list(c.shape(spread)) == kept else None


def _centred(c: CallWriter, value: Any, axis: int) -> Any:
    """What the largest element along an axis is subtracted from; None for another value."""
    sides = operands(c, value, "sub")
    largest = _reduced(c, sides[1], "amax", sides[1]) if len(sides) == 2 else None
    return sides[0] if largest is not None and same(largest[0], sides[0]) and largest[1] == axis else None


PATTERNS = {"div": [softmax], "sub": [log_softmax]}
