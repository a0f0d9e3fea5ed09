"""
The search loop: a mapper proposes candidates, which are costed in batches, and the best is recorded.

Ties go to the candidate with less of the other measure, then to the earlier one; known mappings come first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from npuc.compiler.analysis.mapping.exact.arrays import Floats, cluster_arrays
from npuc.compiler.analysis.mapping.exact.columns import columns_of, run_exact
from npuc.compiler.analysis.mapping.exact.contraction import Contraction
from npuc.compiler.analysis.mapping.exact.refetch import refetched
from npuc.compiler.analysis.mapping.parity import PeArray
from npuc.compiler.explore.mapping.candidates import Candidates, Mapper
from npuc.dialects.mapping import Clusters, Mapping

Objective = Literal["time", "energy", "edp"]
OBJECTIVES: tuple[Objective, ...] = ("time", "energy", "edp")
BATCH = 2048
"""Candidates whose costs are found at a time."""


@dataclass(frozen=True)
class MappingCosts:
    """
    The costs of candidates: cycles, energy in MACs' worth, and elements in the buffers; NaN for invalid candidates.

    `carried`: whether all transfers fit into these cycles, including those that the model does not charge, and
    `buffered`: whether clusters can buffer everything that their steps refetch (`exact.refetch`). None where the model
    does not know.
    """

    cycles: Floats
    energy: Floats
    l1: Floats
    l2: Floats
    carried: NDArray[np.bool_] | None = None
    buffered: NDArray[np.bool_] | None = None

    def of(self, objective: Objective) -> Floats:
        """The value of an objective."""
        chosen = {"time": self.cycles, "energy": self.energy}.get(objective)
        return self.cycles * self.energy if chosen is None else chosen

    def row(self, row: int) -> MappingCost:
        """The costs of one candidate."""
        cycles, energy, l1, l2 = (float(values[row]) for values in (self.cycles, self.energy, self.l1, self.l2))
        carried, buffered = (one is None or bool(one[row]) for one in (self.carried, self.buffered))
        return MappingCost(cycles, energy, l1, l2, carried, buffered)


@dataclass(frozen=True)
class MappingCost:
    """
    The cost of one mapping: cycles, energy in MACs' worth, elements in a processing element's buffer and in L2.

    `carried` and `buffered` are as in `MappingCosts`.
    """

    cycles: float
    energy: float
    l1: float
    l2: float
    carried: bool = True
    buffered: bool = True

    def of(self, objective: Objective) -> float:
        """The value of an objective."""
        return {"time": self.cycles, "energy": self.energy, "edp": self.cycles * self.energy}[objective]

    @property
    def costs(self) -> MappingCosts:
        """The same as the costs of one candidate."""
        cycles, energy, l1, l2 = (np.array([value]) for value in (self.cycles, self.energy, self.l1, self.l2))
        return MappingCosts(cycles, energy, l1, l2, np.array([self.carried]), np.array([self.buffered]))


@dataclass(frozen=True)
class Limits:
    """The elements that fit into the buffers; None: no limit."""

    l1: int | None = None
    l2: int | None = None

    def fit(self, costs: MappingCosts, objective: Objective) -> NDArray[np.bool_]:
        """
        The candidates that the machine can run at their cost.

        The model charges no energy for refetches inside clusters, so for objectives with energy they must be buffered.
        """
        fine = np.isfinite(costs.cycles) & (costs.cycles > 0) & np.isfinite(costs.energy)
        for need, size in ((costs.l1, self.l1), (costs.l2, self.l2)):
            fine &= True if size is None else need <= size
        for true in (costs.carried, costs.buffered if objective != "time" else None):
            fine &= True if true is None else true
        return fine


Evaluate: TypeAlias = Callable[[Candidates], MappingCosts]


def exact_costs(
    works: tuple[Contraction, ...],
    candidates: Candidates,
    array: PeArray,
    l1_size: int | None = None,
    sum_size: float = 1.0,
    l1_sum_size: float = 1.0,
) -> MappingCosts:
    """
    The exact costs of candidates for statements one after another; a buffer is as large as the largest need.

    `l1_size` is the size of a processing element's buffer, unlimited if None; `sum_size` are the elements of the shared
    buffer that a partial sum takes, `l1_sum_size` those of a processing element's.
    """
    levels, inside = list(candidates.levels), candidates.fanouts[1:].prod(axis=0)
    tables: list[dict[str, Floats]] = []
    carried, buffered = np.ones(len(candidates), bool), np.ones(len(candidates), bool)
    with np.errstate(all="ignore"):
        for work in works:
            run = run_exact(work, levels, array)
            tables.append(columns_of(work, levels, run, array))
            refetch = refetched(work, levels, run, array, inside, l1_size, l1_sum_size)
            carried &= refetch.network <= tables[-1]["runtime_cycles"]
            buffered &= refetch.buffered
    cycles, energy = (
        np.sum([table[name] for table in tables], axis=0) for name in ("runtime_cycles", "energy_total_mac_units")
    )
    l1 = np.max([with_sums(table["l1_size_req"], table["output_l1_size_req"], l1_sum_size) for table in tables], axis=0)
    l2 = np.max([with_sums(table["l2_size_req"], table["output_l2_size_req"], sum_size) for table in tables], axis=0)
    return MappingCosts(cycles, energy, l1, l2, carried, buffered)


def with_sums(elements: Floats, outputs: Floats, sum_size: float) -> Floats:
    """The size of `elements`, of which `outputs` are partial sums that take `sum_size` elements each."""
    return elements + (sum_size - 1) * outputs


def exact_cost(
    works: tuple[Contraction, ...],
    mapping: Clusters,
    array: PeArray,
    l1_size: int | None = None,
    sum_size: float = 1.0,
    l1_sum_size: float = 1.0,
) -> MappingCost:
    """What one mapping costs exactly; sizes as of `exact_costs`."""
    fanouts = np.array([[level.fanout] for level in mapping.levels])
    one = Candidates(fanouts, tuple(cluster_arrays(works[0], [mapping])))
    return exact_costs(works, one, array, l1_size, sum_size, l1_sum_size).row(0)


@dataclass
class BestMapping:
    """
    The best so far; `curve` holds the numbers of candidates after which the cost fell, with the new cost.

    `found` is a mapping that was known, or holds the candidate alone; None before any fits.
    """

    objective: Objective
    limits: Limits
    evaluations: int = 0
    key: tuple[float, float] = (np.inf, np.inf)
    cost: MappingCost | None = None
    found: Candidates | Clusters | Mapping | None = None
    curve: list[tuple[int, float]] = field(default_factory=list[tuple[int, float]])

    def add_known(self, mapping: Clusters | Mapping, cost: MappingCost) -> None:
        """Consider a mapping that no mapper has proposed."""
        self.add(mapping, cost.costs)

    def add(self, batch: Candidates | Clusters | Mapping, costs: MappingCosts) -> Floats:
        """Consider candidates; returns their costs, infinite where they do not fit."""
        values = np.where(self.limits.fit(costs, self.objective), costs.of(self.objective), np.inf)
        others = costs.of("time" if self.objective == "energy" else "energy")
        running = np.minimum.accumulate(np.minimum(values, self.key[0]))
        fell = np.flatnonzero(running < np.concatenate([[self.key[0]], running[:-1]]))
        self.curve += [(self.evaluations + int(at) + 1, float(values[at])) for at in fell]
        row = int(np.lexsort((np.arange(len(values)), others, values))[0])
        key = float(values[row]), float(others[row])
        if np.isfinite(key[0]) and key < self.key:
            self.key, self.cost = key, costs.row(row)
            self.found = batch.part(slice(row, row + 1)) if isinstance(batch, Candidates) else batch
        self.evaluations += len(values)
        return values


def search(mapper: Mapper, evaluate: Evaluate, best: BestMapping, budget: int, note: Callable[[Floats], None]) -> None:
    """
    Let a mapper propose up to `budget` candidates, or all it has, and keep the best of them in `best`.

    `note` gets the costs of the candidates of each batch, as the mapper is told them.
    """
    left = budget
    while left > 0:
        batch = mapper.propose(min(BATCH, left))
        if batch is None or not len(batch):
            return
        costs = best.add(batch, evaluate(batch))
        mapper.tell(costs)
        left -= len(batch)
        note(costs)
