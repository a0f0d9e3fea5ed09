"""
The search task of one contraction: its space, the cost of candidates, and the initial mappings.

    exact     cluster form on the nest's own dimensions, for any contraction
    parity    directives of the layer that the nest is, with MAESTRO's numbers
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Protocol

import numpy as np

from npuc.backends.maestro.batch import evaluate_on
from npuc.backends.maestro.machine import MappedMachine
from npuc.compiler.analysis.mapping.batch.build import mapping_of
from npuc.compiler.analysis.mapping.columns import columns
from npuc.compiler.analysis.mapping.constraints.broken import meets_all
from npuc.compiler.analysis.mapping.convert import layer_clusters, to_clusters
from npuc.compiler.analysis.mapping.coverage import coverage
from npuc.compiler.analysis.mapping.exact.contraction import Contraction, contraction_of, contraction_of_statement
from npuc.compiler.analysis.mapping.levels import Unmappable
from npuc.compiler.analysis.mapping.named.clusters import named_clusters
from npuc.compiler.analysis.mapping.named.directives import mapping_for
from npuc.compiler.analysis.mapping.named.templates import TEMPLATES
from npuc.compiler.analysis.mapping.parity import analyse
from npuc.compiler.explore.mapping.best import MappingCost, MappingCosts, Objective, exact_cost, exact_costs
from npuc.compiler.explore.mapping.bounds import CostBound
from npuc.compiler.explore.mapping.candidates import Candidates, smallest
from npuc.compiler.explore.mapping.capacity import BufferCapacity
from npuc.compiler.explore.mapping.directives import as_directives, directive_space
from npuc.compiler.explore.mapping.received import ElementBuffers
from npuc.compiler.explore.mapping.space import MapSpace, space_of
from npuc.dialects.mapping import ClusterLevel, Clusters, Mapping, MappingAttr, Problem, TileLoop, shared_mapping
from npuc.dialects.npu.nest import Nest


class SearchTask(Protocol):
    """A search for the mapping of one contraction."""

    @property
    def space(self) -> MapSpace:
        """The space of mappings."""
        ...

    @property
    def capacity(self) -> BufferCapacity:
        """The capacity of the machine's buffers for this contraction."""
        ...

    @property
    def content(self) -> tuple[object, ...]:
        """What costs depend on, whose `repr` is the same in every process."""
        ...

    def costs(self, candidates: Candidates) -> MappingCosts:
        """The costs of candidates."""
        ...

    def known(self) -> Iterator[tuple[Clusters | Mapping, MappingCost]]:
        """Initial mappings that can be run, the default one first."""
        ...

    def default(self) -> MappingCost | None:
        """The cost of the mapping that the contraction has without a search; None if it cannot be run."""
        ...

    @property
    def allows_default(self) -> bool:
        """Whether that mapping, if there is one, meets the constraints; True where there are none."""
        ...

    def bound(self, objective: Objective) -> CostBound | None:
        """Lower bounds of what mappings cost; None where the model has none."""
        ...

    def least(self, objective: Objective) -> float | None:
        """The objective that no mapping of the space is below; None where that is not known."""
        ...

    def attribute(self, found: Candidates | Clusters | Mapping) -> MappingAttr:
        """A mapping as the contraction's attribute."""
        ...


@dataclass(frozen=True)
class ExactTask:
    """A contraction in cluster form; `works` are its statements. Capacities are in the contraction's elements."""

    nest: Nest
    has: MappingAttr | None
    machine: MappedMachine
    space: MapSpace

    @property
    def works(self) -> tuple[Contraction, ...]:
        """The statements, one after another."""
        return tuple(contraction_of_statement(self.nest, one) for one in self.nest.statements)

    @property
    def content(self) -> tuple[object, ...]:
        """The statements and the machine."""
        return "exact", self.works, self.machine.array, self.machine.buffers

    @property
    def capacity(self) -> BufferCapacity:
        """The machine's buffers."""
        l1, l2, l1_sum, l2_sum = self.machine.buffers
        return BufferCapacity(self.works, l1, l2, float(l2_sum), float(l1_sum))

    def costs(self, candidates: Candidates) -> MappingCosts:
        """Exact costs."""
        l1, _, l1_sum, l2_sum = self.machine.buffers
        return exact_costs(self.works, candidates, self.machine.array, l1, float(l2_sum), float(l1_sum))

    def known(self) -> Iterator[tuple[Clusters, MappingCost]]:
        """The mapping that the nest has, named ones, and the one with the smallest tiles."""
        pes = self.machine.array.num_pes
        found = [self.own()]
        found += [named_clusters(template, self.nest, self.nest.statements[0], pes) for template in TEMPLATES]
        found.append(Clusters((ClusterLevel(pes, tuple(TileLoop(dim, 1, 1) for dim in self.nest.sizes)),)))
        for one in dict.fromkeys(one for one in found if one is not None):
            if self.allows(one):
                yield one, self._cost(one)

    def allows(self, mapping: Clusters) -> bool:
        """Whether a mapping meets the constraints of the space; one of fewer levels has nothing at those inside."""
        constraints = self.space.constraints
        return constraints is None or meets_all(constraints, self.works[0], mapping, divides=self.space.divisors)

    def default(self) -> MappingCost | None:
        """The exact cost of the mapping that the nest has."""
        own = self.own()
        return None if own is None else self._cost(own)

    @property
    def allows_default(self) -> bool:
        """Whether the mapping that the nest has meets the constraints."""
        own = self.own()
        return own is None or self.allows(own)

    def _cost(self, mapping: Clusters) -> MappingCost:
        l1, _, l1_sum, l2_sum = self.machine.buffers
        return exact_cost(self.works, mapping, self.machine.array, l1, float(l2_sum), float(l1_sum))

    def own(self) -> Clusters | None:
        """The mapping that the nest has, in cluster form, if it has one and the machine is large enough."""
        if self.has is None:
            return None
        pes = self.machine.array.num_pes
        try:
            own = self.has.data if isinstance(self.has.data, Clusters) else to_clusters(self.has.data, self.nest, pes)
        except Unmappable:
            return None
        return None if isinstance(own, str) or own.processing_elements > pes else own

    def bound(self, objective: Objective) -> CostBound:
        """Lower bounds of exact costs."""
        l1, _, l1_sum, _ = self.machine.buffers
        elements = None if l1 is None else ElementBuffers(self.space, l1, float(l1_sum))
        return CostBound(self.works, self.machine.array, objective, elements)

    def least(self, objective: Objective) -> float:
        """The lower bound of the whole space."""
        return self.bound(objective).of_space(self.space)

    def attribute(self, found: Candidates | Clusters | Mapping) -> MappingAttr:
        """In cluster form."""
        return shared_mapping(found.mapping(0, self.space.dims) if isinstance(found, Candidates) else found)


