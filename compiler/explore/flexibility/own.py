"""The mapping that a machine's dataflow gives a contraction, which is its only choice on an axis that is fixed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from npuc.compiler.analysis.mapping.exact.arrays import Floats, Ints, cluster_arrays, level_tiles
from npuc.compiler.analysis.mapping.flexibility.axes import Supports
from npuc.compiler.analysis.mapping.flexibility.flexion import OwnChoice
from npuc.compiler.analysis.mapping.named.clusters import named_clusters, spread_dims
from npuc.compiler.analysis.mapping.named.templates import DEFAULT, template_named
from npuc.compiler.core.errors import CapacityError, UsageError
from npuc.compiler.driver.mapping_file import is_mapping_file
from npuc.compiler.explore.flexibility.buffers import class_costs, cut_tiles
from npuc.compiler.explore.mapping.best import Limits, Objective
from npuc.compiler.explore.mapping.candidates import Candidates
from npuc.compiler.explore.mapping.capacity import Drawn
from npuc.compiler.explore.mapping.task import ExactTask
from npuc.dialects.mapping import ClusterLevel, Clusters

LEVELS = 2
"""Rows and columns of the array: the levels of the mappings that are compared."""


@dataclass(frozen=True)
class OwnMapping:
    """
    A dataflow's mapping of a contraction of two levels, as the machine can run it.

    `tiles` [level, dimension], `orders` [level, loop] and the places of the dimensions that each level spreads; `shape`
    are the sub-clusters of each level.
    """

    tiles: Floats
    orders: Ints
    spread: tuple[tuple[int, ...], ...]
    shape: tuple[int, int]

    def candidates(self, whole: Floats) -> Candidates:
        """The mapping alone."""
        levels, given = list[tuple[Floats, Floats]](), whole
        for tile, spread, fanout in zip(self.tiles[:, :, None], self.spread, self.shape, strict=True):
            levels.append((np.minimum(tile * shared_widths(spread, np.array([fanout]), tile, given), given), tile))
            given = tile
        return Candidates(
            np.array([[one] for one in self.shape]),
            tuple(level_tiles(*pair, order[:, None]) for pair, order in zip(levels, self.orders, strict=True)),
        )

    def choice(self, names: tuple[str, ...], whole: Floats) -> OwnChoice:
        """The same as a choice on each axis; the tile is that of a step of the rows."""
        step = self.candidates(whole).levels[0].temporal[:, 0]
        rows, columns = (tuple(names[at] for at in spread) for spread in self.spread)
        tile, order = tuple(zip(names, map(int, step), strict=True)), tuple(names[int(at)] for at in self.orders[0])
        return OwnChoice(tile, order, (rows, columns), self.shape)


def shared_widths(
    spread: tuple[int, ...], fanout: Ints, tile: Floats, given: Floats, where: NDArray[np.bool_] | None = None
) -> Floats:
    """
    How many sub-clusters share each dimension, [dimension, mapping], of so many: each takes what it has tiles for, the
    next one a share of what that leaves. With `where` [dimension, mapping] those mappings alone spread a dimension.
    """
    widths, left = np.ones(tile.shape), fanout.astype(float)
    for at in spread:
        wide = np.minimum(left, np.ceil(given[at] / tile[at]))
        widths[at] = wide if where is None else np.where(where[at], wide, 1.0)
        left = left // widths[at]
    return widths


def own_mapping(task: ExactTask, dataflow: str, supports: Supports, objective: Objective) -> OwnMapping:
    """
    The mapping of a dataflow (`dataflow_mapping`) as it is where the machine can run it.

    Else its tiles are cut to fit the buffers as `supports` divides them, then those of rows to what their columns work
    on in a step, at last all to the smallest. Raises `CapacityError` where the machine can run none of them, and
    `UsageError` where there is no such mapping.
    """
    return fitted(dataflow_mapping(task, dataflow), task, supports, objective)


def dataflow_mapping(task: ExactTask, dataflow: str) -> OwnMapping:
    """
    The mapping that the contraction has, else that of a named dataflow, whether the machine's buffers hold it or not.

    Raises `UsageError` for a mapping that is not in cluster form, or has more than two levels.
    """
    template = template_named(DEFAULT if is_mapping_file(dataflow) else dataflow)
    found, statement = task.own(), task.nest.statements[0]
    if found is None and (task.has is None or not is_mapping_file(dataflow)):
        found = named_clusters(template, task.nest, statement, task.machine.array.num_pes)
    if found is None or len(found.levels) > LEVELS:
        raise UsageError(
            f"a mapping of {dataflow} is not one of rows and columns of the machine's elements, as cuts of dimensions",
            hint="--mapping with the name of a dataflow (npuc list mappings)",
        )
    spread = _spread(_two_levels(found), spread_dims(template, task.nest, statement))
    levels = cluster_arrays(task.works[0], [_two_levels(found)])
    rows, columns = (level.fanout for level in _two_levels(found).levels)
    return OwnMapping(
        np.array([level.spatial[:, 0] for level in levels]),
        np.array([level.order[:, 0] for level in levels]),
        tuple(tuple(map(task.space.names.index, some)) for some in spread),
        (rows, columns),
    )


def fitted(own: OwnMapping, task: ExactTask, supports: Supports, objective: Objective) -> OwnMapping:
    """
    A mapping as it is where the machine can run it, else with smaller tiles, as `own_mapping` says.

    Raises `CapacityError` where the machine can run none of them.
    """
    limits, whole = Limits(task.capacity.l1, task.capacity.l2), whole_of(task)
    for one in _attempts(own, task, supports):
        if limits.fit(class_costs(task, one.candidates(whole), supports), objective)[0]:
            return one
    raise CapacityError("the machine cannot run its own dataflow, not even with the smallest tiles")


def whole_of(task: ExactTask) -> Floats:
    """The sizes of the dimensions, [dimension, 1]."""
    return np.array([[float(size)] for _, size in task.space.dims])


def _two_levels(mapping: Clusters) -> Clusters:
    return Clusters((*mapping.levels, *[ClusterLevel(1, ())] * (LEVELS - len(mapping.levels))))


def _spread(mapping: Clusters, named: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
    """
    The dimensions that each level spreads: those of the named dataflow, also where the contraction has no work for
    several sub-clusters, or where the mapping is another one, its own.
    """
    own = tuple(tuple(loop.dim for loop in level.loops if loop.parts > 1) for level in mapping.levels)
    named = (*named, *[()] * (LEVELS - len(named)))
    return named if all(set(some) <= set(known) for some, known in zip(own, named, strict=True)) else own


def _attempts(own: OwnMapping, task: ExactTask, supports: Supports) -> Iterator[OwnMapping]:
    spread, (rows, columns) = own.spread, own.shape
    yield own
    whole, tiles = whole_of(task), list(own.tiles[:, :, None].copy())
    least, widths = np.full(whole.shape, np.inf), np.ones(whole.shape)
    least[list(task.space.cut)] = 1.0
    widths[list(spread[0])] = rows
    cut_tiles(task.capacity, supports, Drawn(tiles, [order[:, None] for order in own.orders], widths, whole, least))
    cut = np.array([tile[:, 0] for tile in tiles])
    yield replace(own, tiles=cut)
    # A row steps through nothing inside, so that nothing is brought again: its tile is what its columns share.
    outer, shared = cut[1].copy(), list(spread[1])
    outer[shared] = np.minimum(cut[0][shared], cut[1][shared] * columns)
    yield replace(own, tiles=np.array([outer, cut[1]]))
    small = np.where(np.isfinite(least[:, 0]), 1.0, whole[:, 0])
    yield replace(own, tiles=np.array([small, small]))
    yield replace(own, tiles=np.array([small, small]), spread=((), ()))
