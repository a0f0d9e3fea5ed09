"""
The kinds of clusters that a machine may have, and what a step takes on each at least.

Sub-clusters of a level come in numbers of a ladder (1, 2, 3, 4, 6, 8, 12, …), to which a search adds the neighbours of
what it finds good. The bound of the mapping search, over all that levels may spread, rules clusters out before anything
is evaluated on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from npuc.compiler.analysis.mapping.exact.arrays import Floats
from npuc.compiler.explore.design.costs import Work
from npuc.compiler.explore.mapping.bounds import CostBound
from npuc.compiler.explore.mapping.space import MapSpace

Fanouts = tuple[int, ...]
MOST_COLUMNS = 1 << 15
"""Spreads whose bounds are found at a time."""


def ladder(most: int) -> list[int]:
    """1, 2, 3, 4, 6, 8, 12, … up to a number."""
    steps = {1} | {1 << n for n in range(most.bit_length())} | {3 << n for n in range(most.bit_length())}
    return sorted(step for step in steps if step <= most)


def clusters_of(most: int, levels: int, demanded: Sequence[Iterable[int]] = ()) -> list[Fanouts]:
    """
    All clusters of so many levels with numbers of the ladder, or `demanded` of a level, and at most so many elements.
    """
    steps = ladder(most)
    each = [sorted({*steps, *own}) for own in demanded] if demanded else [steps] * levels
    return [one for one in product(*each) if prod(one) <= most]


def neighbours(fanouts: Fanouts, most: int) -> list[Fanouts]:
    """Clusters close to some: a level with an element more or less, or with half or twice, a third more or less."""
    found: dict[Fanouts, None] = {}
    for level, size in enumerate(fanouts):
        for other in (size - 1, size + 1, size // 2, 2 * size, round(size * 2 / 3), round(size * 3 / 2)):
            one = (*fanouts[:level], max(other, 1), *fanouts[level + 1 :])
            if prod(one) <= most and one != fanouts:
                found[one] = None
    if len(fanouts) > 1 and fanouts[::-1] != fanouts:
        found[fanouts[::-1]] = None
    return list(found)


def least_times(
    work: Work, space: MapSpace, clusters: Sequence[Fanouts], spread: NDArray[np.bool_] | None = None
) -> Floats:
    """
    The cycles that no mapping of a contraction is below on clusters of each kind, one run of it.

    `spread` are the dimensions that levels may spread, [level, dimension, choice]; None: each level any one, or none.
    """
    bound = CostBound(work.statements, work.array, "time")
    spread = spreads_of(space) if spread is None else spread
    found: list[Floats] = []
    for some in _parts(clusters, spread.shape[2]):
        widths = np.where(spread[:, :, None], np.array(some, float).T[:, None, :, None], 1.0)
        widths = widths.reshape(*spread.shape[:2], -1)
        none = np.zeros((0, *widths.shape[1:]))
        found.append(bound.of(widths, none).reshape(len(some), -1).min(axis=1))
    return np.concatenate(found)


def _parts(clusters: Sequence[Fanouts], choices: int) -> Iterator[Sequence[Fanouts]]:
    each = max(1, MOST_COLUMNS // choices)
    for start in range(0, len(clusters), each):
        yield clusters[start : start + each]


def spreads_of(space: MapSpace) -> NDArray[np.bool_]:
    """All choices of one dimension, or none, that each level may spread: [level, dimension, choice]."""
    choices = np.array(list(product(*(_spread_one(space, level) for level in range(space.levels)))))
    return choices.T[:, None] == np.arange(len(space.dims))[:, None]


def _spread_one(space: MapSpace, level: int) -> list[int]:
    """The dimensions of which a level may spread one, -1: none."""
    own = space.level(level)
    allowed = [-1, *(at for at in space.cut if own.may is None or at in own.may)]
    return [at for at in allowed if set(own.must) <= {at}]


@dataclass
class ClusterTimes:
    """
    What each contraction takes at least on kinds of clusters, one run of it, found once: `times`.

    `spreads` are what levels may spread in each contraction (`least_times`).
    """

    works: Sequence[Work]
    spaces: Sequence[MapSpace]
    spreads: Sequence[NDArray[np.bool_] | None]
    times: dict[Fanouts, Floats] = field(default_factory=dict[Fanouts, Floats])

    def find(self, clusters: Sequence[Fanouts]) -> None:
        """Find the times on these clusters, too."""
        new = [one for one in clusters if one not in self.times]
        if new:
            each = zip(self.works, self.spaces, self.spreads, strict=True)
            found = np.array([least_times(work, space, new, spread) for work, space, spread in each])
            self.times |= {one: found[:, at] for at, one in enumerate(new)}