@dataclass(frozen=True)
class ParityTask:
    """A layer in MAESTRO's terms, by directives, with MAESTRO's numbers."""

    problem: Problem
    has: Mapping | None
    machine: MappedMachine
    space: MapSpace

    @property
    def content(self) -> tuple[object, ...]:
        """The layer and the machine."""
        return self.machine.mode, self.problem, self.machine.array

    @property
    def capacity(self) -> BufferCapacity:
        """The capacity of the machine's buffers, or, if larger, of the smallest tiles that directives can express."""
        return self._capacity

    @cached_property
    def _capacity(self) -> BufferCapacity:
        """
        The capacity of the machine's buffers, or, if larger, of the smallest tiles that directives can express.

        Directives hold whole windows in an element, which do not fit on many machines.
        """
        least = self.costs(smallest(self.space)).row(0)
        sizes = ((self.machine.l1_size, least.l1), (self.machine.l2_size, least.l2))
        l1, l2 = (None if size is None else max(size, int(need) if isfinite(need) else 0) for size, need in sizes)
        return BufferCapacity((contraction_of(self.problem),), l1, l2)

    def costs(self, candidates: Candidates) -> MappingCosts:
        """MAESTRO's costs; NaN for mappings that it rejects or credits with more MACs per cycle than there are."""
        written = as_directives(self.problem, candidates)
        table = evaluate_on(self.problem, written, self.machine.array, self.machine.mode)
        cycles = table["runtime_cycles"]
        cycles = np.where(cycles * self.machine.peak >= self.problem.macs, cycles, np.nan)
        return MappingCosts(cycles, table["energy_total_mac_units"], table["l1_size_req"], table["l2_size_req"])

    def known(self) -> Iterator[tuple[Mapping, MappingCost]]:
        """
        The mapping that the layer has, and named ones, without those that omit points or compute some twice.
        """
        pes = self.machine.array.num_pes
        found = [self.has, *(mapping_for(template, self.problem, pes) for template in TEMPLATES)]
        for one in dict.fromkeys(one for one in found if one is not None):
            cost = self._cost(one) if not coverage(one, pes) and self.allows(one) else None
            if cost is not None and cost.cycles * self.machine.peak >= self.problem.macs:
                yield one, cost

    def allows(self, mapping: Mapping) -> bool:
        """Whether a mapping is one of cuts, which constraints are about, and meets those of the space, if any."""
        constraints, divides = self.space.constraints, self.space.divisors
        if constraints is None:
            return True
        own = layer_clusters(mapping, self.machine.array.num_pes)
        return isinstance(own, Clusters) and meets_all(constraints, contraction_of(self.problem), own, divides=divides)

    def default(self) -> MappingCost | None:
        """MAESTRO's cost of the mapping that the layer has."""
        return None if self.has is None else self._cost(self.has)

    @property
    def allows_default(self) -> bool:
        """Whether the mapping that the layer has meets the constraints."""
        return self.has is None or self.allows(self.has)

    def _cost(self, mapping: Mapping) -> MappingCost | None:
        array = self.machine.array
        try:
            row = columns(analyse(mapping, array), array, len(mapping.levels))
        except Unmappable:
            return None
        names = ("runtime_cycles", "energy_total_mac_units", "l1_size_req", "l2_size_req")
        cycles, energy, l1, l2 = (np.nan if row[name] is None else float(row[name] or 0) for name in names)
        return MappingCost(cycles, energy, l1, l2)

    def bound(self, objective: Objective) -> None:
        """None: MAESTRO's counts are approximations, which no bound holds for."""

    def least(self, objective: Objective) -> float | None:
        """The cycles of all MACs at the array's peak, below which nothing is a candidate."""
        return float(-(-self.problem.macs // self.machine.peak)) if objective == "time" else None

    def attribute(self, found: Candidates | Clusters | Mapping) -> MappingAttr:
        """By directives."""
        if isinstance(found, Candidates):
            return shared_mapping(mapping_of(self.problem, as_directives(self.problem, found), 0))
        return shared_mapping(found)


def exact_task(
    nest: Nest, has: MappingAttr | None, machine: MappedMachine, levels: int, parallel: int, *, divisors: bool
) -> ExactTask:
    """The search in cluster form."""
    return ExactTask(nest, has, machine, space_of(nest, machine.array.num_pes, levels, parallel, divisors=divisors))


def parity_task(
    problem: Problem, has: Mapping | None, machine: MappedMachine, levels: int, *, divisors: bool
) -> ParityTask:
    """The search by directives."""
    space = directive_space(problem, machine.array.num_pes, levels, divisors=divisors)
    return ParityTask(problem, has, machine, space)
