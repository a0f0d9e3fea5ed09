"""
Hardware flexion and workload flexion of a machine.

For each axis C are all choices that the hardware allows, A those that the machine supports, and W those that a
workload can use. Hardware flexion is |A| / |C|, workload flexion |A and W| / |C and W|. Over several axes it is the
product, but for parallel dimensions and shapes, which workloads use together: those are counted in pairs. Constraints
of mappings leave some choices of A; C and W stay what they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product
from typing import Protocol

from npuc.compiler.analysis.mapping.flexibility.axes import Supports, class_of
from npuc.compiler.analysis.mapping.flexibility.choices import (
    Order,
    Pair,
    Shape,
    is_usable,
    keeps,
    kept_orders,
    order_count,
    pairs_of,
    shapes_of,
    size_of,
    stationary_orders,
    usable_orders,
)
from npuc.compiler.analysis.mapping.flexibility.tiles import Among, Estimate, TileBuffer, TileCounts

ONE, NONE = Estimate(1.0), Estimate(0.0)


class Count(Protocol):
    """The number of tiles that a buffer holds, of up to these sizes, or among some sizes."""

    def __call__(self, buffer: TileBuffer, sizes: dict[str, int], *, among: Among | None = None) -> TileCounts:
        """Count them."""
        ...


@dataclass(frozen=True)
class Allowed:
    """
    What constraints leave on each axis for a contraction of some sizes.

    `tiles` are the tiles of a step, products of sizes that have no tile in common (None: all); `before` pairs of loops,
    the first outside of the second, transitively closed; `places` the pairs of parallel dimensions with the shapes on
    which they are allowed.
    """

    tiles: tuple[Among, ...] | None
    before: tuple[tuple[str, str], ...]
    places: frozenset[tuple[Pair, Shape]]


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


def hardware_flexion(
    choices: AxisChoices, largest: dict[str, int], count: Count, allowed: Allowed | None = None
) -> Flexion:
    """
    The share of all choices that a machine supports, for the largest sizes of a kind of contraction.

    A dimension that has a single value in all of that kind is no loop, and is not spread.
    """
    tiles, order = _tiles(choices, largest, count, allowed), _orders(choices, largest, allowed)
    pairs, all_pairs = _pairs(choices, largest)
    shapes, all_shapes = choices.shapes, choices.all_shapes
    if allowed is None:
        parallel, shape = _of(len(all_pairs), len(pairs)), _of(len(all_shapes), len(shapes))
        return Flexion((tiles, order, parallel, shape), _product(tiles.share, order.share, parallel.share, shape.share))
    parallel = _of(len(all_pairs), _some(pairs, all_shapes, allowed.places))
    shape = _of(len(all_shapes), _some(shapes, all_pairs, allowed.places, swapped=True))
    both = _of(len(all_pairs) * len(all_shapes), sum(one in allowed.places for one in product(pairs, shapes)))
    return Flexion((tiles, order, parallel, shape), _product(tiles.share, order.share, both.share))


def workload_flexion(
    choices: AxisChoices, sizes: dict[str, int], count: Count, allowed: Allowed | None = None
) -> Flexion:
    """
    The share of the choices that a contraction of these sizes can use that a machine supports.

    A contraction can use tiles no larger than itself, orders of the loops with several steps, dimensions with several
    values, and shapes whose rows and columns such dimensions have work for.
    """
    tiles, order = _tiles(choices, sizes, count, allowed), _orders(choices, sizes, allowed)
    pairs, all_pairs = _pairs(choices, sizes)
    usable = {one for one in product(all_pairs, choices.all_shapes) if is_usable(*one, sizes)}
    fine = usable if allowed is None else usable & allowed.places
    parallel = len(pairs) if allowed is None else _some(pairs, choices.all_shapes, allowed.places)
    shapes = _some(choices.shapes, all_pairs, fine, swapped=True)
    all_shapes = _some(choices.all_shapes, all_pairs, usable, swapped=True)
    both = sum(one in fine for one in product(pairs, choices.shapes))
    axes = (tiles, order, _of(len(all_pairs), parallel), _of(all_shapes, shapes))
    return Flexion(axes, _product(tiles.share, order.share, _of(len(usable), both).share))


def _some(
    some: Sequence[Pair] | Sequence[Shape],
    others: Sequence[Pair] | Sequence[Shape],
    fine: AbstractSet[tuple[Pair, Shape]],
    *,
    swapped: bool = False,
) -> int:
    """How many pairs are fine with one of the shapes; with `swapped` how many shapes with one of the pairs."""
    return sum(any(((b, a) if swapped else (a, b)) in fine for b in others) for a in some)


def _orders(choices: AxisChoices, sizes: dict[str, int], allowed: Allowed | None) -> AxisFlexion:
    """The orders of the loops that have several steps."""
    dims, before = [name for name, size in sizes.items() if size > 1], () if allowed is None else allowed.before
    if choices.supports[1] == "any":
        return _of(order_count(len(dims)), order_count(len(dims)) if not before else kept_orders(dims, before))
    own = tuple(order for order in choices.orders if keeps(order, before, sizes))
    return _of(order_count(len(dims)), usable_orders(own, sizes))


def _pairs(choices: AxisChoices, sizes: dict[str, int]) -> tuple[list[Pair], list[Pair]]:
    """The pairs of dimensions with several values that the machine supports, and all of them."""
    own, every = ([one for one in some if _has_several(one, sizes)] for some in (choices.pairs, choices.all_pairs))
    return own, every


def _tiles(choices: AxisChoices, sizes: dict[str, int], count: Count, allowed: Allowed | None) -> AxisFlexion:
    counts = count(choices.buffer, sizes)
    every, kind, among = counts.soft, choices.supports[0], None if allowed is None else allowed.tiles
    if not every.value:
        return AxisFlexion(every, every, None)
    if kind == "fixed":
        own = dict(choices.own.tile)
        fits = all(own[name] <= size for name, size in sizes.items()) and choices.buffer.holds(own)
        fits &= among is None or any(
            all(own[name] in some for name, some in zip(choices.buffer.names, part, strict=True)) for part in among
        )
        return AxisFlexion(every, Estimate(float(fits)), ONE.over(every) if fits else NONE)
    if among is None:
        return AxisFlexion(every, every, ONE) if kind == "any" else AxisFlexion(every, counts.in_parts, counts.hard)
    parts = [count(choices.buffer, sizes, among=part) for part in among]
    found = reduce(Estimate.plus, (part.soft if kind == "any" else part.in_parts for part in parts), NONE)
    return AxisFlexion(every, found, found.over(every))


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
