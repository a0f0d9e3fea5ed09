"""
The search for a machine and the mappings of a whole step on it, within a budget (after DiGamma, Kao et al., DATE 2022).

DiGamma's genomes hold a machine with the mappings for it, and buffers are as large as the mappings need. Here every
mapping that was evaluated is kept for all machines that are large enough (`archive.py`), and the best machine of all
known mappings is found exactly (`combine.py`). What is left to search is where to breed next: clusters by how good they
were, or new ones by their bounds; contractions, by GAMMA's operators, those more often whose time is further above its
bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf, prod

import numpy as np

from npuc.compiler.analysis.mapping.exact.arrays import Floats, Ints
from npuc.compiler.analysis.mapping.flexibility.axes import Supports, is_within
from npuc.compiler.explore.design.archive import Elites
from npuc.compiler.explore.design.budget import Budget
from npuc.compiler.explore.design.classes import DEFAULT_CLASS, of_any_shape
from npuc.compiler.explore.design.clusters import ClusterTimes, Fanouts, clusters_of, neighbours
from npuc.compiler.explore.design.combine import Design, MachineSize, designs
from npuc.compiler.explore.design.energy import AccessEnergy
from npuc.compiler.explore.design.evaluation import Evaluate
from npuc.compiler.explore.design.goal import Goal
from npuc.compiler.explore.design.population import Population

VISIT = 16
"""Contractions that are bred for in a visit of clusters that are known."""
ROUNDS, REFINED = 3, 24
"""How often neighbours of the clusters with the lowest bounds are ranked, too, and of how many."""
TRY = 0.4
"""How often a visit is to clusters that are not known: neighbours of the best ones, or those with a low bound."""
RANK = 0.08
"""How fast the chance of new clusters falls with their place in the order of bounds."""
HEAT = 0.1
"""How fast the chance of known clusters falls with their goal: by e for every tenth that it is above the best."""
SPREAD_L1 = 0.7
"""How far buffers are varied, in octaves (standard deviation)."""
LEAST_EXCESS = 0.02
"""The part of its time by which a contraction counts as above its bound at least."""


@dataclass(frozen=True)
class FoundDesign:
    """A design of a class with the mapping of each contraction, each an array of one."""

    design: Design
    mappings: tuple[Elites, ...]
    supports: Supports = DEFAULT_CLASS


@dataclass(frozen=True)
class Shared:
    """
    What searches of several goals and classes share: populations and the least times on clusters, both by the class of
    mappings (`of_any_shape`), what evaluates, and energies.
    """

    populations: Mapping[Supports, Sequence[Population]]
    times: Mapping[Supports, ClusterTimes]
    evaluate: Evaluate
    energy: AccessEnergy

    @property
    def evaluations(self) -> int:
        """Mappings that were evaluated."""
        return sum(one.archive.evaluations for some in self.populations.values() for one in some)


@dataclass
class DesignSearch:
    """
    A search of machines of a class within a budget of area and power for one goal.

    `best` is the best design so far, None before any; `least_watts` the least power of any design; `seen` the clusters
    that were visited, with the goal's best value on them; `curve` the numbers of evaluations at which the best value
    fell, with the new value.
    """

    shared: Shared
    budget: Budget
    goal: Goal
    random: np.random.Generator
    supports: Supports = DEFAULT_CLASS
    best: FoundDesign | None = None
    least_watts: float = inf
    seen: dict[Fanouts, float] = field(default_factory=dict[Fanouts, float])
    curve: list[tuple[int, float]] = field(default_factory=list[tuple[int, float]])

    def __post_init__(self) -> None:
        kind = of_any_shape(self.supports)
        self.populations, self._times = self.shared.populations[kind], self.shared.times[kind]
        self._works = [one.work for one in self.populations]
        self._repeat = np.array([float(work.repeat) for work in self._works])
        self.clusters: list[Fanouts] = []
        self._ranked: set[Fanouts] = set()
        self._by_elements: tuple[Ints, Floats] | None = None
        self._rank(self._first_clusters() if self.most else [])
        for _ in range(ROUNDS):
            near = {other for one in self.clusters[:REFINED] for other in neighbours(one, self.most)}
            self._rank([one for one in sorted(near - self._ranked) if self._allowed(one)])

    @cached_property
    def least_l1(self) -> int:
        """The bytes of a processing element's buffer without which some contraction has no mapping."""
        return max(one.least_bytes[0] for one in self.populations)

    @cached_property
    def least_l2(self) -> int:
        """The same of the shared buffer."""
        return max(one.least_bytes[1] for one in self.populations)

    @cached_property
    def most(self) -> int:
        """The largest number of processing elements that the area has."""
        return self.budget.most_elements(self.least_l1)

    @property
    def constrained(self) -> bool:
        """Whether mappings must meet constraints."""
        return any(one.space.constraints is not None for one in self.populations)

    @property
    def evaluations(self) -> int:
        """Mappings that were evaluated, those of other searches included."""
        return self.shared.evaluations

    @property
    def reshaped(self) -> bool:
        """Whether the array takes another shape for each contraction."""
        return self.supports[-1] == "any"

    @property
    def bound(self) -> float:
        """The cycles that no step takes less on any clusters that were ranked."""
        return min(map(self._least, self.clusters), default=inf)

    def begin_with(self, others: Sequence[DesignSearch]) -> None:
        """Take the best machine of searches of the same goal within the same budget, whose classes this one has."""
        for one in others:
            if one.best is not None and is_within(one.supports, self.supports):
                self.least_watts = min(self.least_watts, one.least_watts)
                self._rank([size for size in (one.best.design.size.fanouts,) if size not in self._ranked])
                self._take(FoundDesign(one.best.design, one.best.mappings, self.supports))

    def run(self, evaluations: int, advance: Callable[[int], None]) -> None:
        """Search until so many mappings were evaluated in all."""
        while self.evaluations < evaluations and self.clusters:
            before, size = self.evaluations, self._next()
            if size is None:
                return
            self._visit(size)
            advance(self.evaluations - before)

    def _visit(self, size: MachineSize) -> None:
        """Breed mappings for a machine, and see whether the best machine of its clusters is better now."""
        if size.fanouts in self.seen:
            broods = [self.populations[number].bred(size, self.goal) for number in self._chosen(size)]
        else:
            broods = [self.populations[number].probe(size, self.goal) for number in self._able(size.fanouts)]
        for brood, found in zip(broods, self.shared.evaluate(broods), strict=True):
            self.populations[brood.number].add(found)
        self.seen.setdefault(size.fanouts, inf)
        elites = self.elites()
        if elites is None:
            return
        prices = self.goal.prices(None if self.best is None else self.best.design)
        found = designs(self._works, elites, size.fanouts, self.budget, self.shared.energy, prices)
        self.least_watts = min([self.least_watts, *(self.goal.watts(one) or inf for one in found)])
        allowed = [one for one in found if self.goal.allows(one)]
        if allowed:
            self._consider(min(allowed, key=self.goal.key), elites)

    def elites(self) -> list[Elites] | None:
        """What is known of each contraction; None while nothing is known of one."""
        found = [one.archive.elites for one in self.populations if one.archive.elites is not None]
        if len(found) < len(self.populations):
            return None
        return [replace(one, reshaped=True) for one in found] if self.reshaped else found

    def _consider(self, design: Design, elites: Sequence[Elites]) -> None:
        key = self.goal.key(design)
        self.seen[design.size.fanouts] = key[0]
        if self.best is None or key < self.goal.key(self.best.design):
            self._take(FoundDesign(design, mappings_of(design, elites), self.supports))

    def _take(self, found: FoundDesign) -> None:
        """Take a design as the best one, where it is."""
        key = self.goal.key(found.design)
        if self.best is not None and self.goal.key(self.best.design) <= key:
            return
        self.seen[found.design.size.fanouts] = key[0]
        if self.best is None or key[0] < self.goal.key(self.best.design)[0]:
            self.curve.append((self.evaluations, key[0]))
        self.best = found

    def _chosen(self, size: MachineSize) -> list[int]:
        """The contractions to breed for: by chance those whose cycles are further above their bound."""
        able = self._able(size.fanouts)
        if self.best is None or len(able) <= VISIT:
            return able
        cycles = np.array([float(one.needs.cycles[0]) for one in self.best.mappings])
        excess = self._repeat * np.maximum(cycles - self._times.times[size.fanouts], LEAST_EXCESS * cycles)
        chance = excess[able] / excess[able].sum()
        return sorted(self.random.choice(able, VISIT, replace=False, p=chance).tolist())

    def _next(self) -> MachineSize | None:
        """The machine to visit next; None where constraints leave none."""
        values = np.array(list(self.seen.values()))
        if self.best is None or not np.isfinite(values).any():
            first = self._first()
            return None if first is None else self._sized(first)
        if self.random.random() < TRY:
            near = [one for one in neighbours(self.best.design.size.fanouts, self.most) if self._allowed(one)]
            self._rank([one for one in near if one not in self._ranked])
            tried = near if self.random.random() < 0.5 else self.clusters
            new = self._picked([one for one in tried if one not in self.seen and self._hopeful(one)])
            if new is not None:
                return self._sized(new)
        chance = np.exp(-(values / values.min() - 1) / HEAT)
        return self._sized(list(self.seen)[int(self.random.choice(len(values), p=chance / chance.sum()))])

    def _picked(self, clusters: Sequence[Fanouts]) -> Fanouts | None:
        """Some of these clusters, rather earlier ones, on which constraints leave mappings."""
        left = list(clusters)
        while left:
            found = left.pop(min(int(self.random.geometric(RANK)) - 1, len(left) - 1))
            if len(self._able(found)) == len(self.populations) or (self.reshaped and self._able(found)):
                return found
        return None

    def _first(self) -> Fanouts | None:
        """Clusters to visit before any machine was found."""
        if not self.constrained:
            return self._picked(self.clusters)
        # Under constraints some mappings need more than the network carries, more rarely so on small clusters.
        lacking = [one for one in self.populations if one.archive.elites is None] or self.populations
        new = [one for one in self.clusters if one not in self.seen and any(some.allows(one) for some in lacking)]
        if new and self.random.random() < 0.5:
            new = [new[int(row)] for row in self.random.permutation(len(new))]
        return self._picked(new or self.clusters)

    def _able(self, fanouts: Fanouts) -> list[int]:
        """The contractions of which constraints leave mappings on clusters."""
        return [number for number, one in enumerate(self.populations) if one.runs_on(fanouts)]

    def _allowed(self, fanouts: Fanouts) -> bool:
        """Whether clusters have the sizes that constraints demand; those of some contraction where each has its own."""
        some = any if self.reshaped else all
        return some(one.allows(fanouts) for one in self.populations)

    def _first_clusters(self) -> list[Fanouts]:
        """Those of the ladder, and of the sizes that constraints demand."""
        spaces = [one.space for one in self.populations]
        demanded = [{size for space in spaces for size in space.level(at).fanout} for at in range(spaces[0].levels)]
        return [one for one in clusters_of(self.most, spaces[0].levels, demanded) if self._allowed(one)]

    def _hopeful(self, fanouts: Fanouts) -> bool:
        """Whether the bound, which is one of time, leaves clusters a chance."""
        assert self.best is not None
        return self.goal.name != "time" or self._least(fanouts) < self.best.design.cycles

    def _sized(self, fanouts: Fanouts) -> MachineSize:
        """A machine of these clusters, with a random buffer in its elements, and what is left for the shared one."""
        middle = 4.0 * self.least_l1 if self.best is None else float(self.best.design.size.l1)
        l1 = max(float(np.round(middle * 2 ** self.random.normal(0.0, SPREAD_L1))), self.least_l1)
        while True:
            l2 = float(self.budget.largest_l2(prod(fanouts), np.array([l1]))[0])
            if l2 >= self.least_l2 or l1 <= self.least_l1:
                return MachineSize(fanouts, int(l1), max(int(l2), 1))
            l1 = max(float(np.floor(l1 / 2)), self.least_l1)

    def _rank(self, clusters: Sequence[Fanouts]) -> None:
        """Find the bounds of clusters, and sort all by them."""
        if clusters:
            self._times.find(clusters)
            self._ranked.update(clusters)
            self._by_elements = None
            self.clusters = sorted(self._ranked, key=lambda one: (self._total(one), one))

    def _total(self, fanouts: Fanouts) -> float:
        return float(self._repeat @ self._times.times[fanouts])

    def _least(self, fanouts: Fanouts) -> float:
        """The cycles that a step takes at least on a machine of such clusters, or of as many elements."""
        if not self.reshaped:
            return self._total(fanouts)
        if self._by_elements is None:
            ranked = sorted(self._ranked, key=prod)
            least = np.minimum.accumulate([self._times.times[one] for one in ranked])
            self._by_elements = np.array([prod(one) for one in ranked]), least @ self._repeat
        elements, totals = self._by_elements
        return float(totals[np.searchsorted(elements, prod(fanouts), "right") - 1])


def mappings_of(design: Design, elites: Sequence[Elites]) -> tuple[Elites, ...]:
    """The mapping of each contraction on a design of these elites."""
    return tuple(one.at(np.array([row])) for one, row in zip(elites, design.rows, strict=True))
