"""Whether mappings meet constraints, for many mappings at once."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from npuc.compiler.analysis.mapping.constraints.limits import LevelConstraint, MapConstraints, TileLimit
from npuc.compiler.analysis.mapping.exact.arrays import Floats, Ints, LevelTiles

Bools = NDArray[np.bool_]
ROUNDED = 1e-6
"""Of a share of sub-clusters, which are whole numbers, what rounding may have added."""


def meets(
    constraints: MapConstraints, fanouts: Ints, levels: Sequence[LevelTiles], sizes: Sequence[int], *, divides: bool
) -> Bools:
    """
    Which mappings meet all constraints; `fanouts` [level, mapping], `sizes` those of the dimensions.

    Of a fixed tile the largest divisor that is no larger is right, too, where tiles are divisors (`divides`).
    """
    given = np.repeat(np.array([[float(size)] for size in sizes]), fanouts.shape[1], axis=1)
    fine = has_work(constraints, fanouts, levels)
    for own, fanout, tiles in zip(constraints.levels, fanouts, levels, strict=True):
        fine &= _meets_level(own, fanout, tiles, given, divides=divides)
        if constraints.divisors:
            fine &= (given % tiles.spatial == 0).all(axis=0)
        given = tiles.spatial
    return fine


def has_work(constraints: MapConstraints, fanouts: Ints, levels: Sequence[LevelTiles]) -> Bools:
    """In which mappings enough sub-clusters of each level, and elements in all, work in a whole step."""
    fine, total = np.ones(fanouts.shape[1], bool), np.ones(fanouts.shape[1])
    for own, fanout, tiles in zip(constraints.levels, fanouts, levels, strict=True):
        parts = np.ceil(tiles.temporal / tiles.spatial).prod(axis=0)
        fine &= parts >= own.utilization * fanout - ROUNDED
        total *= parts
    return fine & (total >= constraints.utilization * constraints.elements - ROUNDED)


def is_working(constraints: MapConstraints, fanouts: Sequence[int], parts: Sequence[int]) -> bool:
    """The same of one mapping, of whose whole step each level has so many parts."""
    each = zip(constraints.levels, fanouts, parts, strict=True)
    fine = all(count >= own.utilization * fanout - ROUNDED for own, fanout, count in each)
    return fine and prod(parts) >= constraints.utilization * constraints.elements - ROUNDED


def _meets_level(own: LevelConstraint, fanout: Ints, tiles: LevelTiles, given: Floats, *, divides: bool) -> Bools:
    fine = np.ones(len(fanout), bool)
    for one in own.fanout:
        fine &= fanout == one
    spread = tiles.spatial < tiles.temporal
    if own.may is not None:
        others = [at for at in range(len(given)) if at not in own.may]
        fine &= ~spread[others].any(axis=0)
    fine &= spread[list(own.must)].all(axis=0)
    for at, limit in own.tiles:
        fine &= _meets_limit(limit, tiles.spatial[at], given[at], divides=divides)
    moves = tiles.temporal < given
    for outer, inner in own.before:
        fine &= ~(moves[outer] & moves[inner]) | (tiles.place[outer] < tiles.place[inner])
    return fine


def _meets_limit(limit: TileLimit, tile: Floats, given: Floats, *, divides: bool) -> Bools:
    fine = (tile >= np.minimum(limit.least, given)) & (tile <= limit.most)
    for size in limit.fixed:
        wanted = np.minimum(float(size), given)
        fine &= (tile == wanted) | (divides and tile == _largest_divisor(given, wanted))
    return fine


def _largest_divisor(given: Floats, most: Floats) -> Floats:
    """The largest divisor of each number that is at most another."""
    found = np.ones(len(given))
    pairs, rows = np.unique(np.array([given, most]), axis=1, return_inverse=True)
    for number, (whole, limit) in enumerate(pairs.T.astype(np.int64).tolist()):
        best = max(d for i in range(1, int(whole**0.5) + 1) if whole % i == 0 for d in (i, whole // i) if d <= limit)
        found[rows.reshape(-1) == number] = best
    return found
