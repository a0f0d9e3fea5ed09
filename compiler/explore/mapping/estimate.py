"""
The energy of candidates, estimated from the outermost and the innermost level alone.

The estimate is what the model counts (`analysis/mapping/exact`) where every step has whole tiles. Between two steps a
tensor stays where no loop that indexes it moves on, neither the one that moves nor those inside it, which begin anew.
So it comes once for each step of the loops down to the last one that indexes it, and of windows that slide in that
loop only what is new.
"""

from __future__ import annotations

import numpy as np

from npuc.compiler.analysis.mapping.exact.arrays import Floats, LevelTiles
from npuc.compiler.analysis.mapping.exact.contraction import Contraction
from npuc.compiler.analysis.mapping.exact.volumes import spread_tiles, tile
from npuc.compiler.analysis.mapping.parity import AccessCosts
from npuc.compiler.explore.mapping.candidates import Candidates
from npuc.dialects.mapping import Role


def energy_estimate(work: Contraction, costs: AccessCosts, candidates: Candidates) -> Floats:
    """The energy of candidates in MACs' worth; exact where tiles are whole, except for what is rounded."""
    whole = np.array([[float(size)] for _, size in work.dims])
    first, last = candidates.levels[0], candidates.levels[-1]
    given = whole if len(candidates.levels) == 1 else candidates.levels[-2].spatial
    count = 1.0 if len(candidates.levels) == 1 else np.ceil(whole / given).prod(axis=0)
    outer, inner = _Steps(work, first, whole), _Steps(work, last, given)
    read = outer.comes("I") * tile(work, "I", first.temporal) + outer.comes("W") * tile(work, "W", first.temporal)
    left = outer.comes("O") * tile(work, "O", first.temporal)
    inputs, outputs = tile(work, "I", whole) + tile(work, "W", whole), tile(work, "O", whole)
    back = np.maximum(left - outputs, 0.0)
    received = sum(
        (count * inner.comes(role) * spread_tiles(work, role, last.temporal, last.spatial) for role in ("I", "W")),
        start=np.zeros(len(candidates)),
    )
    l2, l1 = inputs + outputs + read + left + back, 4 * work.macs + received
    return costs.l2 * l2 + costs.l1 * l1 + costs.offchip * (read + left + back) + work.macs


class _Steps:
    """The steps of a level that is given tiles, [dimension, mapping]."""

    def __init__(self, work: Contraction, level: LevelTiles, given: Floats):
        self._work, self._level = work, level
        # Not rounded up: a last step with fewer sub-clusters brings as much less.
        self._count = given / level.temporal
        self._place = np.where(self._count > 1, level.place, -1)

    def comes(self, role: Role) -> Floats:
        """How often the first step's tile of a tensor comes."""
        work, level = self._work, self._level
        rows = [work.names.index(name) for name in work.coupled(role)]
        deepest = self._place[rows].max(axis=0, initial=-1)
        often: Floats = np.where(level.place <= deepest, self._count, 1.0).prod(axis=0)
        for axis in work.axes(role):
            if len(axis.terms) < 2:
                continue
            y, r = (work.names.index(name) for name, _ in axis.terms)
            old, taps = level.temporal[y], level.temporal[r]
            slides = (self._place[y] == deepest) & (deepest >= 0)
            slides &= (level.spatial[[y, r]] == level.temporal[[y, r]]).all(axis=0)
            new = (axis.extent([2 * old, taps]) - axis.extent([old, taps])) / axis.extent([old, taps])
            often = np.where(slides, often * (1 + (self._count[y] - 1) * new) / self._count[y], often)
        return often
