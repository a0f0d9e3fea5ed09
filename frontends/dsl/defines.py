"""Values given to a network's parameters from outside: `-D batch=8`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite
from typing import cast

from npuc.compiler.core.errors import UsageError, nearest
from npuc.compiler.core.kinds import show
from npuc.compiler.core.numbers import BLANKS, DIGITS, integer_of, is_real
from npuc.compiler.core.numbers import is_integer as is_integer_text
from npuc.frontends.dsl.values import MAX_INTEGER, Value, describe, is_integer, kind_of

_WORDS: dict[str, Value] = {"true": True, "false": False, "none": None}
_MAX_DEPTH = 8


def _parse_value(text: str, depth: int = 0) -> Value:
    """The value of a text as the command line takes it; a bare word is a string."""
    if text.startswith("[") and text.endswith("]"):
        if depth == _MAX_DEPTH:
            raise UsageError(f"found lists nested more than {_MAX_DEPTH} deep")
        inside = text[1:-1].strip(BLANKS)
        return [_parse_value(item.strip(BLANKS), depth + 1) for item in _items(inside)] if inside else []
    if text in _WORDS:
        return _WORDS[text]
    if is_integer_text(text):
        value = integer_of(text)
        if value is None:
            raise UsageError(f"found {text}, expected an integer of at most {DIGITS} digits")
        return value
    if is_real(text):
        return float(text)
    if len(text) >= 2 and text[0] == text[-1] == '"':
        return text[1:-1]
    return text


def literal(value: Value) -> Value:
    """A value from outside as a report shows it: texts are read as literals."""
    return _parse_value(value) if isinstance(value, str) else value


def _items(text: str) -> list[str]:
    """The parts between commas outside of inner lists."""
    parts, depth = [""], 0
    for char in text:
        depth += (char == "[") - (char == "]")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return parts


def check_names(known: Sequence[str], given: Iterable[str]) -> None:
    """Raise a UsageError for a name that no parameter of the network has."""
    for name in given:
        if name not in known:
            match = nearest(name, known)
            guess = f"did you mean '{match}'? " if match else ""
            hint = f"{guess}parameters of the network: {', '.join(known) or 'none'}"
            raise UsageError(f"unknown network parameter '{name}'", hint=hint)


def fitting(name: str, value: Value, default: Value) -> Value:
    """
    A given value as a parameter takes it: of the kind of its default; none as default takes everything.

    The command line gives texts and integers: for a default that is no string, a text is read as a literal; for a
    string, an integer stands for its digits.
    """
    if isinstance(value, tuple):
        value = list(value)
    if isinstance(default, str):
        if is_integer(value):
            value = str(value)
    elif isinstance(value, str):
        value = _parse_value(value.strip(BLANKS))
    if not _is_plain(value):
        raise UsageError(
            f"network parameter '{name}': found {show(value)}, expected numbers, strings, booleans or lists"
        )
    if default is None or kind_of(value) == kind_of(default):
        return value
    if isinstance(default, float) and is_integer(value):
        return float(value)
    article = "an" if is_integer(default) else "a"
    raise UsageError(f"network parameter '{name}': found {describe(value)}, expected {article} {kind_of(default)}")


def _is_plain(value: object, depth: int = 0) -> bool:
    match value:
        case list():
            items = cast(list[object], value)
            return depth < _MAX_DEPTH and all(_is_plain(item, depth + 1) for item in items)
        case bool() | str() | None:
            return True
        case int():
            return abs(value) < MAX_INTEGER
        case float():
            return isfinite(value)
        case _:
            return False
