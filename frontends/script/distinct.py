"""Places and distinct values, of a number that is known, as calls of the language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from npuc.compiler.core.verify import location_of
from npuc.frontends.script.weights import Refused, Tensor

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from npuc.frontends.dsl.syntax import Name
    from npuc.frontends.script.writer import CallWriter


def places_of(c: CallWriter, mask: Tensor, count: int) -> list[Name]:
    """The places of a number of elements that are not 0, an i64 vector for each axis."""
    rank = len(c.shape(mask))
    if not rank:
        raise Refused("found a mask without axes, expected at least one")
    places = c.let("cast", c.let("nonzero", mask, count), to="i64")
    return c.script.several([f"{c.layer}.places.{axis}" for axis in range(rank)], "unbind", places, 1)


def checked_nodes(module: ModuleOp) -> set[int]:
    """The nodes of the graph that is read whose operations refuse data of another number than their size."""
    places = (location_of(op) for op in module.walk() if op.name in ("train.nonzero", "train.nms"))
    return {place.line for place in places if place is not None}


@dataclass(frozen=True)
class Distinct:
    """
    The distinct values of a vector, as their first places.

    `first` tells of each element whether it differs from the one before, `starts` where a value begins. `order` are
    the places of the elements before they were sorted; None where they were not.
    """

    c: CallWriter
    elements: Name
    first: Name
    starts: Name
    order: Name | None

    @staticmethod
    def of(c: CallWriter, vector: Name, count: int, *, sort: bool) -> Distinct:
        """A number of distinct values, in order, or as they follow each other."""
        elements, order = vector, None
        if sort:
            elements, order = c.script.several([f"{c.layer}.sorted", f"{c.layer}.order"], "sort", vector)
        first = _changes(c, elements)
        starts = c.let("reshape", c.let("cast", c.let("nonzero", first, count), to="i64"), [count])
        return Distinct(c, elements, first, starts, order)

    @property
    def values(self) -> Name:
        """The values."""
        return self.c.let("index_select", self.elements, self.starts, 0)

    @property
    def places(self) -> Name:
        """Where each value is first."""
        if self.order is None:
            return self.starts
        return self.c.let("index_select", self.c.let("cast", self.order, to="i64"), self.starts, 0)

    def inverse(self, shape: Sequence[int]) -> Name:
        """Of each element the number of its value."""
        c = self.c
        number = c.let("sub", c.let("cumsum", c.let("cast", self.first, to="i64"), 0), 1)
        if self.order is not None:
            number = c.let("index_put", c.let("full", list(c.shape(number)), 0, dtype="i64"), [self.order], number, [0])
        return c.let("reshape", number, list(shape))

    @property
    def counts(self) -> Name:
        """How many elements each value has."""
        c, (count,) = self.c, self.c.shape(self.starts)
        end = c.let("full", [1], c.shape(self.elements)[0], dtype="i64")
        following = end if count == 1 else c.let("concat", [c.let("slice", self.starts, 0, 1, count), end], 0)
        return c.let("sub", following, self.starts)


def _changes(c: CallWriter, values: Name) -> Name:
    """Which elements of a vector differ from the one before."""
    (length,) = c.shape(values)
    first = c.let("full", [1], 1, dtype="bool")
    if length == 1:
        return first
    changed = c.let("not_equal", c.let("slice", values, 0, 1, length), c.let("slice", values, 0, 0, length - 1))
    return c.let("concat", [first, changed], 0)
