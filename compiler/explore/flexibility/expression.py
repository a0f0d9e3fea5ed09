"""The mappings of a class of flexibility: on each axis those that its machine supports."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from npuc.compiler.analysis.mapping.constraints.check import Bools
from npuc.compiler.analysis.mapping.exact.arrays import Floats, Ints, level_tiles
from npuc.compiler.analysis.mapping.flexibility.choices import keeps
from npuc.compiler.analysis.mapping.flexibility.flexion import AxisChoices
from npuc.compiler.explore.flexibility.buffers import cut_tiles
from npuc.compiler.explore.flexibility.own import OwnMapping, shared_widths
from npuc.compiler.explore.mapping.candidates import Candidates, are_working
from npuc.compiler.explore.mapping.capacity import Drawn
from npuc.compiler.explore.mapping.constrained.possible import constrained
from npuc.compiler.explore.mapping.constrained.shape import adopt, arrange, employ
from npuc.compiler.explore.mapping.genomes import Expression, Genomes
from npuc.compiler.explore.mapping.space import MapSpace
from npuc.compiler.explore.mapping.task import ExactTask


@dataclass(frozen=True)
class ClassExpression(Expression):
    """
    The mappings of a class that genomes express.

    On an axis that is fixed all have what `own` has; some orders are those of `choices`, some tiles those that fit in
    equal parts of the shared buffer. The array's shapes are the clusters of the space. What is free is what its
    constraints allow, where that is possible: what is fixed may break them.
    """

    choices: AxisChoices
    own: OwnMapping

    @staticmethod
    def of(task: ExactTask, choices: AxisChoices, own: OwnMapping) -> ClassExpression:
        """The mappings of a contraction on a machine with these choices."""
        space = MapSpace(task.space.dims, choices.shapes, 1, divisors=False)
        constraints = task.space.constraints
        own_space = space if constraints is None else constrained(space, constraints)
        return ClassExpression(own_space, task.capacity, choices, own)

    @cached_property
    def _orders(self) -> Ints:
        """The orders of the outer loops, those alone that are allowed if there are any, [loop, order]."""
        names, sizes, level = self.space.names, dict(self.space.dims), self.space.level(0)
        before = [(names[a], names[b]) for a, b in level.before]
        known = self.choices.orders
        orders = [order for order in known if keeps(order, before, sizes)] or known
        return np.array([[names.index(dim) for dim in order] for order in orders]).T

    def candidates(self, genomes: Genomes) -> Candidates:
        """The mappings that genomes express; genes that are not free become those of the mappings."""
        space, (tiles, _, parallel, _) = self.space, self.choices.supports
        found = self._of_class(genomes, None)
        idle = ~are_working(space, found)
        if tiles == "fixed" or not idle.any():
            return found
        found = self._of_class(genomes, idle)
        rows = np.flatnonzero(~are_working(space, found))
        if len(rows) and parallel == "any":
            adopt(space, rows, genomes.chosen, genomes.tiles, genomes.spread, genomes.share)
            found = self._of_class(genomes, idle)
        return found

    def _of_class(self, genomes: Genomes, idle: Bools | None) -> Candidates:
        """The same; those that are idle get tiles for all sub-clusters."""
        tiles_kind, order_kind, parallel_kind, _ = self.choices.supports
        space, own = self.space, self.own
        fanouts = np.array(space.fanouts)[genomes.chosen].T
        whole = np.repeat(np.array([[float(size)] for _, size in space.dims]), len(genomes), axis=1)
        if space.constraints is not None:
            arrange(space, genomes.orders, genomes.spread, genomes.share)
        if tiles_kind == "fixed":
            genomes.tiles[...] = own.tiles[:, :, None]
        if order_kind == "some":
            genomes.orders[0] = self._orders[:, genomes.orders[0, 0] % self._orders.shape[1]]
            genomes.orders[1] = own.orders[1][:, None]
        elif order_kind == "fixed":
            genomes.orders[...] = own.orders[:, :, None]
        tiles, orders = list(genomes.tiles), list(genomes.orders)
        free = parallel_kind == "any"
        widths = self._pairs(fanouts, genomes) if free else []
        if tiles_kind != "fixed":
            most = widths if free else [self._widest(n, one, whole) for n, one in enumerate(fanouts)]
            self._fit(Drawn(tiles, orders, most[0], whole, whole), most, idle)
        levels, given = list[tuple[Floats, Floats]](), whole
        for number, one in enumerate(tiles):
            wide = widths[number] if free else shared_widths(own.spread[number], fanouts[number], one, given)
            levels.append((np.minimum(one * wide, given), one.copy()))
            given = one
        return Candidates(fanouts, tuple(level_tiles(*pair, at) for pair, at in zip(levels, orders, strict=True)))

    def _pairs(self, fanouts: Ints, genomes: Genomes) -> list[Floats]:
        """How many rows and columns share each dimension, where they share different ones."""
        spread = genomes.spread.copy()
        if len(spread[0]) > 1:
            same = spread[1, 0] == spread[0, 0]
            spread[1, 0] = np.where(same, spread[1, 1], spread[1, 0])
        shares = genomes.share.copy()
        if len(spread[0]) == 1:
            shares[1] = 1.0
        for n, may in ((n, self.space.level(n).may) for n in range(len(fanouts))):
            if may is not None:
                shares[n] = np.where(np.isin(spread[n, 0], may), shares[n], 1.0)
        return [self.widths(fanouts[n], spread[n], shares[n], n) for n in range(len(fanouts))]

    def _widest(self, level: int, fanout: Ints, whole: Floats) -> Floats:
        """As many sub-clusters of a level as each of the dimensions that these share may take."""
        widths = np.ones(whole.shape)
        widths[list(self.own.spread[level])] = fanout
        return widths

    def _fit(self, drawn: Drawn, widths: list[Floats], idle: Bools | None) -> None:
        """Make tiles legal, and cut them to fit the buffers as the class divides them."""
        constraints, tiles, whole = self.space.constraints, drawn.tiles, drawn.whole
        self.repair(tiles, whole)
        if idle is not None:
            busy = [tile.copy() for tile in tiles]
            employ(self.space, busy, widths, whole)
            for tile, cut in zip(tiles, busy, strict=True):
                tile[:, idle] = cut[:, idle]
        if self.capacity is None:
            return
        least = np.full(whole.shape, np.inf)
        least[list(self.space.cut)] = 1.0
        cut_tiles(self.capacity, self.choices.supports, replace(drawn, least=least))
        if constraints is not None:
            self.repair(tiles, whole)

    def genomes(self, found: Candidates) -> Genomes:
        """Genomes of mappings, which express them where these are of the class."""
        space = self.space
        shapes = {shape: number for number, shape in enumerate(space.fanouts)}
        chosen = np.array([shapes.get(tuple(map(int, one)), 0) for one in found.fanouts.T], np.int64)
        tiles = np.array([level.spatial for level in found.levels])
        orders = np.array([level.order for level in found.levels])
        return Genomes(chosen, tiles, orders, *spread_genes(space, found))

    def smallest(self) -> Genomes:
        """
        Genomes with the smallest tiles that constraints leave, one for each shape of the array: if mappings of some
        shape fit the buffers, these are likely to.
        """
        space = self.space
        count, dims = len(space.fanouts), len(space.dims)
        cut = np.array(space.cut, np.int64)
        return Genomes(
            np.arange(count),
            np.ones((space.levels, dims, count)),
            np.broadcast_to(np.arange(dims)[:, None], (space.levels, dims, count)).copy(),
            np.broadcast_to(cut[:, None], (space.levels, len(cut), count)).copy(),
            np.ones((space.levels, count)),
        )


def spread_genes(space: MapSpace, found: Candidates) -> tuple[Ints, Floats]:
    """The genes `spread` and `share` of genomes of which each level spreads the same dimension as a mapping's."""
    cut = np.array(space.cut, np.int64)
    spread, share = list[Ints](), list[Floats]()
    for level in found.levels:
        parts: NDArray[np.bool_] = level.spatial[cut] < level.temporal[cut]
        spread.append(cut[np.argsort(~parts, axis=0, kind="stable")])
        share.append(np.where(parts.any(axis=0), 0.0, 1.0))
    return np.array(spread), np.array(share)
