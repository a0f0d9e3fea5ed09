"""
Spaces that constraints leave, whether they have any mapping, and which constraints cannot be met together.

All is decided before a search begins. Of demands that exclude each other a smallest set is named: without any of them
there would be mappings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from math import prod
from typing import TypeVar

import numpy as np

from npuc.compiler.analysis.mapping.constraints.check import is_working
from npuc.compiler.analysis.mapping.constraints.limits import MapConstraints
from npuc.compiler.analysis.mapping.constraints.resolve import Dimensions, constraints_of
from npuc.compiler.analysis.mapping.constraints.rules import Atom
from npuc.compiler.explore.mapping.capacity import BufferCapacity
from npuc.compiler.explore.mapping.space import MapSpace, Spread, widths_of

T = TypeVar("T")
Chain = tuple[int, ...]
"""The tile of a dimension at each level."""
Parts = tuple[int, ...]
"""Of each level how many sub-clusters get some of a dimension."""


def constrained(space: MapSpace, constraints: MapConstraints) -> MapSpace:
    """The part of a space that meets constraints; it may have no clusters left, or no tiles."""
    fanouts = tuple(one for one in space.fanouts if allows_clusters(constraints, one, space.parallel))
    return replace(space, fanouts=fanouts, divisors=space.divisors or constraints.divisors, constraints=constraints)


def allows_clusters(constraints: MapConstraints, fanouts: Sequence[int], parallel: int) -> bool:
    """Whether clusters have the sizes that constraints demand, and room for what must be spread."""
    return all(
        all(one == fanout for one in own.fanout)
        and (not own.must or any(len(widths) >= len(own.must) for widths in widths_of(fanout, parallel)))
        for own, fanout in zip(constraints.levels, fanouts, strict=True)
    )


def on_clusters(space: MapSpace, fanouts: tuple[int, ...]) -> MapSpace:
    """A space on a machine with such clusters, of whose elements a share must work; constraints may leave it empty."""
    own = space.constraints
    own = None if own is None else replace(own, elements=prod(fanouts))
    return replace(space, fanouts=(fanouts,), constraints=own)


def runs_on(space: MapSpace, fanouts: tuple[int, ...]) -> bool:
    """Whether the constraints of a space, which has mappings on some clusters, leave any on these."""
    own = space.constraints
    if own is None:
        return True
    if not allows_clusters(own, fanouts, space.parallel):
        return False
    return not own.needs_work or bool(witnesses(on_clusters(space, fanouts), 1))


def is_possible(space: MapSpace, capacity: BufferCapacity) -> bool:
    """Whether a constrained space has a mapping, and the buffers can hold its smallest tiles."""
    constraints = space.constraints
    if constraints is None:
        return True
    if not space.fanouts or any(level.is_contradictory for level in constraints.levels):
        return False
    if not all(legal.is_possible for legal in space.legal):
        return False
    return _fits(space, capacity) and (not constraints.needs_work or bool(witnesses(space, 1)))


def _fits(space: MapSpace, capacity: BufferCapacity) -> bool:
    """Whether the buffers can hold the smallest tiles that constraints leave; True says no more."""
    needs = zip((capacity.l1, capacity.l2), least_needs(space, capacity), strict=True)
    return all(size is None or need <= size for size, need in needs)


def least_needs(space: MapSpace, capacity: BufferCapacity) -> tuple[float, float]:
    """The elements of L1 and L2 without which no mapping of a constrained space fits."""
    outer, inner = list[float](), list[float]()
    for at, (_, size) in enumerate(space.dims):
        reached = {size}
        for level in range(space.levels):
            least = [_least(space, level, at, given) for given in reached]
            if level == 0:
                wide = 2 if at in space.level(0).must else 1
                outer.append(float(min(min(least) * wide, size)))
            reached = (
                set(least)
                if not space.divisors
                else {tile for given in reached for tile in space.tiles(level, at, given)}
            )
        inner.append(float(min(reached)))
    l1 = capacity.need(np.array(inner)[:, None], capacity.l1_sum_size)
    return float(l1[0]), float(capacity.need(np.array(outer)[:, None], capacity.sum_size)[0])


def _least(space: MapSpace, level: int, at: int, given: int) -> int:
    return int(space.legal[at].least(level, np.array([float(given)]))[0])


@dataclass(frozen=True)
class Witness:
    """Clusters (by number) and spread dimensions that give enough elements work, with the tiles of each dimension."""

    number: int
    spreads: tuple[Spread, ...]
    chains: tuple[Chain, ...]


@lru_cache(maxsize=256)
def witnesses(space: MapSpace, most: int) -> tuple[Witness, ...]:
    """Choices of clusters and spread dimensions that can give enough elements work: so many, all if there are fewer."""
    found: list[Witness] = []
    assert space.constraints is not None
    for number, fanouts in enumerate(space.fanouts):
        for spreads in product(*map(space.spreads, range(space.levels), fanouts)):
            widths = tuple(tuple(dict(spread).values()) for spread in spreads)
            if not is_working(space.constraints, fanouts, [prod(one) for one in widths]):
                continue
            chains = _working(space, fanouts, spreads)
            if chains is not None:
                found.append(Witness(number, spreads, chains))
            if len(found) == most:
                return tuple(found)
    return tuple(found)


def _working(space: MapSpace, fanouts: tuple[int, ...], spreads: tuple[Spread, ...]) -> tuple[Chain, ...] | None:
    """Tiles of all dimensions with which enough elements work."""
    assert space.constraints is not None
    known: dict[Parts, tuple[Chain, ...]] = {(1,) * space.levels: ()}
    for at in range(len(space.dims)):
        own = dict(_chains(space, at, tuple(dict(spread).get(at, 1) for spread in spreads)))
        more: dict[Parts, tuple[Chain, ...]] = {}
        for (parts, before), (new, chain) in product(known.items(), own.items()):
            more.setdefault(tuple(a * b for a, b in zip(parts, new, strict=True)), (*before, chain))
        known = _largest(more)
    return next((chains for parts, chains in known.items() if is_working(space.constraints, fanouts, parts)), None)


def _chains(space: MapSpace, at: int, widths: tuple[int, ...]) -> Iterator[tuple[Parts, Chain]]:
    """How a dimension can be cut so that no other way has more parts at every level."""
    known: dict[tuple[int, int], dict[Parts, Chain]] = {}

    def inside(level: int, given: int) -> dict[Parts, Chain]:
        if level == len(widths):
            return {(): ()}
        if (level, given) not in known:
            found: dict[Parts, Chain] = {}
            for tile in _candidates(space.tiles(level, at, given), given, widths[level]):
                parts = -(-min(tile * widths[level], given) // tile)
                for more, chain in inside(level + 1, tile).items():
                    found.setdefault((parts, *more), (tile, *chain))
            known[level, given] = _largest(found)
        return known[level, given]

    yield from inside(0, space.dims[at][1]).items()


def _candidates(tiles: Sequence[int], given: int, width: int) -> Sequence[int]:
    """Of legal tiles those that are the largest for as many parts: the levels inside have most of them."""
    if not tiles or not isinstance(tiles, range):
        return tiles
    most = [min(-(-given // (parts - 1)) - 1, tiles[-1]) for parts in range(2, width + 1)]
    return sorted({tiles[-1], tiles[0], *(tile for tile in most if tile >= tiles[0])}, reverse=True)


def _largest(found: Mapping[Parts, T]) -> dict[Parts, T]:
    """Those that no other one has at least as many parts at every level of."""
    kept: dict[Parts, T] = {}
    for parts in sorted(found, key=lambda one: (-sum(one), one)):
        if not any(all(a >= b for a, b in zip(one, parts, strict=True)) for one in kept):
            kept[parts] = found[parts]
    return kept


def conflict(
    atoms: Sequence[Atom], dims: Dimensions, space: MapSpace, capacity: BufferCapacity, elements: int, *, divisors: bool
) -> tuple[Atom, ...]:
    """
    A smallest set of demands that no mapping of an unconstrained space meets together; empty where all can be met.

    `elements` are those of which a share must work. Without any of its members there are mappings. It may be empty for
    demands that cannot be met where not even the space without them has a mapping.
    """

    def possible(some: Sequence[Atom]) -> bool:
        own = constraints_of(some, dims, space.levels, elements, divisors=divisors)
        return is_possible(constrained(space, own), capacity)

    return smallest_conflict(atoms, possible)


def smallest_conflict(atoms: Sequence[Atom], possible: Callable[[Sequence[Atom]], bool]) -> tuple[Atom, ...]:
    """A set of demands that are not possible together, but without any of them; empty where all or none are."""
    if possible(atoms) or not possible(()):
        return ()
    kept = list(atoms)
    for atom in atoms:
        without = [one for one in kept if one is not atom]
        if not possible(without):
            kept = without
    return tuple(kept)


def elements_of(space: MapSpace) -> int:
    """The processing elements of the machine whose clusters a space has."""
    return max(prod(fanouts) for fanouts in space.fanouts)
