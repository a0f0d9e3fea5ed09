"""Shapes for random calls."""

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from tests.calls import Call, Draw, Shape


def sizes(data: st.DataObject, *ranges: tuple[int, int]) -> Shape:
    """One size from each range, ends included."""
    return tuple(data.draw(st.integers(low, high)) for low, high in ranges)


def image(data: st.DataObject) -> Shape:
    """A small [batch, channels, height, width]."""
    return sizes(data, (1, 2), (1, 4), (3, 6), (3, 6))


def vectors(data: st.DataObject) -> Shape:
    """A small tensor of rank 3."""
    return sizes(data, (1, 3), (2, 4), (2, 5))


def broadcast_pair(data: st.DataObject) -> tuple[Shape, Shape]:
    """Two shapes of which the second broadcasts to the first."""
    shape = sizes(data, (1, 3), (1, 3), (1, 3))
    other = [1 if data.draw(st.booleans()) else s for s in shape][data.draw(st.integers(0, 2)) :]
    return shape, tuple(other)


def axis_of(data: st.DataObject, shape: Shape) -> int:
    """An axis of a shape, counted from either end."""
    return data.draw(st.integers(-len(shape), len(shape) - 1))


def unary(function: str, *, range: tuple[float, float] = (-1.0, 1.0), **arguments: Any) -> Draw:
    """A call with one operand x of rank 3 and fixed arguments."""
    ranges: Mapping[str, tuple[float, float]] = {"x": range}
    return lambda data: Call(function, {"x": vectors(data)}, arguments, ranges=ranges)
