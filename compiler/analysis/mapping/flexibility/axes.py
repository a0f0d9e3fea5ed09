"""The four axes of flexibility: tile sizes, order of loops, parallel dimensions, shape of the array."""

from __future__ import annotations

from itertools import product
from typing import Literal, get_args

Axis = Literal["tiles", "order", "parallel", "shape"]
AXES: tuple[Axis, ...] = get_args(Axis)
"""The axes, in the order of the bits of a class: T, O, P, S."""
LETTERS = "TOPS"
Support = Literal["fixed", "some", "any"]
"""Of an axis: one choice, that of the machine's dataflow; some of all choices; or all that the hardware allows."""
SUPPORTS: tuple[Support, ...] = get_args(Support)
Supports = tuple[Support, Support, Support, Support]
"""The support of each axis."""


def class_of(supports: Supports) -> str:
    """The class as four bits, 1 for an axis with more than one choice: `1000` has flexible tiles alone."""
    return "".join("0" if one == "fixed" else "1" for one in supports)


def classes() -> tuple[Supports, ...]:
    """The sixteen classes of axes that are fixed or fully flexible, `0000` to `1111`: subsets before supersets."""
    ends: tuple[Support, Support] = ("fixed", "any")
    return tuple((t, o, p, s) for t, o, p, s in product(ends, repeat=len(AXES)))


def is_within(inner: Supports, outer: Supports) -> bool:
    """Whether every choice of the first is one of the second."""
    return all(SUPPORTS.index(a) <= SUPPORTS.index(b) for a, b in zip(inner, outer, strict=True))
