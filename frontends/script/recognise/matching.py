"""How patterns look back through the calls that made a value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from npuc.frontends.dsl.syntax import Call, Name
from npuc.frontends.script.weights import Weight

if TYPE_CHECKING:
    from npuc.frontends.script.writer import CallWriter

_RESHAPES = ("reshape", "unsqueeze", "squeeze", "flatten", "expand")


def made_by(c: CallWriter, value: Any, function: str) -> tuple[list[Any], dict[str, Any]] | None:
    """The arguments of the call of a function that made a value, by place and by name; None for another one."""
    written = c.script.written(value) if isinstance(value, Name) else None
    if not isinstance(written, Call) or written.function != function:
        return None
    given = [c.script.constant(argument.value) for argument in written.arguments if argument.name is None]
    named = {a.name: c.script.constant(a.value) for a in written.arguments if a.name is not None}
    return given, named


def operands(c: CallWriter, value: Any, function: str) -> list[Any]:
    """The arguments without names of the call of a function that made a value; none for another one."""
    found = made_by(c, value, function)
    return [] if found is None else found[0]


def joined(c: CallWriter, value: Any) -> list[Any]:
    """The parts that a value is the concatenation of; none for another one."""
    found = operands(c, value, "concat")
    return cast("list[Any]", found[0]) if found and isinstance(found[0], list) else []


def either_way(pair: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Two operands in both orders; nothing where there are not two."""
    if len(pair) == 2:
        yield pair[0], pair[1]
        yield pair[1], pair[0]


def same(a: Any, b: Any) -> bool:
    """Whether two operands are the same tensor."""
    if isinstance(a, Name) and isinstance(b, Name):
        return a.text == b.text
    return isinstance(a, Weight) and a is b


def is_number(value: Any, expected: float, *, within: float = 1e-6) -> bool:
    """Whether an operand is a number, up to rounding in single precision."""
    return isinstance(value, int | float) and abs(value - expected) <= within * max(1.0, abs(expected))


def uncast(c: CallWriter, value: Any) -> Any:
    """A tensor before a change of its element type."""
    found = operands(c, value, "cast")
    return found[0] if found else value


def unshaped(c: CallWriter, value: Any) -> Any:
    """A tensor before changes of its shape alone."""
    while True:
        found = next((one for name in _RESHAPES if (one := operands(c, value, name))), None)
        if found is None:
            return value
        value = found[0]
