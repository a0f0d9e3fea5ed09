"""
Hardware flexion and workload flexion of a machine.

For each axis C are all choices that the hardware allows, A those that the machine supports, and W those that a
workload can use. Hardware flexion is |A| / |C|, workload flexion |A and W| / |C and W|. Over several axes it is the
product, but for parallel dimensions and shapes, which workloads use together: those are counted in pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from npuc.compiler.analysis.mapping.flexibility.axes import Supports, class_of
from npuc.compiler.analysis.mapping.flexibility.choices import (
    Order,
    Pair,
    Shape,
    is_usable,
    order_count,
    pairs_of,
    shapes_of,
    size_of,
    stationary_orders,
    usable_orders,
)
from npuc.compiler.analysis.mapping.flexibility.tiles import Estimate, TileBuffer, TileCounts

ONE = Estimate(1.0)
Count = Callable[[TileBuffer, dict[str, int]], TileCounts]
"""The number of tiles that a buffer holds, of up to these sizes."""


@dataclass(frozen=True)
class OwnChoice:
    """What a machine's dataflow chooses for a contraction: a step's tile, an order, a pair, and a shape."""

    tile: tuple[tuple[str, int], ...]
    order: Order
    pair: Pair
    shape: Shape


@dataclass(frozen=True)
class AxisChoices:
    """
    The sets C and A of a machine for a kind of contraction, whose dimensions `buffer` has.

    `supports` says for each axis how much of C is in A: the dataflow's own choice, some, or all. Some tiles are those
    that fit in equal parts of the buffer for each tensor; some orders keep one tensor each; some shapes have rows and
    columns that are multiples of `block`. Of parallel dimensions there is no such part.
    """

    buffer: TileBuffer
    elements: int
    supports: Supports
    own: OwnChoice
    block: int = 1

    @property
    def flexible(self) -> str:
        """The class, four bits."""
        return class_of(self.supports)

    @cached_property
    def orders(self) -> tuple[Order, ...]:
        """The orders that the machine supports, where those are not all."""
        if self.supports[1] == "fixed":
            return (self.own.order,)
        return stationary_orders(self.buffer.works[0], self.own.order)

    @cached_property
    def all_pairs(self) -> tuple[Pair, ...]:
        """All pairs of dimensions, and the dataflow's own where that is none of these."""
        return tuple(dict.fromkeys((*pairs_of(self.buffer.names), self.own.pair)))

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """The pairs that the machine supports."""
        return (self.own.pair,) if self.supports[2] == "fixed" else self.all_pairs

    @cached_property
    def all_shapes(self) -> tuple[Shape, ...]:
        """All shapes, and the dataflow's own where it leaves elements idle."""
        return tuple(dict.fromkeys((*shapes_of(self.elements), self.own.shape)))

    @cached_property
    def shapes(self) -> tuple[Shape, ...]:
        """The shapes that the machine supports."""
        if self.supports[3] == "any":
            return self.all_shapes
        some = shapes_of(self.elements, self.block) if self.supports[3] == "some" else ()
        return tuple(dict.fromkeys((*some, self.own.shape)))


@dataclass(frozen=True)
class AxisFlexion:
    """Of an axis the number of all choices and of those supported, and their share; None where there is no choice."""

    every: Estimate
    supported: Estimate
    share: Estimate | None


@dataclass(frozen=True)
class Flexion:
    """
    The flexion of each axis, T, O, P, S, and the share of all choices on all axes together that are supported.

    The share is None where there is no choice at all, as for a contraction that no shape of the array has work for.
    """

    axes: tuple[AxisFlexion, AxisFlexion, AxisFlexion, AxisFlexion]
    together: Estimate | None

    @property
    def shares(self) -> tuple[Estimate | None, ...]:
        """The share of each axis, and of all together."""
        return (*(axis.share for axis in self.axes), self.together)


def hardware_flexion(choices: AxisChoices, largest: dict[str, int], count: Count) -> Flexion:
    """
    The share of all choices that a machine supports, for the largest sizes of a kind of contraction.

    A dimension that has a single value in all of that kind is no loop, and is not spread.
    """
    tiles, order = _tiles(choices, largest, count), _orders(choices, largest)
    pairs, all_pairs = _pairs(choices, largest)
    parallel = _of(len(all_pairs), len(pairs))
    shape = _of(len(choices.all_shapes), len(choices.shapes))
    return Flexion((tiles, order, parallel, shape), _product(tiles.share, order.share, parallel.share, shape.share))


def workload_flexion(choices: AxisChoices, sizes: dict[str, int], count: Count) -> Flexion:
    """
    The share of the choices that a contraction of these sizes can use that a machine supports.

    A contraction can use tiles no larger than itself, orders of the loops with several steps, dimensions with several
    values, and shapes whose rows and columns such dimensions have work for.
    """
    tiles, order = _tiles(choices, sizes, count), _orders(choices, sizes)
    pairs, all_pairs = _pairs(choices, sizes)
    shapes, all_shapes = (
        sum(any(is_usable(pair, shape, sizes) for pair in all_pairs) for shape in some)
        for some in (choices.shapes, choices.all_shapes)
    )
    both, all_both = (
        sum(is_usable(pair, shape, sizes) for pair in some for shape in forms)
        for some, forms in ((pairs, choices.shapes), (all_pairs, choices.all_shapes))
    )
    axes = (tiles, order, _of(len(all_pairs), len(pairs)), _of(all_shapes, shapes))
    return Flexion(axes, _product(tiles.share, order.share, _of(all_both, both).share))


def _orders(choices: AxisChoices, sizes: dict[str, int]) -> AxisFlexion:
    """The orders of the loops that have several steps."""
    every = order_count(sum(size > 1 for size in sizes.values()))
    return _of(every, every if choices.supports[1] == "any" else usable_orders(choices.orders, sizes))


def _pairs(choices: AxisChoices, sizes: dict[str, int]) -> tuple[list[Pair], list[Pair]]:
    """The pairs of dimensions with several values that the machine supports, and all of them."""
    own, every = ([one for one in some if _has_several(one, sizes)] for some in (choices.pairs, choices.all_pairs))
    return own, every


def _tiles(choices: AxisChoices, sizes: dict[str, int], count: Count) -> AxisFlexion:
    counts = count(choices.buffer, sizes)
    every = counts.soft
    if choices.supports[0] == "any" or not every.value:
        return AxisFlexion(every, every, ONE if every.value else None)
    if choices.supports[0] == "some":
        return AxisFlexion(every, counts.hard.times(every), counts.hard)
    own = dict(choices.own.tile)
    fits = all(own[name] <= size for name, size in sizes.items()) and choices.buffer.holds(own)
    return AxisFlexion(every, Estimate(float(fits)), ONE.over(every) if fits else Estimate(0.0))


def _has_several(pair: Pair, sizes: dict[str, int]) -> bool:
    return all(not dims or size_of(dims, sizes) > 1 for dims in pair)


def _of(every: int, supported: int) -> AxisFlexion:
    share = Estimate(supported / every) if every else None
    return AxisFlexion(Estimate(float(every)), Estimate(float(supported)), share)


def _product(*parts: Estimate | None) -> Estimate | None:
    found = ONE
    for part in parts:
        if part is None:
            return None
        found = found.times(part)
    return found
