"""
The mapper `random`: mappings drawn from a space; a seed gives the same ones however many are taken at a time.

The clusters are drawn uniformly among those of the space; at each level the spread dimensions, uniformly; tiles
uniformly among the divisors of the enclosing tile, or log-uniformly among all integers; orders uniformly. Tiles that do
not fit into the buffers are cut smaller.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.random import PCG64, Generator, SeedSequence

from npuc.compiler.analysis.mapping.exact.arrays import Floats, Ints, level_tiles
from npuc.compiler.explore.mapping.candidates import Candidates
from npuc.compiler.explore.mapping.capacity import BufferCapacity, Drawn, cut_to_fit
from npuc.compiler.explore.mapping.mapper import Algorithm
from npuc.compiler.explore.mapping.space import MapSpace, divisors, widths_of

BLOCK = 2048
"""The number of candidates drawn at once, whatever the number requested."""


def generator(seed: int, *content: object) -> Generator:
    """Random numbers that depend only on a seed and the text of their purpose."""
    digest = hashlib.sha256("\n".join(map(repr, content)).encode()).digest()
    return Generator(PCG64(SeedSequence([seed, int.from_bytes(digest[:16], "big")])))


class RandomMapper:
    """Endless candidates of a space; with `capacity` their tiles are cut to fit into the buffers."""

    def __init__(self, space: MapSpace, seed: int, capacity: BufferCapacity | None = None):
        self.space = space
        self._capacity = capacity
        self._random = generator(seed, space.dims, space.fanouts, space.parallel, space.divisors, sorted(space.whole))
        self._tables = [_DivisorTable(size) for _, size in space.dims] if space.divisors else []
        self._block, self._next = self._draw(), 0

    def propose(self, most: int) -> Candidates:
        """The next candidates."""
        if self._next == BLOCK:
            self._block, self._next = self._draw(), 0
        start = self._next
        self._next = min(BLOCK, start + most)
        return self._block.part(slice(start, self._next))

    def tell(self, costs: Floats) -> None:
        """Costs change nothing here."""

    def _draw(self) -> Candidates:
        space, random = self.space, self._random
        chosen = random.integers(len(space.fanouts), size=BLOCK)
        fanouts = np.array(space.fanouts)[chosen].T
        whole = np.repeat(np.array([[float(size)] for _, size in space.dims]), BLOCK, axis=1)
        tiles: list[Floats] = []
        widths: list[Floats] = []
        orders: list[Ints] = []
        for number in range(space.levels):
            given = tiles[-1] if tiles else whole
            tiles.append(given.copy())
            for at in space.cut:
                tiles[-1][at] = self._tile(at, given[at])
            widths.append(self._widths(fanouts[number]))
            orders.append(random.random(given.shape).argsort(axis=0))
        if self._capacity is not None:
            least = np.full(whole.shape, np.inf)
            least[list(space.cut)] = 1.0
            cut_to_fit(self._capacity, Drawn(tiles, orders, widths[0], whole, least))
        around = [whole, *tiles]
        levels = tuple(
            level_tiles(np.minimum(tile * width, given), tile, order)
            for given, tile, width, order in zip(around, tiles, widths, orders, strict=False)
        )
        return Candidates(fanouts, levels)

    def _tile(self, at: int, given: Floats) -> Floats:
        """A tile of each given one of a dimension."""
        drawn = self._random.random(BLOCK)
        if self._tables:
            return self._tables[at].pick(given, drawn)
        return np.clip(np.floor(np.exp(drawn * np.log(given + 1))), 1, given)

    def _widths(self, fanout: Ints) -> Floats:
        """How many sub-clusters share each dimension, [dimension, mapping]; 1 for those that are not spread."""
        cut, random = self.space.cut, self._random
        widths = np.ones((len(self.space.dims), BLOCK))
        if not cut:
            return widths
        dims = np.array(cut)[random.random((len(cut), BLOCK)).argsort(axis=0)]
        drawn = random.random(BLOCK)
        for size in np.unique(fanout):
            choices = widths_of(int(size), min(self.space.parallel, len(cut)))
            rows = np.flatnonzero(fanout == size)
            if not choices:
                continue
            most = max(map(len, choices))
            table = np.array([[*one, *(1,) * (most - len(one))] for one in choices], float)
            picked = table[(drawn[rows] * len(choices)).astype(int)]
            for place in range(most):
                widths[dims[place, rows], rows] = picked[:, place]
        return widths


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


class Random(Algorithm):
    """Mappings drawn from the space, as many as the budget allows; tiles are cut to fit the buffers."""

    def mapper(self, space: MapSpace, seed: int, capacity: BufferCapacity) -> RandomMapper:
        return RandomMapper(space, seed, capacity)


MAPPER = Random()
