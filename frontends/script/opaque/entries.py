"""
What a file says of one operator: the axes of its tensors by name, formulas of its work, and its backward.

    [ops."acme.fuse"]
    inputs = ["b h m d", "b h n d", "b h n d"]      # an axis a word; `_` has no name, `...` are any before the others
    outputs = ["b h m d"]
    macs = "2 * b*h*m*n*d"
    vector = "5 * b*h*m*n"
    backward = 2.5                                  # or backward_macs and backward_vector
    batch = "b"                                     # the axis along which devices may split it
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from math import inf
from typing import NoReturn, cast

from npuc.compiler.core.errors import Location, UsageError, did_you_mean
from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.kinds import show
from npuc.frontends.script.opaque.formula import Formula, FormulaError, parse_formula

FORMULAS = ("macs", "vector", "backward", "backward_macs", "backward_vector")
AXES = ("inputs", "outputs")
KEYS = (*AXES, *FORMULAS, "batch")
ANY = "..."
"""The axes before those that a pattern names."""
UNNAMED = "_"
MAX_TENSORS = 256
MAX_AXES = 64
_NO_NUMBERS = (inf, -inf)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@frozen
class Text:
    """A text of a file of entries, for places in messages."""

    name: str
    text: str

    def error(
        self, message: str, operator: str, key: str | None, inside: int = 0, hint: str | None = None
    ) -> UsageError:
        """An error at a key of an operator's entry; `inside` are characters from the start of its text."""
        found = self._place(operator, key)
        if found is None:
            return UsageError(f"{self.name}: {message}", hint=hint)
        line, col = found
        source = self.text.split("\n")[line - 1]
        value = re.match(r"\s*=\s*[\"']", source[col - 1 + len(key or "") :])
        if value is not None:
            col = min(col + len(key or "") + value.end() + inside, len(source))
        return UsageError(message, location=Location(self.name, line, col), hint=hint, source_line=source)

    def _place(self, operator: str, key: str | None) -> tuple[int, int] | None:
        """Line and column of a key below the header of an entry, or of the header."""
        names = "|".join(re.escape(one) for one in (f'"{operator}"', f"'{operator}'", operator))
        lines = self.text.split("\n")
        heads = [n for n, line in enumerate(lines) if re.match(rf"\s*\[\s*ops\s*\.\s*(?:{names})\s*\]", line)]
        if not heads:
            return None
        for at in range(heads[0] + 1, len(lines)):
            if lines[at].lstrip().startswith("[") or key is None:
                break
            if re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=", lines[at]):
                return at + 1, lines[at].index(key) + 1
        return heads[0] + 1, lines[heads[0]].index("[") + 1


@frozen
class Entry:
    """
    The axes of the tensors of an operator, None where nobody says; formulas of its work by their keys; its batch.

    `given` says whether a user's file has it.
    """

    operator: str
    source: Text
    inputs: tuple[tuple[str, ...], ...] = ()
    outputs: tuple[tuple[str, ...], ...] | None = None
    formulas: Mapping[str, Formula] = field(default_factory=dict[str, Formula])
    batch: str | None = None
    given: bool = False

    def error(self, message: str, key: str | None = None, inside: int = 0, hint: str | None = None) -> UsageError:
        """An error at a key of the entry."""
        return self.source.error(message, self.operator, key, inside, hint)


def read_entry(operator: str, data: object, source: Text, *, given: bool) -> Entry:
    """The entry that a table is. Raises `UsageError` with the place of what is wrong."""

    def wrong(message: str, key: str | None = None, hint: str | None = None) -> NoReturn:
        raise source.error(message, operator, key, hint=hint)

    if not isinstance(data, dict):
        wrong(f'ops."{operator}": expected a table, found {show(data)}')
    table = cast("dict[str, object]", data)
    for key in table:
        if key not in KEYS:
            wrong(f"ops.\"{operator}\": unknown key '{key}'", key, did_you_mean(key, KEYS))
    axes = {key: _patterns(table[key], _refusal(wrong, key)) for key in AXES if key in table}
    formulas = {key: _formula(operator, key, table[key], source) for key in FORMULAS if key in table}
    if "macs" not in formulas and "vector" not in formulas:
        wrong(f'ops."{operator}": found neither macs nor vector, expected a formula of its work')
    if "backward" in formulas and formulas.keys() & {"backward_macs", "backward_vector"}:
        wrong("found backward beside backward_macs or backward_vector, expected one of both", "backward")
    batch = cast("str | None", table.get("batch"))
    known = {name for patterns in axes.values() for pattern in patterns for name in pattern} - {ANY, UNNAMED}
    if batch is not None and batch not in known:
        wrong(f"batch: found {show(batch)}, expected an axis of inputs and outputs", "batch")
    entry = Entry(operator, source, axes.get("inputs", ()), axes.get("outputs"), formulas, batch, given)
    if entry.batch is not None and not all(entry.batch in pattern for pattern in entry.outputs or ((),)):
        wrong(f"batch: found '{batch}', expected an axis of each of outputs", "batch")
    return entry


def _refusal(wrong: Callable[[str, str], NoReturn], key: str) -> Callable[[str], NoReturn]:
    def refuse(message: str) -> NoReturn:
        wrong(f"{key}: {message}", key)

    return refuse


def _formula(operator: str, key: str, value: object, source: Text) -> Formula:
    """The formula that a value is: a text, or a number."""
    if isinstance(value, bool) or not isinstance(value, str | int | float) or value in _NO_NUMBERS or value != value:
        raise source.error(f"{key}: found {show(value)}, expected a formula or a number", operator, key)
    try:
        return parse_formula(value if isinstance(value, str) else format(Decimal(repr(value)), "f"))
    except FormulaError as error:
        inside = error.at if isinstance(value, str) else 0
        raise source.error(f"{key}: {error.message}", operator, key, inside, error.hint) from None


def _patterns(value: object, refuse: Callable[[str], NoReturn]) -> tuple[tuple[str, ...], ...]:
    """The axes of each tensor of a list of texts."""
    items = cast("Sequence[object]", value) if isinstance(value, list) else None
    if items is None or not all(isinstance(item, str) for item in items):
        refuse(f"found {show(cast('object', value))}, expected a list of texts, one a tensor")
    if len(items) > MAX_TENSORS:
        refuse(f"found {len(items)} tensors, expected at most {MAX_TENSORS}")
    found: list[tuple[str, ...]] = []
    for text in cast("Sequence[str]", items):
        pattern = tuple(text.split())
        if len(pattern) > MAX_AXES:
            refuse(f"found {len(pattern)} axes, expected at most {MAX_AXES}")
        for place, word in enumerate(pattern):
            if word == ANY and place == 0:
                continue
            if not _NAME.fullmatch(word):
                refuse(f"found '{word}' in '{text}', expected names of axes, {UNNAMED}, or {ANY} before all others")
        found.append(pattern)
    return tuple(found)
