"""
The part of YAML, and of JSON, that files of plain lists use.

    # comment
    key: [ a, 2 ]         # a list in brackets, over several lines if it is long
    other:
      - a
      - 2.5
    third: 3

    { "key": ["a", 2], "other": [1] }

Keys stand at the beginning of a line, values are names, texts in quotes and numbers, and no key is there twice.
Everything else of YAML (nested mappings, anchors, tags, texts over several lines) is refused with its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn

from npuc.compiler.core.errors import Location, UsageError
from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.numbers import integer_of, is_integer, real_of


@frozen
class Item:
    """A value as it is written, without its quotes, and where it begins: line and column from 1."""

    text: str
    line: int
    col: int
    quoted: bool = False

    @property
    def integer(self) -> int | None:
        """The integer that it is, if it is one."""
        return None if self.quoted else integer_of(self.text)

    @property
    def is_long(self) -> bool:
        """Whether it is an integer of too many digits."""
        return not self.quoted and is_integer(self.text) and self.integer is None

    @property
    def real(self) -> float | None:
        """The number that it is, if it is one."""
        return None if self.quoted else real_of(self.text)


@dataclass
class Items:
    """What a key has: the entries of a list, or one value (`scalar`); and where the key is."""

    line: int
    col: int
    entries: list[Item] = field(default_factory=list[Item])
    scalar: bool = False


@frozen
class _Token:
    """A piece of a file: one of `{}[],:`, a dash before an entry, or a value; whether it begins its line."""

    kind: str
    item: Item
    first: bool


_PIECES = re.compile(
    r"""
    (?P<blank>[ \t\r]+|\#.*)
    |(?P<mark>[{}\[\],]|:(?=[\s\[{"']|$)|(?<=["']):|-(?=\s|$))
    |(?P<word>[^\s{}\[\],:"'#](?:[^{}\[\],:"'#]|:(?=[^\s\[{"'])|(?<=\S)\#)*)
    |(?P<quoted>"[^"\\]*"|'[^']*')
    """,
    re.VERBOSE,
)
"""Blanks and comments; marks, of which a colon ends a key and a dash begins an entry; names and numbers; texts."""


def read_items(text: str, name: str) -> dict[str, Items]:
    """The keys of a file with what each has, in order. Raises `UsageError` with the place for any other text."""
    return _Reader(text, name).read()


class _Reader:
    def __init__(self, text: str, name: str) -> None:
        self._name, self._lines = name, text.split("\n")
        self._tokens = list(self._split())
        self._at = 0

    def read(self) -> dict[str, Items]:
        """The whole file."""
        found: dict[str, Items] = {}
        in_braces = self._skip("{")
        while self._peek() is not None and not (in_braces and self._is("}")):
            key = self._next("a key")
            if key.kind != "word" or not (in_braces or (key.first and key.item.col == 1)):
                self._wrong(key, "a key at the beginning of a line" if not in_braces else "a key")
            self._expect(":")
            if key.item.text in found:
                self._wrong(key, f"each key once, first in line {found[key.item.text].line}")
            found[key.item.text] = self._value(key.item, in_braces=in_braces)
            if in_braces and not self._is("}"):
                self._expect(",")
        if in_braces:
            self._expect("}")
        if (rest := self._peek()) is not None:
            self._wrong(rest, "the end of the file")
        if not found:
            raise UsageError(f"{self._name}: found no keys, expected lists by key")
        return found

    def _value(self, key: Item, *, in_braces: bool) -> Items:
        found = Items(key.line, key.col)
        if self._skip("["):
            while not self._skip("]"):
                found.entries.append(self._word())
                if not self._is("]"):
                    self._expect(",")
        elif not in_braces and self._is("-"):
            while self._skip("-"):
                found.entries.append(self._word())
        else:
            token = self._peek()
            if token is not None and not in_braces and token.first and token.item.col == 1:
                self._wrong(token, f"a value of '{key.text}'")
            found.entries.append(self._word())
            found.scalar = True
        return found

    def _word(self) -> Item:
        token = self._next("a value")
        if token.kind != "word":
            self._wrong(token, "a name or a number")
        return token.item

    def _expect(self, kind: str) -> None:
        token = self._next(f"'{kind}'")
        if token.kind != kind:
            self._wrong(token, f"'{kind}'")

    def _skip(self, kind: str) -> bool:
        """Whether the next token is of a kind, which is then behind us."""
        if not self._is(kind):
            return False
        self._at += 1
        return True

    def _is(self, kind: str) -> bool:
        token = self._peek()
        return token is not None and token.kind == kind

    def _peek(self) -> _Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _next(self, wanted: str) -> _Token:
        token = self._peek()
        if token is None:
            last = len(self._lines)
            self._fail(f"found the end of the file, expected {wanted}", last, len(self._lines[-1]) + 1)
        self._at += 1
        return token

    def _wrong(self, token: _Token, wanted: str) -> NoReturn:
        self._fail(f"found '{token.item.text}', expected {wanted}", token.item.line, token.item.col)

    def _fail(self, message: str, line: int, col: int) -> NoReturn:
        raise UsageError(message, location=Location(self._name, line, col), source_line=self._lines[line - 1])

    def _split(self) -> Iterator[_Token]:
        """The tokens of the file."""
        for number, line in enumerate(self._lines, 1):
            if number == 1 and line.strip() == "---":
                continue
            at, first = 0, True
            while at < len(line):
                piece = _PIECES.match(line, at)
                if piece is None:
                    self._fail(f"found '{line[at]}', expected a key, a list or a value", number, at + 1)
                begin, at = at, piece.end()
                if piece["blank"] is not None:
                    continue
                mark, word, quoted = piece["mark"], piece["word"], piece["quoted"]
                if mark is not None:
                    yield _Token(mark, Item(mark, number, begin + 1), first)
                else:
                    shown = word.rstrip() if word is not None else quoted[1:-1]
                    yield _Token("word", Item(shown, number, begin + 1, quoted=word is None), first)
                first = False
