"""
Values of the network as views of variables: axes in another order, and axes along which they are repeated.

StableHLO broadcasts and transposes by operations of their own; the language broadcasts where it computes. So both are
kept as a view until an operation needs the elements in their order: a bias in `NHWC` is added as the language would.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from npuc.compiler.layers.arguments import ELEMENT_TYPES
from npuc.frontends.dsl.syntax import Call, Name
from npuc.frontends.jax.values import HloValue, Known, Operand, Rows
from npuc.frontends.script.context import CallContext
from npuc.frontends.script.weights import FLOATS, Refused

if TYPE_CHECKING:
    from npuc.compiler.core.builder import GraphBuilder
    from npuc.compiler.layers.base import Array


@dataclass(frozen=True, eq=False)
class TensorView:
    """
    A tensor of a shape: of each axis the one of the variable that it is, or None where the variable is repeated.

    Axes of the variable that no axis is have the size 1.
    """

    name: Name
    axes: tuple[int | None, ...]
    shape: tuple[int, ...]
    element: str

    @property
    def order(self) -> list[int]:
        """The axes in the variable's order, repeated ones left out."""
        found = [(place, axis) for axis, place in enumerate(self.axes) if place is not None]
        return [axis for _, axis in sorted(found)]

    @property
    def is_whole(self) -> bool:
        """Whether no axis is repeated."""
        return None not in self.axes


Value: TypeAlias = TensorView | Known


class Views:
    """The values made so far, and their elements in the order that an operation wants."""

    def __init__(self) -> None:
        self.values: dict[HloValue, TensorView] = {}
        self._done: dict[tuple[str, tuple[int | None, ...], tuple[int, ...]], Name] = {}
        self.masks: dict[tuple[int, float], Name] = {}
        """The masks of random draws in a forward function, by draw and probability."""
        self.orders: dict[int, tuple[int, ...]] = {}
        """The order of axes that the masks of a draw have."""
        self.sharers: Counter[int] = Counter()
        """How many operations read a mask of each draw."""
        self._seeds: dict[int, int] = {}

    def seed(self, draw: int, builder: GraphBuilder) -> int:
        """The seed of a draw."""
        if draw not in self._seeds:
            self._seeds[draw] = builder.next_seed()
        return self._seeds[draw]

    def of(self, c: CallContext, operand: Operand) -> Value:
        """An operand as a view, or the numbers that it is."""
        match operand:
            case Known():
                return operand
            case HloValue():
                return self.values[operand]
            case Rows():
                return self._joined(c, operand)

    def _joined(self, c: CallContext, rows: Rows) -> Value:
        parts = [self.of(c, row) for row in rows.rows]
        known = [part.array for part in parts if isinstance(part, Known)]
        if len(known) == len(parts):
            return Known(np.concatenate(known, 0), rows.type.element)
        return whole(c.let("concat", [self.plain(c, part) for part in parts], 0), rows.type.shape, rows.type.element)

    def plain(self, c: CallContext, value: Value) -> Name:
        """The variable that has the elements in the order of the axes."""
        if isinstance(value, Known):
            value = constant(c, value)
        rank = len(c.shape(value.name))
        if value.axes == tuple(range(rank)) and c.shape(value.name) == value.shape:
            return value.name
        key = (value.name.text, value.axes, value.shape)
        if key not in self._done:
            self._done[key] = self._plain(c, value)
        return self._done[key]

    def _plain(self, c: CallContext, value: TensorView) -> Name:
        name = self.ordered(c, value, range(len(value.axes)))
        sizes = tuple(1 if axis is None else size for axis, size in zip(value.axes, value.shape, strict=True))
        if c.shape(name) != sizes:
            name = c.let("reshape", name, list(sizes))
        return name if sizes == value.shape else c.let("expand", name, list(value.shape))

    def squeezed(self, c: CallContext, value: TensorView) -> TensorView:
        """The view of a variable that has no other axes."""
        shape = c.shape(value.name)
        places = sorted(place for place in value.axes if place is not None)
        if len(places) == len(shape):
            return value
        key = (value.name.text, tuple(places), ())
        if key not in self._done:
            self._done[key] = c.let("reshape", value.name, [shape[place] for place in places])
        axes = tuple(None if place is None else places.index(place) for place in value.axes)
        return TensorView(self._done[key], axes, value.shape, value.element)

    def ordered(self, c: CallContext, value: TensorView, axes: Sequence[int]) -> Name:
        """The elements with the axes in an order; those along which they are repeated are left out."""
        value = self.squeezed(c, value)
        places = [place for axis in axes if (place := value.axes[axis]) is not None]
        return value.name if places == sorted(places) else c.let("transpose", value.name, places)

    def aligned(self, c: CallContext, value: TensorView, order: Sequence[int]) -> Name:
        """The elements so that they broadcast with those of a variable whose axes are in an order."""
        name = self.ordered(c, value, order)
        sizes = [1 if value.axes[axis] is None else value.shape[axis] for axis in order]
        repeated = [value.axes[axis] is None for axis in order]
        first = repeated.index(False) if False in repeated else len(order)
        return c.let("reshape", name, sizes[first:]) if True in repeated[first:] else name


def whole(name: Name, shape: Sequence[int], element: str) -> TensorView:
    """The view that a variable is as it is."""
    return TensorView(name, tuple(range(len(shape))), tuple(shape), element)


def turned(value: TensorView, order: Sequence[int]) -> TensorView:
    """A view with its axes in an order."""
    axes, shape = tuple(value.axes[axis] for axis in order), tuple(value.shape[axis] for axis in order)
    return TensorView(value.name, axes, shape, value.element)


def checked(element: str) -> str:
    """An element type that the language has. Raises `Refused`."""
    if element not in ELEMENT_TYPES:
        raise Refused(f"found a tensor of {element}, expected one of {', '.join(ELEMENT_TYPES)}")
    return element


def constant(c: CallContext, known: Known) -> TensorView:
    """Numbers of the program as a variable; axes along which they are equal are repeated."""
    a, element = known.array, checked(known.element)
    kept = [axis for axis, size in enumerate(a.shape) if size != 1 and not _equal_along(a, axis)]
    compact = a[tuple(slice(None) if axis in kept else 0 for axis in range(a.ndim))]
    name = c.script.assign(f"{c.layer}.constant", _listed(c, compact, element))
    axes = tuple(kept.index(axis) if axis in kept else None for axis in range(a.ndim))
    return TensorView(name, axes, a.shape, element)


def _equal_along(a: Array, axis: int) -> bool:
    return a.strides[axis] == 0 or (a.size <= 1 << 16 and bool((a == a.take([0], axis)).all()))


def _listed(c: CallContext, a: Array, element: str) -> Call:
    """Numbers as a call of the language."""
    if element == "bool":
        if a.ndim == 2:
            rows, columns = a.shape
            offset = int(a[0].sum()) - 1
            if np.array_equal(a, np.tri(rows, columns, offset, dtype=bool)):
                return c.script.call("causal_mask", rows, columns, **({"offset": offset} if offset else {}))
        return c.script.call(
            "cast", c.script.assign(f"{c.layer}.numbers", c.listed(a.astype("int32"), "i32")), to="bool"
        )
    if a.ndim == 1 and a.size > 1 and element in ("i32", "f32"):
        step = a[1] - a[0]
        if step and np.array_equal(a, a[0] + step * np.arange(a.size, dtype=a.dtype)):
            number = float if element in FLOATS else int
            first, each = number(a[0]), number(step)
            return c.script.call("arange", first + each * a.size, start=first, step=each, dtype=element)
    return c.listed(a, element)
