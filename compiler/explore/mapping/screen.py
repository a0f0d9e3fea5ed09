"""
Which candidates are worth evaluating: what they cost at least in time and about in energy, and whether clusters can
buffer what they refetch.

All take a small part of the time that an evaluation takes, so that a mapper can choose among several times as many
candidates as it proposes. The bound of time holds; the energy is exact for most candidates with whole tiles
(`estimate`); what is refetched is found from the order of loops alone, which is wrong for one in a hundred.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npuc.compiler.analysis.mapping.exact.arrays import Floats
from npuc.compiler.analysis.mapping.exact.contraction import ROLES, Contraction
from npuc.compiler.analysis.mapping.exact.steps import Bools
from npuc.compiler.analysis.mapping.exact.volumes import tile
from npuc.compiler.explore.mapping.bounds import CostBound
from npuc.compiler.explore.mapping.candidates import Candidates
from npuc.compiler.explore.mapping.capacity import BufferCapacity
from npuc.compiler.explore.mapping.estimate import energy_estimate
from npuc.compiler.explore.mapping.space import MapSpace
from npuc.dialects.mapping import Role


@dataclass(frozen=True)
class Screen:
    """What is known of candidates before they are evaluated, for an objective and the machine's buffers."""

    space: MapSpace
    bound: CostBound
    capacity: BufferCapacity

    def costs(self, candidates: Candidates) -> Floats:
        """About what each candidate costs, no less in time; infinite where it is likely that no machine runs it so."""
        costs = np.ones(len(candidates))
        if self.bound.objective != "energy":
            widths = np.array([np.ceil(one.temporal / one.spatial) for one in candidates.levels])
            costs = self.bound.time(widths, np.array([one.spatial for one in candidates.levels]))
        if self.bound.objective == "time":
            return costs
        each = self.bound.array.costs
        costs = costs * np.sum([energy_estimate(work, each, candidates) for work in self.bound.works], axis=0)
        if self.capacity.l1 is None:
            return costs
        return np.where(self._buffered(candidates, self.capacity.l1), costs, np.inf)

    def _buffered(self, candidates: Candidates, l1_size: int) -> Bools:
        """Whether the elements of a cluster can hold two tiles of each tensor that its steps refetch."""
        most = candidates.fanouts[1:].prod(axis=0) * float(l1_size)
        fine = np.ones(len(candidates), bool)
        for work in self.capacity.works:
            need = np.zeros(len(candidates))
            for role in ROLES:
                size = self.capacity.l1_sum_size if role == "O" else 1.0
                kept = 2 * size * tile(work, role, candidates.levels[0].spatial)
                need += kept * _refetched(self.space, work, role, candidates)
            fine &= need <= most
        return fine


def _refetched(space: MapSpace, work: Contraction, role: Role, candidates: Candidates) -> Bools:
    """
    Whether elements of a tensor that came to a cluster once come to its elements again.

    They do where a loop that does not index the tensor has a loop inside that does, both of the levels inside and with
    several steps; where the tensor stays for the next step of the outermost level; and where windows that overlap slide
    outside, or do not slide inside.
    """
    index = np.array([name in work.coupled(role) for name in work.names])
    given = np.array([[float(size)] for _, size in space.dims])
    found = outside = np.zeros(len(candidates), bool)
    for number, level in enumerate(candidates.levels):
        moves = level.temporal < given
        moving, indexes = np.take_along_axis(moves, level.order, axis=0), index[level.order]
        if number == 0:
            last = len(moving) - 1 - moving[::-1].argmax(axis=0)
            stays = ~np.take_along_axis(indexes, last[None], axis=0)[0]
            found = found | (stays & moving.any(axis=0))
        else:
            other = np.cumsum(moving & ~indexes, axis=0)
            found = found | ((outside | (other > 0)) & moving & indexes).any(axis=0)
            outside = outside | (other[-1] > 0)
        for axis in work.axes(role):
            if len(axis.terms) > 1:
                y, r = (work.names.index(dim) for dim, _ in axis.terms)
                slides = (level.spatial == level.temporal)[[y, r]].all(axis=0)
                if number:
                    found = found | (moves[r] & (given[y] > 1)) | (moves[y] & (level.temporal[r] > 1) & ~slides)
                else:
                    found = found | (moves[y] & (level.temporal[r] > 1) & slides)
        given = level.spatial
    return found
