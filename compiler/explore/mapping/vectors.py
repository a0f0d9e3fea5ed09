"""
Mappings as vectors of real numbers, for search algorithms that know of nothing else (`mappers/cma_es.py`).

The coordinates of a vector, of which any real numbers express a legal mapping:

    clusters    1: which of the clusters of the space, in its order
    tiles       by level and dimension: the logarithm of the tile, as a share of that of the whole dimension; the
                nearest tile of the dimension is meant, made legal as those of a genome are (`genomes`)
    orders      by level and dimension: a key, loops outermost first by ascending keys
    spread      by level and dimension: a key, dimensions spread first by ascending keys, and another key: the level
                spreads nothing where it is the least
    shares      by level: which of the widths; none where a level spreads one dimension at most

Dimensions are those that can be cut. Clusters, tiles and shares are in [0, 1]; beyond it, a coordinate is reflected at
its ends, so that what is close by is as likely as inside.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from npuc.compiler.analysis.mapping.exact.arrays import Floats
from npuc.compiler.explore.mapping.constrained.legal import divisors
from npuc.compiler.explore.mapping.genomes import Genomes
from npuc.compiler.explore.mapping.space import MapSpace

BELOW_ONE = float(np.nextafter(1.0, 0.0))


@dataclass(frozen=True)
class VectorCode:
    """The vectors of a space, arrays [coordinate, mapping]."""

    space: MapSpace

    @property
    def size(self) -> int:
        """The number of coordinates."""
        return self._ends[-1]

    def decode(self, vectors: Floats) -> Genomes:
        """The genomes of vectors."""
        space, count = self.space, vectors.shape[1]
        clusters, tiles, orders, spread, shares = np.split(vectors, self._ends[:-1])
        levels, cut = space.levels, np.array(space.cut, np.int64)
        chosen = np.minimum(reflected(clusters[0]) * len(space.fanouts), len(space.fanouts) - 1).astype(np.int64)
        sizes = np.repeat(self._sizes[None, :, None], levels, axis=0).repeat(count, axis=2)
        ranks = reflected(tiles).reshape(levels, len(cut), count)
        keys = np.full(sizes.shape, np.inf)
        for place, at in enumerate(cut):
            sizes[:, at] = self._nearest(place, ranks[:, place])
            keys[:, at] = orders.reshape(levels, len(cut), count)[:, place]
        keyed = spread.reshape(levels, -1, count)
        share = reflected(shares) if self._is_shared else np.zeros((levels, count))
        return Genomes(
            chosen,
            sizes,
            keys.argsort(axis=1, kind="stable"),
            cut[keyed[:, :-1].argsort(axis=1, kind="stable")] if len(cut) else np.zeros((levels, 0, count), np.int64),
            np.where(keyed[:, -1] < keyed[:, :-1].min(axis=1, initial=np.inf), 1.0, np.minimum(share, BELOW_ONE)),
        )

    def encode(self, genomes: Genomes) -> Floats:
        """Vectors of genomes that `decode` makes the same mappings of, in the middle of what does."""
        space, count, cut = self.space, len(genomes), list(self.space.cut)
        levels, many = space.levels, max(len(cut), 1)
        tiles = np.log(genomes.tiles[:, cut]) / self._logs[None, :, None]
        place = np.argsort(genomes.orders, axis=1, kind="stable")[:, cut]
        rank = np.empty((levels, len(space.dims), count))
        np.put_along_axis(rank, genomes.spread, np.arange(len(cut), dtype=float)[None, :, None], axis=1)
        nothing = np.where(genomes.share >= 1.0, -1.0, float(len(cut)))
        keys = np.concatenate([rank[:, cut], nothing[:, None]], axis=1)
        parts = [
            ((genomes.chosen + 0.5) / len(space.fanouts))[None],
            tiles.reshape(-1, count),
            ((place + 0.5) / len(space.dims)).reshape(-1, count),
            ((keys + 0.5) / many).reshape(-1, count),
            genomes.share,
        ]
        return np.concatenate(parts if self._is_shared else parts[:-1])

    @cached_property
    def _ends(self) -> list[int]:
        """Where the coordinates of each kind end."""
        cut, levels = len(self.space.cut), self.space.levels
        counts = [1, levels * cut, levels * cut, levels * (cut + 1), levels * self._is_shared]
        return [int(end) for end in np.cumsum(counts)]

    @property
    def _is_shared(self) -> bool:
        return self.space.parallel > 1

    @cached_property
    def _sizes(self) -> Floats:
        return np.array([float(size) for _, size in self.space.dims])

    @cached_property
    def _logs(self) -> Floats:
        """The logarithms of the dimensions that can be cut."""
        return np.log(self._sizes[list(self.space.cut)])

    @cached_property
    def _divisors(self) -> list[Floats]:
        return [np.array(divisors(int(self._sizes[at])), float) for at in self.space.cut]

    def _nearest(self, place: int, share: Floats) -> Floats:
        """The tiles of a dimension whose logarithms are the nearest."""
        size = self._sizes[self.space.cut[place]]
        if not self.space.divisors:
            return np.clip(np.rint(np.exp(share * self._logs[place])), 1.0, size)
        known = self._divisors[place]
        between = np.log(known[1:] * known[:-1]) / 2
        return known[np.searchsorted(between, share * self._logs[place], side="right")]


def reflected(values: Floats) -> Floats:
    """Numbers in [0, 1]: those outside are reflected at the ends, as often as it takes."""
    return np.abs(values - 2 * np.rint(values / 2))
