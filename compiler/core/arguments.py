"""
Types of what a Python caller hands in, checked once, where it comes in: by the annotations of the keywords themselves.

    argument("devices", 2.5, int)            # TypeError: devices: expected an integer, got the float 2.5

A value of a right type that means nothing is a `UsageError`, and is said by whoever knows the meaning.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from numbers import Integral
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from npuc.compiler.core.errors import did_you_mean, either

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

KeywordsT = TypeVar("KeywordsT", bound=Mapping[str, Any])
PATH = str | os.PathLike[str]
TEXTS = Sequence[str]
_WORDS: Mapping[object, str] = {
    str: "a string",
    bytes: "bytes",
    int: "an integer",
    bool: "True or False",
    NoneType: "None",
    os.PathLike: "a path",
    Mapping: "a mapping with strings as keys",
}
_ANY = "a value"
_SEVERAL = (list, tuple, Sequence, Iterable)


def argument(name: str, value: object, hint: object) -> Any:
    """
    The value of an argument, plain (see `plain`).

    Raises `TypeError`, which names the argument and what was expected, for a value of another type than `hint`.
    """
    if _fits(value, hint):
        return plain(value)
    raise TypeError(f"{name}: expected {either(list(dict.fromkeys(_words(hint))))}, got {_found(value)}")


def keywords_of(given: KeywordsT, kind: type) -> KeywordsT:
    """
    Keywords, plain (see `plain`), by the annotations of a `TypedDict`.

    Raises `TypeError` for a keyword that does not exist and for a value of a wrong type.
    """
    known = _hints(kind)
    for name in given:
        if name not in known:
            raise TypeError(f"unexpected keyword argument '{name}'; {did_you_mean(name, list(known))}")
    return cast("KeywordsT", {name: argument(name, value, known[name]) for name, value in given.items()})


def check_fields(one: DataclassInstance) -> None:
    """Check the fields of a dataclass that a caller makes; raises `TypeError` as `argument` does."""
    hints = _hints(type(one))
    for field in fields(one):
        argument(field.name, getattr(one, field.name), hints[field.name])


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _fits(value: object, hint: object) -> bool:
    """Whether a value is of a type; what cannot be told from outside, such as a protocol, fits."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, one) for one in inner)
    if hint is bool:
        return isinstance(plain(value), bool)
    if hint is int:
        return not isinstance(value, bool) and isinstance(value, Integral)
    if origin is Mapping:
        return isinstance(value, Mapping) and all(
            _fits(key, inner[0]) and _fits(one, inner[1]) for key, one in cast("Mapping[object, object]", value).items()
        )
    if origin is Iterable:
        several = getattr(value, "ndim", 1) != 0 and isinstance(value, Iterable)
        return several and not isinstance(value, str | bytes | Mapping)
    if origin in _SEVERAL:
        several = isinstance(value, Sequence if origin is Sequence else origin) and not isinstance(value, str | bytes)
        return several and all(_fits(one, inner[0]) for one in cast("Sequence[object]", value))
    kind = origin or hint
    if kind is os.PathLike:
        return isinstance(value, os.PathLike) and isinstance(
            os.fspath(cast("os.PathLike[str] | os.PathLike[bytes]", value)), str
        )
    return isinstance(value, kind) if isinstance(kind, type) and kind in _WORDS else True


def plain(value: object) -> Any:
    """
    A number or truth value of numpy's, or an array of one, as Python's, and a value of a class derived from `str`,
    `int` or `float`, such as a member of an enumeration, as one of that type itself; other values as they are.
    """
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    return cast("Any", value).item() if getattr(value, "size", None) == 1 and hasattr(value, "item") else value


def _words(hint: object) -> list[str]:
    """What a type accepts, in words."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return [word for one in inner for word in _words(one)]
    if origin is Mapping:
        values = list(dict.fromkeys(_words(inner[1])))
        return [_WORDS[Mapping] + ("" if _ANY in values else f" and {either(values)} as values")]
    if origin in _SEVERAL:
        return ["a sequence of " + either([_plural(word) for word in _words(inner[0])])]
    return [_WORDS.get(origin or hint, _ANY)]


def _plural(word: str) -> str:
    first, space, rest = word.removeprefix("a ").removeprefix("an ").partition(" with ")
    return f"{first}s{space}{rest}"


def _found(value: object) -> str:
    """A value for a message: its type, and itself where that is short."""
    if value is None or isinstance(value, bool):
        return str(value)
    shown = repr(value) if isinstance(value, str | bytes | int | float) and not _is_long(value) else ""
    kind = type(value).__name__
    if isinstance(value, Mapping) and not all(isinstance(key, str) for key in cast("Mapping[object, object]", value)):
        return f"a {kind} with other keys"
    return f"the {kind} {shown}" if 0 < len(shown) <= 40 else f"a value of type {kind}"


def _is_long(value: str | bytes | float) -> bool:
    return value.bit_length() > 100 if isinstance(value, int) else isinstance(value, str | bytes) and len(value) > 40
