"""
The words of a constraint.

    order    "K C * X"               loops, outermost first; `*`: all others, without it they may be anywhere
    dims     "K C", "none"           dimensions
    tiles    "K=16 C<=64 Y=R X=all"  tiles of sub-clusters: a number, the size of a dimension, or all that is given

A dimension is K, C, R, S, Y, X, N or G in its role (`named.roles`), or one of the contraction's own in small letters.
"""

from __future__ import annotations

import re
from typing import Literal

from npuc.compiler.core.frozen import frozen

ROLES = ("K", "C", "R", "S", "Y", "X", "N", "G")
NONE, OTHERS, ALL = "none", "*", "all"
Operator = Literal["=", "<=", ">="]
MOST = 1 << 40
"""The largest tile that may be written."""
TILES_LIKE = f"tiles like K=16, C<=64, Y=R or X={ALL}"
_OWN = re.compile(r"[a-z][a-z0-9_]*")
_TILE = re.compile(r"([A-Za-z][A-Za-z0-9_]*)(<=|>=|=)([A-Za-z0-9_]+)")


class WrongWords(Exception):
    """A text that is no constraint; says what was found and what was expected."""


@frozen
class LoopOrder:
    """Loops by the names of their dimensions, outermost first; `others` is the place of `*` among them, if any."""

    names: tuple[str, ...]
    others: int | None


@frozen
class TileWord:
    """A tile of a dimension: a number, or the name of the dimension whose size it is, or `all`."""

    name: str
    operator: Operator
    value: int | str

    def __str__(self) -> str:
        return f"{self.name}{self.operator}{self.value}"


def read_order(text: str) -> LoopOrder:
    """An order. Raises `WrongWords`."""
    words = text.split()
    if words.count(OTHERS) > 1:
        raise WrongWords(f"expected '{OTHERS}' once, got '{text}'")
    names = tuple(_dimension(word) for word in words if word != OTHERS)
    _check_distinct(names, text)
    if not names:
        raise WrongWords(f"expected dimensions, got '{text}'")
    return LoopOrder(names, words.index(OTHERS) if OTHERS in words else None)


def read_dims(text: str, *, none: bool) -> tuple[str, ...]:
    """Dimensions; with `none` the word of that name stands for none. Raises `WrongWords`."""
    words = text.split()
    if none and words == [NONE]:
        return ()
    names = tuple(map(_dimension, words))
    _check_distinct(names, text)
    return names


def read_tiles(text: str) -> tuple[TileWord, ...]:
    """Tiles. Raises `WrongWords`."""
    return tuple(map(_tile, text.split()))


def _tile(word: str) -> TileWord:
    found = _TILE.fullmatch(word)
    if found is None:
        raise WrongWords(f"expected {TILES_LIKE}, got '{word}'")
    name, operator, value = found.groups()
    kind: Operator = "=" if operator == "=" else "<=" if operator == "<=" else ">="
    if value.isdecimal():
        if not 1 <= int(value[:20]) <= MOST:
            raise WrongWords(f"expected a tile from 1 to {MOST:,}, got '{word}'")
        return TileWord(_dimension(name), kind, int(value))
    return TileWord(_dimension(name), kind, value if value == ALL else _dimension(value))


def _dimension(word: str) -> str:
    if word in ROLES or (_OWN.fullmatch(word) and word not in (NONE, ALL)):
        return word
    roles = ", ".join(ROLES[:-1])
    raise WrongWords(f"expected {roles} or {ROLES[-1]}, or a contraction's own dimension, got '{word}'")


def _check_distinct(names: tuple[str, ...], text: str) -> None:
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise WrongWords(f"'{text}' has {twice[0]} twice")
