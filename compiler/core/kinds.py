"""
What a value of a hardware description may be: each kind reads a value, or says what was found and what was expected.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import field
from numbers import Integral
from typing import Literal, cast

from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.options import UNLIMITED

Scalar = bool | int | float | str
Entry = Scalar | list[int]
"""A value of a table in a list."""
Value = Scalar | list[dict[str, Entry]]


def real(value: Entry) -> float:
    """A number of a table as a float. Raises `TypeError` for what is none."""
    if not isinstance(value, int | float):
        raise TypeError(f"expected a number, got {_found(value)}")
    return float(value)


class WrongValue(Exception):
    """
    A value is not what its key takes; the text says what was found and what was expected.

    In a list of tables `entry` is the one that is wrong, from 0 (messages count from 1), `inner` its key where it is
    one, and `reason` the text without the entry.
    """

    def __init__(self, message: str, entry: int | None = None, inner: str | None = None, reason: str | None = None):
        super().__init__(message)
        self.entry, self.inner, self.reason = entry, inner, message if reason is None else reason


_SHOWN_BITS = 1024


def show(value: object) -> str:
    """A value for a message, short."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and value.bit_length() > _SHOWN_BITS:
        return f"an integer of {value.bit_length():,} bits"
    text = f"'{value}'" if isinstance(value, str) else str(value)
    return text if len(text) <= 40 else text[:37] + "..."


@frozen
class Integer:
    """A whole number from `least` to `most`."""

    least: int
    most: int

    def read(self, value: object) -> Scalar:
        """`value` as an int, also numpy's. Raises `WrongValue`."""
        if isinstance(value, bool) or not isinstance(value, Integral):
            raise WrongValue(f"expected an integer from {self.least:,} to {self.most:,}, got {_found(value)}")
        if not self.least <= int(value) <= self.most:
            raise WrongValue(f"expected an integer from {self.least:,} to {self.most:,}, got {show(int(value))}")
        return int(value)


@frozen
class OneOf:
    """One of a few whole numbers."""

    choices: tuple[int, ...]

    def read(self, value: object) -> Scalar:
        """`value` as an int, also numpy's. Raises `WrongValue`."""
        if isinstance(value, bool) or not isinstance(value, Integral) or int(value) not in self.choices:
            raise WrongValue(f"expected {' or '.join(map(str, self.choices))}, got {_found(value)}")
        return int(value)


@frozen
class Limit:
    """A whole number from 1 to `most`, or "unlimited"."""

    most: int

    def read(self, value: object) -> Scalar:
        """`value` if it is one. Raises `WrongValue`."""
        wanted = f"expected an integer from 1 to {self.most:,} or '{UNLIMITED}'"
        if value == UNLIMITED:
            return UNLIMITED
        if isinstance(value, bool) or not isinstance(value, Integral):
            raise WrongValue(f"{wanted}, got {_found(value)}")
        if not 1 <= int(value) <= self.most:
            raise WrongValue(f"{wanted}, got {show(int(value))}")
        return int(value)


LEAST = 1e-9
"""Smaller numbers are mistakes: no clock, bandwidth or energy is that small in the units of the file."""


@frozen
class Real:
    """A finite number above 0 (from 0 on with `zero`, from `least` on), at most `most`; always read as a float."""

    most: float
    zero: bool = False
    least: float = 0.0

    def read(self, value: object) -> Scalar:
        """`value` as a float, also an integer of numpy. Raises `WrongValue`."""
        value = int(value) if not isinstance(value, bool) and isinstance(value, Integral) else value
        first = f"from {self.least:g}" if self.least or self.zero else "above 0"
        wanted = f"expected a number {first} to {self.most:,.0f}"
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise WrongValue(f"{wanted}, got {_found(value)}")
        if isinstance(value, float) and not math.isfinite(value):
            raise WrongValue(f"{wanted}, got {value}")
        if not (0 <= value if self.zero else 0 < value) or not self.least <= value <= self.most:
            raise WrongValue(f"{wanted}, got {show(value)}")
        if 0 < value < LEAST:
            raise WrongValue(f"{wanted}, at least {LEAST:g} where it is not 0, got {show(value)}")
        return float(value)


@frozen
class Flag:
    """true or false."""

    def read(self, value: object) -> Scalar:
        """`value` if it is one. Raises `WrongValue`."""
        if not isinstance(value, bool):
            raise WrongValue(f"expected true or false, got {_found(value)}")
        return value


@frozen
class Text:
    """A string; one of `choices` when there are any. `wanted` says in words what it is."""

    choices: tuple[str, ...] = ()
    wanted: str = "a string"

    def read(self, value: object) -> Scalar:
        """`value` if it is one. Raises `WrongValue`."""
        wanted = "expected " + (" or ".join(f"'{c}'" for c in self.choices) or self.wanted)
        if not isinstance(value, str):
            raise WrongValue(f"{wanted}, got {_found(value)}")
        if self.choices and value not in self.choices:
            raise WrongValue(f"{wanted}, got {show(value)}")
        if not value.strip():
            raise WrongValue(f"{wanted}, got an empty string")
        if not value.isprintable():
            raise WrongValue(f"{wanted}, got a string with an unprintable character")
        return str.__str__(value)  # of a derived class, too


