"""
A lower bound of what the buffers of processing elements receive, from their size alone.

An element works on a tile for a step, and of each input receives what its last step did not have. In any step but the
first the innermost loop with several steps moves on or begins anew, so that each input which it indexes comes whole,
or, where windows slide in that loop, at least as many rows as it moves on by. Among the tiles that a buffer can hold
and the loops that may be innermost, one brings the least for each multiply-accumulate; no mapping brings less.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import gcd

import numpy as np

from npuc.compiler.analysis.mapping.exact.arrays import Floats
from npuc.compiler.analysis.mapping.exact.contraction import Contraction, TensorAxis
from npuc.compiler.explore.mapping.capacity import BufferCapacity
from npuc.compiler.explore.mapping.constrained.legal import divisors
from npuc.compiler.explore.mapping.space import MapSpace
from npuc.dialects.mapping import Role

MOST_TILES = 100_000
"""The number of tiles that fit a buffer, up to which they are looked at."""
INPUTS: tuple[Role, ...] = ("I", "W")


@dataclass(frozen=True)
class ElementBuffers:
    """
    Buffers of processing elements, of `size` elements, of which a partial sum takes `sum_size`, in mappings of a space.
    """

    space: MapSpace
    size: int
    sum_size: float

    def least_received(self, work: Contraction) -> float:
        """
        The elements of both inputs that all buffers receive at least, for a statement whose dimensions are those of the
        space. 0 where too many tiles fit.
        """
        return _least_received(work, self)


@lru_cache(maxsize=1024)
def _least_received(work: Contraction, buffers: ElementBuffers) -> float:
    space, tiles = buffers.space, _fitting(work, buffers)
    if tiles is None or not tiles.shape[1]:
        return 0.0
    points = tiles.prod(axis=0)
    each = [_comes(work, tiles, None) / points]
    for at in space.cut:
        each.append(np.where(tiles[at] < space.dims[at][1], _comes(work, tiles, at) / points, np.inf))
    # A millionth of a millionth, for sums that are rounded in another order.
    return work.macs * float(np.min(each)) * (1 - 1e-12)


def _fitting(work: Contraction, buffers: ElementBuffers) -> Floats | None:
    """The tiles that fit the buffer, [dimension, tile]; None where they are too many."""
    space, capacity = buffers.space, BufferCapacity((work,))
    found = np.array([[1.0 if at in space.cut else float(size)] for at, (_, size) in enumerate(space.dims)])
    for at in space.cut:
        grown = list[Floats]()
        whole = space.dims[at][1]
        for size in divisors(whole) if space.divisors else range(1, whole + 1):
            wider = found.copy()
            wider[at] = size
            wider = wider[:, capacity.need(wider, buffers.sum_size) <= buffers.size]
            if not wider.shape[1]:
                break  # nor do larger ones fit
            grown.append(wider)
            if sum(one.shape[1] for one in grown) > MOST_TILES:
                return None
        if not grown:
            return found[:, :0]
        found = np.concatenate(grown, axis=1)
    return found


def _comes(work: Contraction, tiles: Floats, moving: int | None) -> Floats:
    """The elements of inputs that come at least where a dimension moves on, or all of them."""
    total = np.zeros(tiles.shape[1])
    for role in INPUTS:
        if moving is None or work.names[moving] in work.coupled(role):
            each = np.ones(tiles.shape[1])
            for axis in work.axes(role):
                each *= _extent(work, axis, tiles, moving)
            total += each
    return total


def _extent(work: Contraction, axis: TensorAxis, tiles: Floats, moving: int | None) -> Floats:
    """What comes of an axis: all of a tile, or the rows by which windows slide on at least."""
    rows = [work.names.index(dim) for dim, _ in axis.terms]
    sizes = [tiles[at] for at in rows]
    if len(rows) < 2 or rows[0] != moving:
        return axis.extent(sizes)
    (_, step), (_, apart) = axis.terms
    return sizes[0] * np.minimum(sizes[1], float(step // gcd(step, apart)))
