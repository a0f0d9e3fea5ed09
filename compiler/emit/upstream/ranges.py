"""What both forms of a reduction ask: over which axes, and between which values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import AnyFloat, IntegerType, Signedness, f32, i1
from xdsl.ir import Attribute


def is_unsigned(element: Attribute) -> bool:
    """Whether integers of a type have no sign, as booleans have none."""
    if not isinstance(element, IntegerType):
        return False
    return element == i1 or cast(IntegerType, element).signedness.data is Signedness.UNSIGNED


def wide(element: Attribute) -> Attribute:
    """The type in which sums of an element type are added up: f32 for shorter floats, which are rounded at the end."""
    return f32 if isinstance(element, AnyFloat) and element.bitwidth < f32.bitwidth else element


def bounds(element: Attribute) -> tuple[float, float]:
    """The least and the greatest value of an element type."""
    if isinstance(element, AnyFloat):
        return -float("inf"), float("inf")
    bits = cast(IntegerType, element).width.data
    return (0, (1 << bits) - 1) if is_unsigned(element) else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def neutral(way: str, element: Attribute) -> float:
    """What changes no number that it is combined with by add, mul, max or min."""
    least, greatest = bounds(element)
    return {"add": 0, "mul": 1, "max": least, "min": greatest}[way]


def reduced_axes(before: Sequence[int], after: Sequence[int]) -> tuple[int, ...]:
    """The axes over which `train.reduce` sums: those that broadcasting the result back would add or stretch."""
    skipped = len(before) - len(after)
    return tuple(
        axis for axis, size in enumerate(before) if axis < skipped or (after[axis - skipped] == 1 and size != 1)
    )
