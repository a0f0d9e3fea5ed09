"""
The tiles that constraints leave, level by level, so that every tile that is chosen can be completed inside.

A tile is legal where its own level allows it and the levels inside have a legal tile of it. Where tiles are any
integers these are ranges; where they are divisors, tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from npuc.compiler.analysis.mapping.constraints.limits import WHOLE, MapConstraints, TileLimit
from npuc.compiler.analysis.mapping.exact.arrays import Floats, Ints


def divisors(number: int) -> tuple[int, ...]:
    """The divisors of a number, ascending."""
    small = [d for d in range(1, int(number**0.5) + 1) if number % d == 0]
    return tuple(sorted({*small, *(number // d for d in small)}))


@dataclass(frozen=True)
class LegalTiles:
    """
    The legal tiles of a dimension of a size, by level; `musts` are the levels that must spread it, and `whole` says
    that it is never cut.
    """

    size: int
    limits: tuple[TileLimit, ...]
    musts: tuple[bool, ...]
    divides: bool

    @staticmethod
    def of(constraints: MapConstraints, at: int, size: int, *, divides: bool, whole: bool) -> LegalTiles:
        """Those of a dimension under constraints."""
        limits: list[TileLimit] = []
        for level in constraints.levels:
            own = level.limit(at) or TileLimit()
            limits.append(own.joined(TileLimit(least=WHOLE)) if whole else own)
        return LegalTiles(size, tuple(limits), tuple(at in level.must for level in constraints.levels), divides)

    @property
    def is_possible(self) -> bool:
        """Whether there is any way to cut the dimension."""
        return bool(self.tiles(0, self.size))

    def tiles(self, level: int, given: int) -> Sequence[int]:
        """The legal tiles of a level that is given so much of the dimension, ascending."""
        if self.divides:
            return self._tables[level].get(given, ())
        least, most = (int(one[0]) for one in self._range(level, np.array([float(given)])))
        return range(least, most + 1)

    def repaired(self, level: int, given: Floats, tiles: Floats) -> Floats:
        """For each tile the largest legal one that is no larger, else the smallest legal one."""
        if not self.divides:
            least, most = self._range(level, given)
            return np.minimum(np.maximum(tiles, least), most)
        rows = np.searchsorted(self._known, given)
        columns: Ints = np.searchsorted(self._known, tiles, side="right") - 1
        return self._nearest[level][rows, np.maximum(columns, 0)]

    def least(self, level: int, given: Floats) -> Floats:
        """The smallest legal tile of each."""
        return self.repaired(level, given, np.ones_like(given))

    # Tables of divisors.

    @cached_property
    def _known(self) -> Floats:
        return np.array(divisors(self.size), float)

    @cached_property
    def _tables(self) -> list[dict[int, tuple[int, ...]]]:
        """Of each level the legal tiles of what it may be given."""
        found: list[dict[int, tuple[int, ...]]] = []
        inside: set[int] | None = None  # what the level inside can be given; None: anything
        for limit, must in zip(reversed(self.limits), reversed(self.musts), strict=True):
            table: dict[int, tuple[int, ...]] = {}
            for given in divisors(self.size):
                own = [
                    t for t in _allowed(limit, given) if (inside is None or t in inside) and not (must and t == given)
                ]
                if own:
                    table[given] = tuple(own)
            found.insert(0, table)
            inside = set(table)
        return found

    @cached_property
    def _nearest(self) -> list[Floats]:
        """Of each level [given, tile] the nearest legal tile; what cannot be given has itself."""
        known = divisors(self.size)
        found: list[Floats] = []
        for table in self._tables:
            rows = np.repeat(self._known[:, None], len(known), axis=1)
            for row, given in enumerate(known):
                own = table.get(given)
                if own is not None:
                    places = np.searchsorted(np.array(own), self._known, side="right") - 1
                    rows[row] = np.array(own, float)[np.maximum(places, 0)]
            found.append(rows)
        return found

    # Ranges of integers.

    def _range(self, level: int, given: Floats) -> tuple[Floats, Floats]:
        """The least and the largest legal tile of each; the former is larger where there is none."""
        own, must = _simple(self.limits[level]), float(self.musts[level])
        first, last = self._givens[level + 1]
        least = np.maximum(first, np.minimum(float(own.least), given))
        return least, np.minimum(np.minimum(float(own.most), last), given - must)

    @cached_property
    def _givens(self) -> list[tuple[float, float]]:
        """The least and the most that each level, and one inside of all, can be given."""
        found = [(1.0, float(WHOLE))]
        for limit, must in zip(reversed(self.limits), reversed(self.musts), strict=True):
            own, (first, last) = _simple(limit), found[0]
            most = min(float(own.most), last)
            if first > most or (must and own.least > most):
                found.insert(0, (float(WHOLE), 0.0))
                continue
            least = max(first + must, own.least + 1.0 if must else 1.0)
            found.insert(0, (least, float(WHOLE) if own.least <= most else most))
        return found


def _simple(limit: TileLimit) -> TileLimit:
    """The same limit of integers without fixed sizes."""
    return TileLimit((), max(limit.least, *limit.fixed, 1), min(limit.most, *limit.fixed, WHOLE))


def _allowed(limit: TileLimit, given: int) -> list[int]:
    """The divisors of what is given that a limit allows."""
    own = [t for t in divisors(given) if min(limit.least, given) <= t <= limit.most]
    for size in limit.fixed:
        wanted = max(t for t in divisors(given) if t <= size)
        own = [t for t in own if t == wanted]
    return own


def arranged(orders: Ints, before: tuple[tuple[int, int], ...]) -> Ints:
    """
    Orders of loops [loop, mapping] that have the first of each pair outside of the second, the others kept.

    Outermost comes, again and again, the first loop that no other one must be outside of.
    """
    if not before:
        return orders
    count = len(orders)
    outside = np.zeros((count, count), bool)
    for outer, inner in before:
        outside[inner, outer] = True
    place = np.empty_like(orders)
    np.put_along_axis(place, orders, np.arange(count)[:, None], axis=0)
    found = np.empty_like(orders)
    columns: Ints = np.arange(orders.shape[1], dtype=np.int64)
    left = np.ones(orders.shape, bool)
    for row in range(count):
        free = left & ~(outside @ left)
        found[row] = np.where(free, place, count).argmin(axis=0)
        left[found[row], columns] = False
    return found