@frozen
class Integers:
    """A list of one to `count` whole numbers from `least` to `most`, whose product is at most that, too."""

    least: int
    most: int
    count: int

    def read(self, value: object) -> list[int]:
        """`value` as a list of ints. Raises `WrongValue`."""
        wanted = f"expected a list of 1 to {self.count} integers from {self.least:,} to {self.most:,}"
        if not isinstance(value, list | tuple):
            raise WrongValue(f"{wanted}, got {_found(value)}")
        entries = cast("list[object]", value)
        if not 1 <= len(entries) <= self.count:
            raise WrongValue(f"{wanted}, got {len(entries)}")
        found: list[int] = []
        for entry in entries:
            if isinstance(entry, bool) or not isinstance(entry, Integral) or not self.least <= int(entry) <= self.most:
                raise WrongValue(f"{wanted}, got {show(entry)} in it")
            found.append(int(entry))
        if math.prod(found) > self.most:
            raise WrongValue(f"{wanted} in all, got {math.prod(found):,}")
        return found


@frozen
class Rows:
    """
    A list of tables that all have the same keys; every key of `needed` must be present, others have a default or none.

    `wrong` says what is wrong with the values of an entry together, each of which is right, and `wrong_together` which
    entry does not go with the others, and why; None where nothing is. `entry` is the word for one of them. With `files`
    the name of a file may stand for the list: it is left for whoever reads such files, which `files` says in words.
    """

    keys: Mapping[str, Integer | Integers | Real | Text | Flag]
    needed: tuple[str, ...]
    defaults: Mapping[str, Scalar] = field(default_factory=dict[str, Scalar])
    wrong: Callable[[Mapping[str, Entry]], str | None] = lambda row: None
    wrong_together: Callable[[list[dict[str, Entry]]], tuple[int, str] | None] = lambda rows: None
    entry: str = "entry"
    files: str = ""

    def read(self, value: object) -> Value:
        """`value` with every entry read. Raises `WrongValue`."""
        if self.files and isinstance(value, str):
            return Text(wanted=f"a list of tables or {self.files}").read(value)
        if not isinstance(value, list):
            other = f", or {self.files}" if self.files else ""
            raise WrongValue(f"expected a list of tables with {', '.join(self.keys)}{other}, got {_found(value)}")
        rows = [self._row(number, row) for number, row in enumerate(cast("list[object]", value))]
        wrong = self.wrong_together(rows)
        if wrong is not None:
            raise self._wrong_entry(*wrong)
        return rows

    def _row(self, number: int, row: object) -> dict[str, Entry]:
        if not isinstance(row, Mapping):
            raise self._wrong_entry(number, f"expected a table with {', '.join(self.keys)}, got {_found(row)}")
        table = cast("Mapping[object, object]", row)
        for key in table:
            if key not in self.keys:
                raise self._wrong_entry(number, f"unknown key {show(key)}, expected {', '.join(self.keys)}", str(key))
        missing = [key for key in self.needed if key not in table]
        if missing:
            raise self._wrong_entry(number, f"missing key '{missing[0]}'")
        result: dict[str, Entry] = {}
        for key, kind in self.keys.items():
            if key in table:
                try:
                    result[key] = kind.read(table[key])
                except WrongValue as e:
                    raise self._wrong_entry(number, f"{key}: {e}", key) from None
            elif key in self.defaults:
                result[key] = self.defaults[key]
        wrong = self.wrong(result)
        if wrong is not None:
            raise self._wrong_entry(number, wrong)
        return result

    def _wrong_entry(self, number: int, what: str, key: str | None = None) -> WrongValue:
        """What is wrong with an entry of the list; the text may begin with its key."""
        inner = key or what.partition(":")[0] if key or ":" in what else None
        return WrongValue(f"{self.entry} {number + 1}: {what}", number, inner, what)


Kind = Integer | OneOf | Real | Flag | Text | Limit | Rows
"""What a value may be."""


@frozen
class Key:
    """One key, dotted: its meaning with its unit, what it may be, and its default (None: it has none)."""

    path: str
    kind: Kind
    meaning: str
    default: Scalar | None = None


ENERGY = Real(1e6, zero=True)
"""In picojoules."""
COUNT = Integer(1, 1 << 20)
"""Of parts of a machine."""
BANDWIDTH = Real(1e7)
"""In 10^9 bytes, or in words, whatever the key says."""
Reduction = Literal["dram", "on-chip"]
"""How partial sums pass from core to core (`array.reduction`)."""


def _found(value: object) -> str:
    """The TOML type and the value that was found."""
    match value:
        case bool():
            return show(value)
        case int():
            return show(value) if value.bit_length() > _SHOWN_BITS else f"the integer {show(value)}"
        case float():
            return f"the number {show(value)}"
        case str():
            return f"the string {show(value)}"
        case list():
            return "a list"
        case Mapping():
            return "a table"
        case _:
            return f"a {type(value).__name__}"
