"""
The steps of a level, grouped by what they move.

A step follows the one before it by one loop moving on (the *moving* loop) while the loops inside it begin anew. A
*node* is an entry (a mapping whose level is entered with a tile) with the set of loops that are at a smaller last tile;
steps with the same node and moving loop differ in nothing but whether sums were begun before.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from npuc.compiler.analysis.mapping.exact.arrays import Floats, Ints, LevelTiles
from npuc.compiler.analysis.mapping.exact.contraction import Contraction

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class LevelEntries:
    """
    Entries of a level, arrays [dimension, entry]: what a step takes and a sub-cluster gets of each dimension.

    `full` is the number of steps with a whole tile, `last` the size of the last tile, `smaller` whether that is less.
    """

    tiles: LevelTiles
    rows: Ints
    temporal: Floats
    spatial: Floats
    full: Floats
    last: Floats
    smaller: Bools

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def several(self) -> Bools:
        """Which dimensions have several tiles."""
        return self.full + self.smaller > 1


def enter(tiles: LevelTiles, rows: Ints, given: Floats) -> LevelEntries:
    """The entries of a level that is given tiles, [dimension, entry]."""
    temporal = np.minimum(tiles.temporal, given)
    count = np.ceil(given / temporal)
    last = given - (count - 1) * temporal
    smaller = last < temporal
    return LevelEntries(tiles, rows, temporal, np.minimum(tiles.spatial, temporal), count - smaller, last, smaller)


@dataclass(frozen=True)
class Moves:
    """
    Steps in which the loop at `place` moves on: the node before and after, the entry, and how many there are.

    `fresh` of them begin their outputs' sums, the rest go on with some.
    """

    place: int
    before: Ints
    after: Ints
    entry: Ints
    count: Floats
    fresh: Floats


@dataclass(frozen=True)
class StepNodes:
    """All nodes of entries: the entry of each and the sizes of its steps' tiles; the first are the entries'."""

    entry: Ints
    sizes: Floats
    moves: list[Moves]


def make_nodes(work: Contraction, e: LevelEntries) -> StepNodes:
    """All nodes and all groups of steps but the first steps of the entries."""
    adding = np.array([d in work.adding for d in work.names])
    entry, sizes = np.arange(len(e)), e.temporal
    count = fresh = np.ones(len(e))
    moves: list[Moves] = []
    for place in range(len(work.names)):
        dim = e.tiles.order[place]
        full, smaller = (array[dim, np.arange(len(e))][entry] for array in (e.full, e.smaller))
        adds = adding[dim][entry]
        steady, last = np.flatnonzero(full > 1), np.flatnonzero(smaller)
        if len(steady) or len(last):
            children = len(entry) + np.arange(len(last))
            before, after = np.concatenate([steady, last]), np.concatenate([steady, children])
            often = np.where(np.arange(len(before)) < len(steady), full[before] - 1, 1.0)
            new = np.where(adds[before], 0.0, fresh[before] * often)
            moves.append(Moves(place, before, after, entry[before], count[before] * often, new))
        lasts = sizes.take(last, axis=1)
        at = entry[last]
        lasts[dim[at], np.arange(len(last))] = e.last[dim[at], at]
        fresh = np.concatenate([np.where(adds, fresh, fresh * full), np.where(adds[last], 0.0, fresh[last])])
        count = np.concatenate([count * full, count[last]])
        entry, sizes = np.concatenate([entry, at]), np.concatenate([sizes, lasts], axis=1)
    return StepNodes(entry, sizes, moves)
