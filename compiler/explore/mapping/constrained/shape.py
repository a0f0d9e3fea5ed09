"""Genes in a shape that constraints allow, in place: orders, what is spread, tiles that give elements work."""

from __future__ import annotations

import numpy as np

from npuc.compiler.analysis.mapping.constraints.limits import LevelConstraint
from npuc.compiler.analysis.mapping.exact.arrays import Floats, Ints
from npuc.compiler.explore.mapping.constrained.legal import arranged
from npuc.compiler.explore.mapping.constrained.possible import Witness, witnesses
from npuc.compiler.explore.mapping.space import MapSpace

MOST_WITNESSES = 64
"""The choices of clusters and spread dimensions that take the place of those which leave too many elements idle."""


def arrange(space: MapSpace, orders: Ints, spread: Ints, share: Floats) -> None:
    """Give loops an order that is allowed, and have those dimensions first that must be spread (genes as `Genomes`)."""
    for level in range(space.levels):
        own = space.level(level)
        orders[level] = arranged(orders[level], own.before)
        if own.must or own.may is not None:
            rank = np.array([_rank(own, at) for at in range(len(space.dims))])
            order = np.argsort(rank[spread[level]], axis=0, kind="stable")
            spread[level] = np.take_along_axis(spread[level], order, axis=0)
        if own.must:  # a share of 1 would spread nothing
            share[level] = np.where(share[level] < 1, share[level], 0.0)


def _rank(level: LevelConstraint, at: int) -> int:
    """The place of a dimension among those that a level spreads: those that must be first, those that may not last."""
    return 0 if at in level.must else 1 if level.may is None or at in level.may else 2


def employ(space: MapSpace, tiles: list[Floats], widths: list[Floats], whole: Floats) -> None:
    """Cut tiles so that each sub-cluster of a level gets one, as far as that is allowed."""
    given = whole
    for level, (tile, wide) in enumerate(zip(tiles, widths, strict=True)):
        for at, legal in enumerate(space.legal):
            each: Floats = np.floor(given[at] / wide[at])
            most: Floats = np.where(wide[at] > 1, np.maximum(each, 1.0), tile[at])
            tile[at] = legal.repaired(level, given[at], np.minimum(tile[at], most))
        given = tile


def adopt(space: MapSpace, rows: Ints, chosen: Ints, tiles: Floats, spread: Ints, share: Floats) -> None:
    """Let some genomes have clusters, spread dimensions and tiles that give enough elements work."""
    known = witnesses(space, MOST_WITNESSES)
    for number, one in enumerate(known):
        own = rows[number :: len(known)]
        chosen[own] = one.number
        tiles[:, :, own] = np.array(one.chains, float).T[:, :, None]
        for level in range(space.levels):
            order, part = _genes(space, level, one)
            spread[level][:, own] = np.array(order)[:, None]
            share[level, own] = part


def _genes(space: MapSpace, level: int, one: Witness) -> tuple[list[int], float]:
    """The order of spread dimensions, and the share of the choices of widths, that spread as a witness does."""
    own = space.level(level)
    pairs = sorted(one.spreads[level], key=lambda pair: (_rank(own, pair[0]), pair[0]))
    first = [at for at, _ in pairs]
    order = first + [at for at in space.cut if at not in first]
    if not pairs:
        return order, 1.0
    choices = space.widths(level, space.fanouts[one.number][level])
    widths = tuple(width for _, width in pairs)
    # Where one dimension alone can be spread it takes all sub-clusters, which gives no fewer of them work.
    number = choices.index(widths) if widths in choices else choices.index((space.fanouts[one.number][level],))
    return order, (number + 0.5) / len(choices)
