"""What candidates of a class cost: with the shared buffer as it divides it, and under the constraints of the space."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from npuc.compiler.analysis.mapping.constraints.check import meets
from npuc.compiler.analysis.mapping.exact.arrays import Floats
from npuc.compiler.analysis.mapping.exact.contraction import ROLES
from npuc.compiler.analysis.mapping.exact.volumes import tile
from npuc.compiler.analysis.mapping.flexibility.axes import Supports
from npuc.compiler.explore.mapping.best import MappingCosts
from npuc.compiler.explore.mapping.candidates import Candidates
from npuc.compiler.explore.mapping.capacity import BufferCapacity, Drawn, cut_to_fit
from npuc.compiler.explore.mapping.task import ExactTask


@dataclass(frozen=True)
class EqualParts(BufferCapacity):
    """Buffers of which each tensor has an equal part."""

    def need(self, sizes: Floats, sum_size: float = 1.0) -> Floats:
        """The elements of a buffer whose parts hold tiles of sizes [dimension, mapping]."""
        most = np.zeros(sizes.shape[1:])
        for work in self.works:
            for role in ROLES:
                most = np.maximum(most, (sum_size if role == "O" else 1.0) * tile(work, role, sizes))
        return 2 * len(ROLES) * most


def shared_buffer(capacity: BufferCapacity, supports: Supports) -> BufferCapacity:
    """The shared buffer as the class divides it, without those of processing elements."""
    kind = EqualParts if supports[0] == "some" else BufferCapacity
    return kind(capacity.works, None, capacity.l2, capacity.sum_size)


def cut_tiles(capacity: BufferCapacity, supports: Supports, drawn: Drawn) -> None:
    """Cut tiles in place until they fit, first the elements' buffers, then the shared one as the class divides it."""
    cut_to_fit(replace(capacity, l2=None), drawn)
    cut_to_fit(shared_buffer(capacity, supports), drawn)


def class_costs(task: ExactTask, candidates: Candidates, supports: Supports) -> MappingCosts:
    """
    The costs of candidates; NaN for those that break the constraints of the task's space, and for those whose tiles the
    class's shared buffer does not hold.
    """
    costs, space = task.costs(candidates), task.space
    if space.constraints is not None:
        sizes = [size for _, size in space.dims]
        fine = meets(space.constraints, candidates.fanouts, candidates.levels, sizes, divides=space.divisors)
        costs = replace(costs, cycles=np.where(fine, costs.cycles, np.nan))
    if supports[0] != "some" or task.capacity.l2 is None:
        return costs
    parts = shared_buffer(task.capacity, supports)
    fits = parts.need(candidates.levels[0].temporal, parts.sum_size) <= task.capacity.l2
    return replace(costs, cycles=np.where(fits, costs.cycles, np.nan))
