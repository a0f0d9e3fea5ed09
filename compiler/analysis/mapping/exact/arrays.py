"""
Many mappings of one contraction in cluster form, as arrays.

Arrays are [dimension, mapping] for each level from the top; sizes are float64, exact up to 2^53.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from npuc.compiler.analysis.mapping.exact.contraction import Contraction
from npuc.dialects.mapping import Clusters

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class LevelTiles:
    """
    A level: temporal and spatial tiles by dimension, and the loops' order.

    `order` is [loop, mapping]: the dimension of each loop, outermost first, all of them listed; `place` its inverse.
    """

    temporal: Floats
    spatial: Floats
    order: Ints
    place: Ints

    def __len__(self) -> int:
        return int(self.temporal.shape[1])

    def at(self, rows: Ints) -> LevelTiles:
        """The level of these mappings, which may come several times."""
        temporal, spatial = self.temporal.take(rows, axis=1), self.spatial.take(rows, axis=1)
        return LevelTiles(temporal, spatial, self.order.take(rows, axis=1), self.place.take(rows, axis=1))


def cluster_arrays(work: Contraction, mappings: Sequence[Clusters]) -> list[LevelTiles]:
    """Legal mappings with equally many levels as arrays; what is not listed is whole, inside what is."""
    sizes = dict(work.dims)
    given = [dict(sizes) for _ in mappings]
    levels: list[LevelTiles] = []
    for number in range(len(mappings[0].levels)):
        temporal, spatial, order = (np.zeros((len(work.dims), len(mappings))) for _ in range(3))
        for column, mapping in enumerate(mappings):
            loops = {loop.dim: loop for loop in mapping.levels[number].loops}
            listed = [*loops, *(d for d in work.names if d not in loops)]
            for at, dim in enumerate(listed):
                row = work.names.index(dim)
                loop = loops.get(dim)
                temporal[row, column] = given[column][dim] if loop is None else loop.temporal
                spatial[row, column] = given[column][dim] if loop is None else loop.spatial
                order[at, column] = row
                given[column][dim] = int(spatial[row, column])
        levels.append(level_tiles(temporal, spatial, order.astype(np.int64)))
    return levels


def level_tiles(temporal: Floats, spatial: Floats, order: Ints) -> LevelTiles:
    """A level with its loops' places."""
    place = np.empty_like(order)
    np.put_along_axis(place, order, np.arange(len(order))[:, None], axis=0)
    return LevelTiles(temporal, spatial, order, place)
