"""
The mapper `random`: mappings drawn from a space; a seed gives the same ones however many are taken at a time.

The clusters are drawn uniformly among those of the space; at each level the spread dimensions, uniformly; tiles
uniformly among the divisors of the enclosing tile, or log-uniformly among all integers; orders uniformly. Tiles that do
not fit into the buffers are cut smaller.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from npuc.compiler.analysis.mapping.exact.arrays import Floats, Ints
from npuc.compiler.explore.mapping.candidates import Candidates, working
from npuc.compiler.explore.mapping.capacity import BufferCapacity
from npuc.compiler.explore.mapping.constrained.legal import divisors
from npuc.compiler.explore.mapping.genomes import Expression, Genomes
from npuc.compiler.explore.mapping.mapper import Algorithm, MapRequest
from npuc.compiler.explore.mapping.space import MapSpace
from npuc.compiler.explore.seeds import generator

BLOCK = 2048
"""The number of candidates drawn at once, whatever the number requested."""


def content_of(space: MapSpace) -> tuple[object, ...]:
    """What distinguishes a space from others, for `generator`."""
    return space.content


class RandomMapper:
    """Endless candidates of a space; with `capacity` their tiles are cut to fit into the buffers."""

    def __init__(self, space: MapSpace, seed: int, capacity: BufferCapacity | None = None):
        self.space = space
        self._source = RandomGenomes(space, generator(seed, *content_of(space)))
        self._expression = Expression(space, capacity)
        self._block: Candidates = self._draw()
        self._next = 0

    def propose(self, most: int) -> Candidates:
        """The next candidates."""
        if self._next == len(self._block):
            self._block, self._next = self._draw(), 0
        start = self._next
        self._next = min(len(self._block), start + most)
        return self._block.part(slice(start, self._next))

    def tell(self, costs: Floats) -> None:
        """Costs change nothing here."""

    def _draw(self) -> Candidates:
        """As many candidates as are drawn at once, without those that leave more elements idle than is allowed."""
        found = working(self.space, self._expression.candidates(self._source.draw(BLOCK)))
        if not len(found):  # where tiles that fit give too few elements work, some that do not fit
            found = working(self.space, Expression(self.space, None).candidates(self._source.draw(BLOCK)))
        return found


class RandomGenomes:
    """A source of random genomes of a space: clusters, tiles, orders, and what is spread."""

    def __init__(self, space: MapSpace, random: Generator):
        self.space, self._random = space, random
        self._tables = [_DivisorTable(size) for _, size in space.dims] if space.divisors else []

    def draw(self, count: int) -> Genomes:
        """So many genomes. Each tile is drawn among those that its enclosing one allows."""
        space, random = self.space, self._random
        chosen = random.integers(len(space.fanouts), size=count)
        whole = np.repeat(np.array([[float(size)] for _, size in space.dims]), count, axis=1)
        tiles: list[Floats] = []
        spread: list[Ints] = []
        shares: list[Floats] = []
        orders: list[Ints] = []
        for _ in range(space.levels):
            given = tiles[-1] if tiles else whole
            tiles.append(given.copy())
            for at in space.cut:
                tiles[-1][at] = self.tile(at, given[at])
            order, share = self.spread(count)
            spread.append(order)
            shares.append(share)
            orders.append(random.random(given.shape).argsort(axis=0))
        return Genomes(chosen, np.array(tiles), np.array(orders), np.array(spread), np.array(shares))

    def tile(self, at: int, given: Floats) -> Floats:
        """A tile of each given one of a dimension."""
        drawn = self._random.random(len(given))
        if self._tables:
            return self._tables[at].pick(given, drawn)
        return np.clip(np.floor(np.exp(drawn * np.log(given + 1))), 1, given)

    def next_tile(self, dims: Ints, tiles: Floats, *, up: bool) -> Floats:
        """The next larger or smaller tile of dimensions, or the same where there is none."""
        found = tiles.copy()
        for at in self.space.cut:
            rows = np.flatnonzero(dims == at)
            if self._tables:
                found[rows] = self._tables[at].next(tiles[rows], up=up)
            else:
                size = float(self.space.dims[at][1])
                found[rows] = np.clip(np.floor(tiles[rows] * (2 if up else 0.5)), 1, size)
        return found

    def spread(self, count: int) -> tuple[Ints, Floats]:
        """In which order a level spreads dimensions, [rank, mapping], and the share that selects their widths."""
        cut = np.array(self.space.cut, np.int64)
        if not len(cut):
            return np.zeros((0, count), np.int64), np.zeros(count)
        return cut[self._random.random((len(cut), count)).argsort(axis=0)], self._random.random(count)


class _DivisorTable:
    """The divisors of each divisor of a number."""

    def __init__(self, number: int):
        self._known = np.array(divisors(number), float)
        inner = [divisors(int(one)) for one in self._known]
        self._count = np.array([len(one) for one in inner])
        self._inner = np.ones((len(inner), len(inner)))
        for row, one in enumerate(inner):
            self._inner[row, : len(one)] = one

    def pick(self, given: Floats, drawn: Floats) -> Floats:
        """A divisor of each given divisor, chosen by a number from [0, 1)."""
        row = np.searchsorted(self._known, given)
        return self._inner[row, (drawn * self._count[row]).astype(int)]

    def next(self, tiles: Floats, *, up: bool) -> Floats:
        """The next larger or smaller divisor, or the same where there is none."""
        at = np.searchsorted(self._known, tiles) + (1 if up else -1)
        return self._known[np.clip(at, 0, len(self._known) - 1)]


class Random(Algorithm):
    """Mappings drawn from the space, as many as the budget allows; tiles are cut to fit the buffers."""

    def mapper(self, request: MapRequest) -> RandomMapper:
        return RandomMapper(request.space, request.seed, request.capacity)


MAPPER = Random()
