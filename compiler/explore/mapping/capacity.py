"""
Mappings that fit into the buffers: the sizes of tiles, and smaller tiles where they do not fit.

A buffer holds two tiles of each tensor, as MAESTRO counts it: that of a step and the next one's. The shared buffer (L2)
holds those of a step of the outermost level, that of a processing element (L1) those of one of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npuc.compiler.analysis.mapping.exact.arrays import Floats, Ints
from npuc.compiler.analysis.mapping.exact.contraction import ROLES, Contraction
from npuc.compiler.analysis.mapping.exact.volumes import tile

Size = int | Floats
"""Elements of a buffer, of all mappings or of each."""


@dataclass(frozen=True)
class BufferCapacity:
    """
    Statements that run one after another in the same buffers, of `l1` and `l2` elements; None: no limit.

    Their dimensions are those of the space that is searched, in its order. A partial sum takes `sum_size` elements of
    the shared buffer, `l1_sum_size` of a processing element's.
    """

    works: tuple[Contraction, ...]
    l1: int | None = None
    l2: int | None = None
    sum_size: float = 1.0
    l1_sum_size: float = 1.0

    def need(self, sizes: Floats, sum_size: float = 1.0) -> Floats:
        """The elements of a buffer that tiles of sizes [dimension, mapping] take where a sum takes so many elements."""
        most = np.zeros(sizes.shape[1:])
        for work in self.works:
            three = sum(
                ((sum_size if role == "O" else 1.0) * tile(work, role, sizes) for role in ROLES),
                start=np.zeros(sizes.shape[1:]),
            )
            most = np.maximum(most, 2 * three)
        return most


@dataclass(frozen=True)
class Drawn:
    """
    Tiles that were drawn, arrays [dimension, mapping]: those of each level's sub-clusters, and the order of its loops.

    `widths` are how many sub-clusters the outermost level spreads a dimension over, `whole` the dimensions, and `least`
    the tiles to which they may be cut, infinite where not at all.
    """

    tiles: list[Floats]
    orders: list[Ints]
    widths: Floats
    whole: Floats
    least: Floats


def cut_to_fit(capacity: BufferCapacity, drawn: Drawn) -> None:
    """
    Cut tiles in place until they fit into the buffers: dimension by dimension, in the order of the loops.

    The outermost level's tiles become those of the level inside first, so that a divisor of a tile still divides it.
    """
    cut_to_sizes(capacity, capacity.l1, capacity.l2, drawn)


def cut_to_sizes(capacity: BufferCapacity, l1: Size | None, l2: Size | None, drawn: Drawn) -> None:
    """The same for buffers of other sizes, which may differ by mapping."""
    tiles, least = drawn.tiles, drawn.least
    if l1 is not None:
        _cut(capacity, (l1, capacity.l1_sum_size), tiles[-1:], 1.0, drawn.orders[-1], drawn, least)
    if l2 is None:
        return
    shared = l2, capacity.sum_size
    if len(tiles) > 1:
        inside = np.where(np.isinf(least), np.inf, tiles[1])
        _cut(capacity, shared, tiles[:1], drawn.widths, drawn.orders[0], drawn, inside)
    _cut(capacity, shared, tiles, drawn.widths, drawn.orders[0], drawn, least)


def _cut(
    capacity: BufferCapacity,
    buffer: tuple[Size, float],
    tiles: list[Floats],
    widths: Floats | float,
    order: Ints,
    drawn: Drawn,
    least: Floats,
) -> None:
    """Cut tiles of all these levels until a step of the first fits: a buffer's elements, and those of a sum in it."""
    size, sum_size = buffer
    wide, most = np.broadcast_to(widths, drawn.whole.shape), np.broadcast_to(size, order.shape[1])
    rows: Ints = np.arange(order.shape[1], dtype=np.int64)
    for place in range(len(order)):
        step = np.minimum(tiles[0][:, rows] * wide[:, rows], drawn.whole[:, rows])
        rows = rows[np.flatnonzero(capacity.need(step, sum_size) > most[rows])]
        dim = order[place, rows]
        for level in tiles:
            level[dim, rows] = np.minimum(level[dim, rows], least[dim, rows])
