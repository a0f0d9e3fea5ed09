"""
The machine of class 0000 that is best for several networks: one mapping for all of their contractions.

The genetic search of `npuc map` searches mappings of the roles of dimensions, each of which is costed on every
contraction. The best has the least geometric mean of the networks' times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from npuc.compiler.analysis.mapping.exact.arrays import Floats
from npuc.compiler.core.errors import CapacityError
from npuc.compiler.explore.flexibility.wired import WiredMappings, capacity_of_roles, space_of_roles
from npuc.compiler.explore.mapping.best import BestMapping, Limits, MappingCosts, search
from npuc.compiler.explore.mapping.candidates import Candidates
from npuc.compiler.explore.mapping.capacity import BufferCapacity
from npuc.compiler.explore.mapping.genomes import Expression
from npuc.compiler.explore.mapping.mappers.genetic import GeneticMapper
from npuc.dialects.mapping import Clusters
from npuc.studies.flexion.networks import MappedNetwork
from npuc.studies.flexion.settings import FIXED


@dataclass(frozen=True)
class WiredMachine:
    """A machine with one mapping: as arrays, as text in roles, and the geometric mean of the times, in cycles."""

    wired: WiredMappings
    mapping: Clusters
    cycles: float


def best_machine(networks: Sequence[MappedNetwork], evaluations: int, seed: int = 0) -> WiredMachine:
    """
    The best of so many machines for these networks. The same seed finds the same.

    Raises `CapacityError` where no machine that was tried can run them all.
    """
    tasks = tuple(task for network in networks for task, _ in network.contractions)
    space = space_of_roles(tasks, networks[0].machine.mapped.array.num_pes)
    capacity = capacity_of_roles(space, _least([task.capacity for task in tasks]))
    best = BestMapping("time", Limits())
    mapper = GeneticMapper(space, seed, capacity, expression=Expression(space, capacity))
    search(mapper, lambda candidates: _costs(networks, candidates), best, evaluations, lambda costs: None)
    if best.cost is None or not isinstance(best.found, Candidates):
        names = ", ".join(network.name for network in networks)
        raise CapacityError(
            f"none of {evaluations:,} mappings can be wired into {networks[0].hardware.name} for {names}",
            hint="--evaluations with more of them, or a larger maestro.l1_size",
        )
    return WiredMachine(WiredMappings.of(best.found), best.found.mapping(0, space.dims), best.cost.cycles)


def wired_cycles(network: MappedNetwork, wired: WiredMappings) -> Floats:
    """The cycles of a network with each of the mappings wired in; infinite where the machine cannot run it."""
    total = np.zeros(len(wired))
    for task, count in network.contractions:
        costs = task.costs(wired.candidates(task, FIXED))
        fits = Limits(task.capacity.l1, task.capacity.l2).fit(costs, "time")
        total += count * np.where(fits, costs.cycles, np.inf)
    return total


def _costs(networks: Sequence[MappedNetwork], candidates: Candidates) -> MappingCosts:
    """The geometric means of the networks' times as costs, all else alike."""
    wired = WiredMappings.of(candidates)
    means = np.exp(np.mean([np.log(wired_cycles(network, wired)) for network in networks], axis=0))
    alike = np.zeros(len(wired))
    return MappingCosts(means, alike, alike, alike)


def _least(several: Sequence[BufferCapacity]) -> BufferCapacity:
    """The smallest of the buffers, as contractions of different types count them."""
    l1, l2 = (
        min((size for size in sizes if size is not None), default=None)
        for sizes in ([one.l1 for one in several], [one.l2 for one in several])
    )
    return replace(several[0], l1=l1, l2=l2)
