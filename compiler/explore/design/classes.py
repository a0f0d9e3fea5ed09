"""
The class of flexibility of a machine as a variable of its design (the axes of `npuc flexibility`).

On an axis that is fixed all contractions have what the machine's dataflow chooses for them: its tiles, cut where the
buffers are too small for them; its order of loops; its parallel dimensions; or one shape of the array, the clusters of
the machine. Buffers have one pool for all tensors. Choice itself has no area and no energy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from npuc.compiler.analysis.mapping.exact.arrays import Floats, Ints, level_tiles
from npuc.compiler.analysis.mapping.flexibility.axes import AXES, Supports, class_of, classes
from npuc.compiler.core.errors import UsageError
from npuc.compiler.explore.design.clusters import Fanouts, spreads_of
from npuc.compiler.explore.flexibility.expression import spread_genes
from npuc.compiler.explore.flexibility.own import LEVELS, OwnMapping, shared_widths
from npuc.compiler.explore.mapping.candidates import Candidates
from npuc.compiler.explore.mapping.capacity import Drawn
from npuc.compiler.explore.mapping.constrained.possible import on_clusters
from npuc.compiler.explore.mapping.genomes import Expression, Genomes
from npuc.compiler.explore.mapping.space import MapSpace

DEFAULT_CLASS: Supports = ("any", "any", "any", "fixed")
"""Any mapping, all on the same clusters."""
EVERY = "any"
CUTS = 3
"""
The ways in which tiles of a dataflow are cut to fit buffers: no further than they must; those of rows then to what
their columns share, so that nothing is brought again; all to the smallest.
"""


def classes_named(text: str) -> tuple[Supports, ...]:
    """Classes by their bits, `0000,1110`, or `any`: all sixteen; subsets first. Raises `UsageError`."""
    known = {class_of(one): one for one in classes()}
    names = [*known] if text.strip() == EVERY else [one.strip() for one in text.split(",")]
    for name in names:
        if name not in known:
            raise UsageError(
                f"--class {name}: expected four bits, for tiles, order, parallel dimensions and shape, or any",
                hint="--class 1110 is free on all axes but the shape of the array",
            )
    return tuple(known[name] for name in sorted(set(names), key=rank))


def rank(name: str) -> tuple[int, str]:
    """What classes are sorted by, so that subsets are before supersets: the number of free axes, then the bits."""
    return name.count("1"), name


def is_free(supports: Supports) -> bool:
    """Whether mappings are free on all axes but the shape of the array."""
    return set(supports[:-1]) == {"any"}


def is_wired(supports: Supports) -> bool:
    """Whether a contraction has a single mapping on clusters of one kind."""
    return set(supports[:-1]) == {"fixed"}


def of_any_shape(supports: Supports) -> Supports:
    """The class of the mappings of a class, whatever the clusters."""
    return supports[0], supports[1], supports[2], "fixed"


def check_levels(supports: Sequence[Supports], levels: int) -> None:
    """Raise `UsageError` where mappings of a dataflow have another number of levels."""
    fixed = next((one for one in supports if not is_free(one)), None)
    if fixed is not None and levels != LEVELS:
        axes = ", ".join(axis for axis, support in zip(AXES[:-1], fixed, strict=False) if support == "fixed")
        raise UsageError(
            f"class {class_of(fixed)} has the dataflow's {axes}, on {LEVELS} levels of clusters, and not {levels}",
            hint=f"--levels {LEVELS}",
        )


def class_space(space: MapSpace, fanouts: Fanouts, supports: Supports) -> MapSpace:
    """A space on clusters for a class; the choice of clusters is that of the cut (`CUTS`) where tiles are fixed."""
    if supports[0] == "any":
        return on_clusters(space, fanouts)
    return replace(space, fanouts=(fanouts,) * CUTS, divisors=False)


def class_spreads(space: MapSpace, own: OwnMapping | None, supports: Supports) -> NDArray[np.bool_] | None:
    """
    What levels may spread at most in a class, for `least_times`; None: one dimension each, any.

    A class with any parallel dimensions has the dataflow's, too, which may be several at a level.
    """
    if own is None:
        return None
    known = np.zeros((LEVELS, len(space.dims), 1), bool)
    for level, dims in enumerate(own.spread):
        known[level, list(dims)] = True
    return known if supports[2] == "fixed" else np.concatenate([spreads_of(space), known], axis=2)


@dataclass(frozen=True)
class DataflowExpression(Expression):
    """The mappings of a class that genomes express; genes that are not free become those of the mappings."""

    supports: Supports
    own: OwnMapping

    def candidates(self, genomes: Genomes) -> Candidates:
        """The mappings that genomes express on the clusters of the space."""
        tiles_kind, order_kind, parallel_kind, _ = self.supports
        space, own, fanouts = self.space, self.own, np.array(self.space.fanouts)[genomes.chosen].T
        whole = np.repeat(np.array([[float(size)] for _, size in space.dims]), len(genomes), axis=1)
        if tiles_kind == "fixed":
            genomes.tiles[...] = own.tiles[:, :, None]
        if order_kind == "fixed":
            genomes.orders[...] = own.orders[:, :, None]
        tiles, orders = list(genomes.tiles), list(genomes.orders)
        self.repair(tiles, whole)
        free: list[Floats] = []
        if parallel_kind == "any":
            free = [self.widths(fanouts[n], genomes.spread[n], genomes.share[n], n) for n in range(LEVELS)]
        least = np.full(whole.shape, np.inf)
        least[list(space.cut)] = 1.0
        self.fit(Drawn(tiles, orders, free[0] if free else self._widest(0, fanouts, whole), whole, least))
        if tiles_kind == "fixed":
            self._cut(genomes, tiles, free[1] if free else self._widest(1, fanouts, whole))
        levels, given = list[tuple[Floats, Floats]](), whole
        for number, tile in enumerate(tiles):
            wide = free[number] if free else shared_widths(own.spread[number], fanouts[number], tile, given)
            levels.append((np.minimum(tile * wide, given), tile.copy()))
            given = tile
        found = Candidates(fanouts, tuple(level_tiles(*pair, at) for pair, at in zip(levels, orders, strict=True)))
        if not free:
            genomes.spread[...], genomes.share[...] = spread_genes(space, found)
        return found

    def _widest(self, level: int, fanouts: Ints, whole: Floats) -> Floats:
        """As many sub-clusters as each of the dimensions that a level of the dataflow spreads may take."""
        widths = np.ones(whole.shape)
        widths[list(self.own.spread[level])] = fanouts[level]
        return widths

    def _cut(self, genomes: Genomes, tiles: list[Floats], columns: Floats) -> None:
        """Cut tiles further, in the way that each genome chooses."""
        outer, inner = tiles
        shared = genomes.chosen == 1
        outer[:, shared] = np.minimum(outer, inner * columns)[:, shared]
        cut, smallest = np.array(self.space.cut, np.int64), np.flatnonzero(genomes.chosen == 2)
        for tile in tiles:
            tile[np.ix_(cut, smallest)] = 1.0
