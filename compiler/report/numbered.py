"""
Names that differ in their numbers alone, as one.

`encoder.0.attention.q`, `encoder.1.attention.q`, … are `encoder.0-11.attention.q`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_NUMBERS = re.compile(r"(\d+)")


def template(name: str) -> str:
    """A name without its numbers."""
    return _NUMBERS.sub("*", name)


def name_of_all(names: Sequence[str]) -> str:
    """
    One name for names that differ only in numbers.

    A number that runs without a gap is its first and last, if all of the names are meant by that; others are `*`.
    """
    columns = [list(dict.fromkeys(column)) for column in zip(*map(_NUMBERS.split, names), strict=True)]
    count = 1
    for column in columns:
        count *= len(column)
    whole = count == len(set(names))
    return "".join(column[0] if len(column) == 1 else _range(column) if whole else "*" for column in columns)


def _range(numbers: Sequence[str]) -> str:
    """`0-11` for the numbers 0 to 11, `*` where some between are missing."""
    found = sorted(map(int, numbers))
    return f"{found[0]}-{found[-1]}" if found == list(range(found[0], found[-1] + 1)) else "*"


def follows(names: Sequence[str], name: str) -> bool:
    """Whether a name is next to names that count on in one place, of which the ends do: `h.2` after `h.0` and `h.1`."""
    last, own = _NUMBERS.split(names[-1]), _NUMBERS.split(name)
    if len(last) != len(own):
        return False
    places = [place for place, pair in enumerate(zip(last, own, strict=True)) if pair[0] != pair[1]]
    if len(places) != 1 or not places[0] % 2 or int(own[places[0]]) != int(last[places[0]]) + 1:
        return False
    first = _NUMBERS.split(names[0])
    return all(a == b for place, (a, b) in enumerate(zip(first, own, strict=True)) if place != places[0])
