"""
Mappings that are wired into a machine: the same tiles, orders of loops and parallel dimensions for every contraction.

They speak of the roles of dimensions in a dataflow (`mapping/named/roles.py`), so that one of them is a mapping of any
contraction: a loop that a contraction does not have is left out, a tile that is larger than a dimension is that
dimension. Rows of a product are Y and X in one, as in named dataflows: their tile is the product of both tiles, they
are spread where one of both is, and their loop is where the first one is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from npuc.compiler.analysis.mapping.exact.arrays import Floats, Ints, level_tiles
from npuc.compiler.analysis.mapping.exact.contraction import Contraction, TensorAxis
from npuc.compiler.analysis.mapping.flexibility.axes import Supports
from npuc.compiler.analysis.mapping.flexibility.choices import shapes_of, size_of
from npuc.compiler.analysis.mapping.named.roles import Roles, roles_of
from npuc.compiler.explore.flexibility.buffers import cut_tiles
from npuc.compiler.explore.flexibility.own import LEVELS, OwnMapping, fitted, shared_widths, whole_of
from npuc.compiler.explore.mapping.best import Objective
from npuc.compiler.explore.mapping.candidates import Candidates
from npuc.compiler.explore.mapping.capacity import BufferCapacity, Drawn
from npuc.compiler.explore.mapping.space import MapSpace
from npuc.compiler.explore.mapping.task import ExactTask

ROLES = ("G", "N", "K", "C", "Y", "X", "R", "S")
"""The roles of dimensions: groups, images, output and input channels, rows and columns of the output and the filter."""
ROWS = ("Y", "X")
"""The roles that the rows of a product stand for."""


@dataclass(frozen=True)
class WiredMappings:
    """
    Many mappings by roles: `tiles` [level, role, mapping], `orders` [level, loop, mapping] by places of roles.

    `spread` [level, mapping] is the role that each level spreads over its sub-clusters, -1 for none, and `shape`
    [level, mapping] the number of these.
    """

    tiles: Floats
    orders: Ints
    spread: Ints
    shape: Ints

    def __len__(self) -> int:
        return int(self.shape.shape[1])

    @staticmethod
    def of(found: Candidates) -> WiredMappings:
        """Those that candidates of the space of roles are."""
        levels = found.levels
        parts = np.array([level.spatial < level.temporal for level in levels])
        return WiredMappings(
            np.array([level.spatial for level in levels]),
            np.array([level.order for level in levels]),
            np.where(parts.any(axis=1), parts.argmax(axis=1), -1),
            found.fanouts,
        )

    def own(self, task: ExactTask, supports: Supports, objective: Objective, number: int = 0) -> OwnMapping:
        """
        One of them as the mapping of a contraction, cut to fit the machine's buffers as `own_mapping` cuts.

        Raises `CapacityError` where the machine cannot run it.
        """
        tiles, orders, parts = _placed(self, task)
        spread = tuple(tuple(int(at) for at in np.flatnonzero(level[:, number]))[::-1] for level in parts)
        rows, columns = map(int, self.shape[:, number])
        own = OwnMapping(tiles[:, :, number], orders[:, :, number], spread, (rows, columns))
        return fitted(own, task, supports, objective)

    def candidates(self, task: ExactTask, supports: Supports) -> Candidates:
        """All of them as mappings of a contraction, their tiles cut to fit the machine's buffers."""
        tiles, orders, parts = _placed(self, task)
        whole = np.repeat(whole_of(task), len(self), axis=1)
        least = np.full(whole.shape, np.inf)
        least[list(task.space.cut)] = 1.0
        widest = np.where(parts[0], self.shape[0], 1.0)
        cut_tiles(task.capacity, supports, Drawn(list(tiles), list(orders), widest, whole, least))
        levels, given = list[tuple[Floats, Floats]](), whole
        places = tuple(range(len(whole)))[::-1]
        for tile, fanout, wanted in zip(tiles, self.shape, parts, strict=True):
            wide = shared_widths(places, fanout, tile, given, wanted)
            levels.append((np.minimum(tile * wide, given), tile))
            given = tile
        return Candidates(
            self.shape, tuple(level_tiles(*pair, order) for pair, order in zip(levels, orders, strict=True))
        )


def _placed(wired: WiredMappings, task: ExactTask) -> tuple[Floats, Ints, NDArray[np.bool_]]:
    """Tiles and orders on a contraction's own dimensions, and which of these each level spreads; last the mapping."""
    roles = roles_of(task.nest, task.nest.statements[0])
    names, sizes = task.space.names, dict(task.space.dims)
    count = len(wired)
    tiles = np.ones((LEVELS, len(names), count))
    ranks = np.zeros((LEVELS, len(names), count))
    spread = np.zeros((LEVELS, len(names), count), bool)
    for dims, some in _groups(roles):
        at = [ROLES.index(name) for name in some]
        place = [np.argsort(order, axis=0)[at].min(axis=0) for order in wired.orders]
        for level in range(LEVELS):
            space = wired.tiles[level, at].prod(axis=0)
            for inner, dim in enumerate(reversed(dims)):
                row = names.index(dim)
                each = np.minimum(tiles[level - 1, row] if level else sizes[dim], np.maximum(space, 1.0))
                space = space // each
                tiles[level, row] = each
                ranks[level, row] = place[level] - inner / len(names)
                spread[level, row] = np.isin(wired.spread[level], at)
    return tiles, np.argsort(ranks, axis=1, kind="stable"), spread


def _groups(roles: Roles) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The dimensions of a contraction that belong together, outermost first, and the roles that they have."""
    found = [(roles.of(name), (name,)) for name in ROLES if roles.of(name)]
    return [*found, (roles.rows, ROWS)] if roles.rows else found


def space_of_roles(tasks: tuple[ExactTask, ...], elements: int) -> MapSpace:
    """The space of wired mappings: each role as large as the largest contraction has it, all shapes of the array."""
    most = dict.fromkeys(ROLES, 1)
    for task in tasks:
        roles, sizes = roles_of(task.nest, task.nest.statements[0]), dict(task.space.dims)
        for name in ROLES:
            most[name] = max(most[name], size_of(roles.of(name), sizes))
    return MapSpace(tuple(most.items()), shapes_of(elements), 1, divisors=False)


def capacity_of_roles(space: MapSpace, capacity: BufferCapacity) -> BufferCapacity:
    """The buffers of a machine for the tiles of a convolution with these roles and strides of one."""
    own = {name: TensorAxis(((name, 1),)) for name in ROLES}
    rows, columns = (TensorAxis(((out, 1), (window, 1))) for out, window in (("Y", "R"), ("X", "S")))
    work = Contraction(
        space.dims,
        (
            (own["G"], own["N"], own["C"], rows, columns),
            (own["G"], own["K"], own["C"], own["R"], own["S"]),
            (own["G"], own["N"], own["K"], own["Y"], own["X"]),
        ),
    )
    return BufferCapacity((work,), capacity.l1, capacity.l2, capacity.sum_size, capacity.l1_sum_size)
