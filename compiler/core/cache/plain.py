"""
Frozen values as bytes and back: dataclasses and structs of numbers, texts, fractions and tuples.

    packed((nest, machine, "time"))             # a key: equal bytes mean equal values of equal types
    unpacked(data, (Schedule, Loop))            # a value of these classes, or ValueError

The bytes hold values alone: what is read makes instances of the classes that are named, and of no others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from fractions import Fraction
from functools import lru_cache
from typing import Any, cast

import msgspec

TUPLE, SET, FRACTION, LARGE = "t", "s", "q", "i"
"""What a list stands for that begins so; any other beginning is the name of a class."""
WIDEST = 1 << 63


def packed(value: object) -> bytes:
    """The bytes of a value. Raises `TypeError` for what can change, or is of no known kind."""
    return msgspec.msgpack.encode(_tree(value))


def unpacked(data: bytes, classes: Sequence[type]) -> object:
    """The value that `packed` has written. Raises `ValueError` for other bytes, and for classes that are not named."""
    try:
        return _value(msgspec.msgpack.decode(data), {name_of(kind): kind for kind in classes})
    except (msgspec.MsgspecError, TypeError, LookupError, ZeroDivisionError) as error:
        raise ValueError(f"no value: {error}") from error


def name_of(kind: type) -> str:
    """How a class is called in bytes."""
    return f"{kind.__module__}:{kind.__qualname__}"


@lru_cache(maxsize=256)
def _fields(kind: type) -> tuple[str, ...]:
    """The fields of a frozen class, in their order. Raises `TypeError` for any other."""
    found = cast(Any, kind)
    of_struct, of_dataclass = getattr(found, "__struct_config__", None), getattr(found, "__dataclass_params__", None)
    if of_struct is not None and of_struct.frozen:
        return found.__struct_fields__
    if of_dataclass is not None and of_dataclass.frozen and all(one.init for one in fields(found)):
        return tuple(one.name for one in fields(found))
    raise TypeError(f"{name_of(kind)} is no frozen class of fields")


def _tree(value: object) -> object:
    """The value as lists of what MessagePack has. Types are exact: 1, 1.0 and True are three values."""
    kind = type(value)
    if value is None or kind is bool or kind is float or kind is str:
        return value
    if kind is int:
        number = cast(int, value)
        return number if -WIDEST <= number < WIDEST else [LARGE, str(number)]
    if kind is tuple:
        return [TUPLE, *map(_tree, cast("tuple[object, ...]", value))]
    if kind is Fraction:
        fraction = cast(Fraction, value)
        return [FRACTION, _tree(fraction.numerator), _tree(fraction.denominator)]
    if kind is frozenset:
        return [SET, *sorted(map(packed, cast("frozenset[object]", value)))]
    return [name_of(kind), *(_tree(getattr(value, name)) for name in _fields(kind))]


def _value(tree: Any, classes: Mapping[str, type]) -> object:
    """The value of a tree. Raises `ValueError`, `TypeError` or `LookupError` for what is none."""
    if not isinstance(tree, list):
        if tree is not None and type(tree) not in (bool, int, float, str):
            raise ValueError(f"found a value of {type(tree).__name__}")
        return tree
    kind, *rest = cast("list[Any]", tree)
    if kind == TUPLE:
        return tuple(_value(one, classes) for one in rest)
    if kind == LARGE:
        (digits,) = rest
        return int(digits)
    if kind == FRACTION:
        numerator, denominator = (_value(one, classes) for one in rest)
        return Fraction(cast(int, numerator), cast(int, denominator))
    found = classes[kind]
    names = _fields(found)
    if len(names) != len(rest):
        raise ValueError(f"{kind} with {len(rest)} fields")
    return found(**{name: _value(one, classes) for name, one in zip(names, rest, strict=True)})
