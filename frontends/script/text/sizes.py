"""Sizes that are parameters of a network: the batch, and those that a graph leaves free."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from npuc.frontends.dsl.syntax import (
    Call,
    Definition,
    Expr,
    Index,
    ListOf,
    Literal,
    Loss,
    Name,
    Output,
    Unary,
)
from npuc.frontends.script.text.flat import Flat, flat
from npuc.frontends.script.text.names import identifier

_SYMBOL = re.compile(r"s\d+|.*\.\d+")
"""The names of sizes that nobody gave one."""


@dataclass(frozen=True)
class Size:
    """`factor` times a parameter of the network plus `offset`."""

    parameter: str
    factor: int = 1
    offset: int = 0


@dataclass(frozen=True)
class FreeSize:
    """A size that a graph may have: its name, its value, others, and the network of the graph with one of them."""

    name: str
    value: int
    others: tuple[int, ...]
    at: Callable[[int], Definition | None]


def parameter_names(axes: Mapping[str, int]) -> dict[str, str]:
    """
    Names for sizes in a network's text, by their names in the graph, of which `axes` are the axes that they are of.

    The first axis is the batch, the second the length; what is called by a word already keeps its name.
    """
    found: dict[str, str] = {}
    for name, axis in axes.items():
        own = identifier(name)
        usual = {0: "batch", 1: "length"}.get(axis, own)
        found[name] = own if usual in found.values() or (axis and not _SYMBOL.fullmatch(name)) else usual
    return found


class _Different(Exception):
    """Two networks differ by more than numbers."""


def sizes_in(network: Flat, free: Sequence[FreeSize]) -> tuple[dict[str, int], dict[Literal, Size]]:
    """
    The free sizes that can be parameters of a network, by name, and the numbers in it that follow from them.

    A number follows if it is linear in one size, as two other sizes tell. A size of which that is not so for all
    numbers stays as it is.
    """
    found: dict[str, int] = {}
    literals: dict[Literal, Size] = {}
    for size in free:
        numbers = _numbers(network, size)
        if numbers and not literals.keys() & numbers.keys():
            found[size.name] = size.value
            literals.update(numbers)
    return found, literals


def _numbers(network: Flat, size: FreeSize) -> dict[Literal, Size]:
    """The numbers of a network that change with a size; none where they do otherwise than linearly."""
    changes: list[dict[Literal, int]] = []
    for other in size.others[:2]:
        definition = size.at(other)
        if definition is None:
            return {}
        try:
            changes.append(_changed(network, flat(definition)))
        except _Different:
            return {}
    if len(changes) < 2:
        return {}
    first, second = changes
    found: dict[Literal, Size] = {}
    for literal in first.keys() | second.keys():
        value = literal.value
        assert isinstance(value, int)
        step = size.others[0] - size.value
        factor, rest = divmod(first.get(literal, value) - value, step)
        offset = value - factor * size.value
        if rest or second.get(literal, value) != factor * size.others[1] + offset:
            return {}
        found[literal] = Size(size.name, factor, offset)
    return found


def _changed(network: Flat, other: Flat) -> dict[Literal, int]:
    """The numbers in which another network differs, with its own. Raises `_Different`."""
    found: dict[Literal, int] = {}
    if len(network.lines) != len(other.lines) or len(network.results) != len(other.results):
        raise _Different
    for a, b in zip(network.declarations, other.declarations, strict=True):
        _compare(a.shape, b.shape, found)
    for a, b in zip(network.lines, other.lines, strict=True):
        if a.targets != b.targets:
            raise _Different
        _compare(a.value, b.value, found)
    for a, b in zip(network.results, other.results, strict=True):
        match a, b:
            case (Loss(), Loss()):
                _compare(a.value, b.value, found)
            case (Output(), Output()):
                _compare(a.value or a.name, b.value or b.name, found)
            case _:
                pass
    return found


def _compare(a: Expr, b: Expr, found: dict[Literal, int]) -> None:
    match a, b:
        case (Literal(), Literal()):
            if a.value != b.value:
                if type(a.value) is not int or type(b.value) is not int:
                    raise _Different
                found[a] = b.value
        case (Name(), Name()):
            if a.text != b.text:
                raise _Different
        case (ListOf(), ListOf()):
            _compare_all(a.items, b.items, found)
        case (Call(), Call()):
            if a.function != b.function or a.frozen != b.frozen:
                raise _Different
            if [x.name for x in a.arguments] != [x.name for x in b.arguments]:
                raise _Different
            _compare_all([x.value for x in a.arguments], [x.value for x in b.arguments], found)
        case (Unary(), Unary()):
            _compare(a.operand, b.operand, found)
        case (Index(), Index()):
            _compare_all((a.sequence, a.index), (b.sequence, b.index), found)
        case _:
            raise _Different


def _compare_all(a: Sequence[Expr], b: Sequence[Expr], found: dict[Literal, int]) -> None:
    if len(a) != len(b):
        raise _Different
    for x, y in zip(a, b, strict=True):
        _compare(x, y, found)
