"""Values as bytes: equal bytes are equal values of equal types, and what is read is what was written."""

from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler.core.cache.plain import packed, unpacked


@dataclass(frozen=True)
class Point:
    x: object
    y: object = None


@dataclass(frozen=True)
class Place:
    x: object
    y: object = None


class Frozen(msgspec.Struct, frozen=True):
    x: object


@dataclass
class Loose:
    x: object


CLASSES = (Point, Place, Frozen)
ATOMS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=5), st.fractions()
)
VALUES = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(tuple),
        st.builds(Point, inner, inner),
        st.builds(Place, inner),
        st.builds(Frozen, inner),
    ),
    max_leaves=8,
)


def typed(value: object) -> object:
    """The value with all types, so that 1 is not True."""
    if isinstance(value, tuple):
        return (tuple, *map(typed, cast("tuple[object, ...]", value)))
    if isinstance(value, Point | Place):
        return type(value), typed(value.x), typed(value.y)
    if isinstance(value, Frozen):
        return Frozen, typed(value.x)
    return type(value), repr(value)


@settings(max_examples=60)
@given(VALUES)
def test_what_is_read_is_what_was_written(value: object) -> None:
    assert typed(unpacked(packed(value), CLASSES)) == typed(value)


@settings(max_examples=60)
@given(VALUES, VALUES)
def test_bytes_are_equal_where_values_are(one: object, other: object) -> None:
    assert (packed(one) == packed(other)) == (typed(one) == typed(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (1, True),
        (0.0, -0.0),
        (1, Fraction(1)),
        ("1", 1),
        ((), None),
        (Point(1), Place(1)),
        (Point(1), ("tests:Point", 1, None)),
        (((1,), 2), (1, (2,))),
        (1 << 80, str(1 << 80)),
        (("t", 1), (1,)),
        (frozenset({1, 2}), (1, 2)),
    ],
)
def test_alike_but_not_the_same(one: object, other: object) -> None:
    assert packed(one) != packed(other)


def test_sets_have_no_order() -> None:
    assert packed(frozenset(["b", "a", "c"])) == packed(frozenset(["c", "b", "a"]))


@pytest.mark.parametrize("value", [[1], {1: 2}, {1}, b"bytes", Loose(1), object(), (Loose(1),), Point([1])])
def test_what_can_change_is_no_value(value: object) -> None:
    with pytest.raises(TypeError):
        packed(value)


def test_no_other_class_is_made() -> None:
    with pytest.raises(ValueError, match="no value"):
        unpacked(packed(Point(1)), (Place,))


@given(st.binary(max_size=60))
def test_other_bytes_are_refused(data: bytes) -> None:
    try:
        value = unpacked(data, CLASSES)
    except ValueError:
        return
    packed(value)
