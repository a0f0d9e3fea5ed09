"""
Mappings as genomes, arrays of genes that operators change freely, and the legal mappings that they express.

A genome has, for every level: a tile of each dimension, an order of all loops, the order in which dimensions are spread
over sub-clusters, and a share in [0, 1) that selects how many sub-clusters each of them takes, or 1 where the level
spreads nothing. It has one choice of clusters. Any genome expresses a legal mapping: a tile that is larger than the
enclosing one, or that does not divide it where it must, becomes the largest that does; tiles are then cut to fit the
buffers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from npuc.compiler.analysis.mapping.exact.arrays import Floats, Ints, level_tiles
from npuc.compiler.explore.mapping.candidates import Candidates, are_working
from npuc.compiler.explore.mapping.capacity import BufferCapacity, Drawn, cut_to_fit
from npuc.compiler.explore.mapping.constrained.legal import divisors
from npuc.compiler.explore.mapping.constrained.shape import adopt, arrange, employ
from npuc.compiler.explore.mapping.space import MapSpace

Hashes = NDArray[np.uint64]


@dataclass(frozen=True)
class Genomes:
    """
    Genes of many mappings; the last index of each array is the mapping.

    `chosen` is the number of the clusters among those of the space; `tiles` [level, dimension], `orders` [level, loop]
    (the dimension of each loop, outermost first), `spread` [level, rank] (the dimensions that can be cut, those that
    are spread first), `share` [level].
    """

    chosen: Ints
    tiles: Floats
    orders: Ints
    spread: Ints
    share: Floats

    def __len__(self) -> int:
        return len(self.chosen)

    def at(self, rows: Ints) -> Genomes:
        """A copy of some of the genomes, which may come several times."""
        return Genomes(*(getattr(self, one.name).take(rows, axis=-1) for one in fields(self)))

    def joined(self, others: Genomes) -> Genomes:
        """These genomes, then the others."""
        pairs = ((getattr(self, one.name), getattr(others, one.name)) for one in fields(self))
        return Genomes(*(np.concatenate(pair, axis=-1) for pair in pairs))


@dataclass(frozen=True)
class Expression:
    """The mappings of a space that genomes express; `capacity` None: whatever fits the buffers or not."""

    space: MapSpace
    capacity: BufferCapacity | None

    @cached_property
    def _steps(self) -> list[_DivisorSteps]:
        return [_DivisorSteps(size) for _, size in self.space.dims] if self.space.divisors else []

    def candidates(self, genomes: Genomes) -> Candidates:
        """
        The mappings that genomes express.

        The genomes' tiles become those of the mappings, so that what operators do next begins from what was scored.
        """
        found, space = self._express(genomes), self.space
        rows = np.flatnonzero(~are_working(space, found))
        if len(rows):
            adopt(space, rows, genomes.chosen, genomes.tiles, genomes.spread, genomes.share)
            found = self._express(genomes)
        return found

    def _express(self, genomes: Genomes) -> Candidates:
        space, count = self.space, len(genomes)
        fanouts = np.array(space.fanouts)[genomes.chosen].T
        whole = np.repeat(np.array([[float(size)] for _, size in space.dims]), count, axis=1)
        if space.constraints is not None:
            arrange(space, genomes.orders, genomes.spread, genomes.share)
        widths = [self.widths(fanouts[n], genomes.spread[n], genomes.share[n], n) for n in range(space.levels)]
        tiles, orders = list(genomes.tiles), list(genomes.orders)
        self.repair(tiles, whole)
        if space.constraints is not None and space.constraints.needs_work:
            employ(space, tiles, widths, whole)
        least = np.full(whole.shape, np.inf)
        least[list(space.cut)] = 1.0
        if self.fit(Drawn(tiles, orders, widths[0], whole, least)) and space.constraints is not None:
            self.repair(tiles, whole)
        levels = tuple(
            level_tiles(np.minimum(tile * width, given), tile.copy(), order)
            for given, tile, width, order in zip([whole, *tiles], tiles, widths, orders, strict=False)
        )
        return Candidates(fanouts, levels)

    def fit(self, drawn: Drawn) -> bool:
        """Cut tiles in place until they fit into the buffers; whether these are limited."""
        if self.capacity is not None:
            cut_to_fit(self.capacity, drawn)
        return self.capacity is not None

    def repair(self, tiles: list[Floats], whole: Floats) -> None:
        """Make tiles legal in place: at most the enclosing tile, and a divisor of it where it must be."""
        given = whole
        for level, tile in enumerate(tiles) if self.space.legal else ():
            for at, legal in enumerate(self.space.legal):
                tile[at] = legal.repaired(level, given[at], tile[at])
            given = tile
        for tile in () if self.space.legal else tiles:
            fixed = np.minimum(tile, given)
            for at in range(len(whole)) if self._steps else ():
                fixed[at] = self._steps[at].below(given[at], fixed[at])
            rigid = [at for at in range(len(whole)) if at not in self.space.cut]
            fixed[rigid] = whole[rigid]
            tile[...] = fixed
            given = tile

    def widths(self, fanout: Ints, spread: Ints, share: Floats, level: int = 0) -> Floats:
        """How many sub-clusters share each dimension, [dimension, mapping]; 1 for those that are not spread."""
        space = self.space
        widths = np.ones((len(space.dims), len(fanout)))
        for size in np.unique(fanout) if space.cut else ():
            choices = space.widths(level, int(size))
            if not choices:
                continue
            rows = np.flatnonzero(fanout == size)
            most = max(map(len, choices))
            table = np.array([[*one, *(1,) * (most - len(one))] for one in (*choices, ())], float)
            picked = table[(share[rows] * len(choices)).astype(int)]
            for place in range(most):
                widths[spread[place, rows], rows] = picked[:, place]
        return widths


class _DivisorSteps:
    """For each two divisors of a number, the largest divisor of the one that is at most the other."""

    def __init__(self, number: int):
        self._known = np.array(divisors(number), float)
        divides = self._known[:, None] % self._known[None, :] == 0  # [given, tile]
        best = np.where(divides, self._known[None, :], 0.0)
        self._table = np.maximum.accumulate(best, axis=1)

    def below(self, given: Floats, tile: Floats) -> Floats:
        """The largest divisor of each given divisor that is at most a tile of 1 or more."""
        row = np.searchsorted(self._known, given)
        column = np.searchsorted(self._known, tile, side="right") - 1
        return self._table[row, column]


def mapping_hashes(candidates: Candidates, dims: tuple[tuple[str, int], ...]) -> Hashes:
    """A number for each mapping, equal for those that differ only in the places of loops with a single step."""
    rows: list[NDArray[np.generic]] = [candidates.fanouts]
    given = np.array([[float(size)] for _, size in dims])
    for level in candidates.levels:
        moving = np.take_along_axis(level.temporal < given, level.order, axis=0)
        rank = np.zeros(level.order.shape, np.int64)
        np.put_along_axis(rank, level.order, np.cumsum(moving, axis=0) * moving, axis=0)
        rows += [level.temporal, level.spatial, rank]
        given = level.spatial
    return hashes_of(rows)


def hashes_of(rows: Sequence[NDArray[np.generic]]) -> Hashes:
    """A number for each column of arrays [row, column] of integers, whatever their type."""
    values = np.concatenate([one.astype(np.uint64) for one in rows])
    mixed = np.zeros(values.shape[1], np.uint64)
    for row in values:  # multiplication wraps around
        mixed = (mixed ^ row) * np.uint64(0x9E3779B97F4A7C15)
        mixed = mixed ^ (mixed >> np.uint64(29))
    return mixed
