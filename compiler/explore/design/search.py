"""
The search for a machine and the mappings of a whole step on it, within a budget (after DiGamma, Kao et al., DATE 2022).

DiGamma's genomes hold a machine with the mappings for it, and buffers are as large as the mappings need. Here every
mapping that was evaluated is kept for all machines that are large enough (`archive.py`), and the best machine of all
known mappings is found exactly (`combine.py`). What is left to search is where to breed next: mostly around the best
machine so far, else on clusters with a low bound. Contractions are bred by GAMMA's operators, those more often whose
time is further above its bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import inf

import numpy as np

from npuc.compiler.analysis.mapping.exact.arrays import Floats, Ints
from npuc.compiler.explore.design.archive import Archive, Elites
from npuc.compiler.explore.design.budget import Budget
from npuc.compiler.explore.design.clusters import Fanouts, clusters_of, least_times, neighbours
from npuc.compiler.explore.design.combine import Design, MachineSize, designs
from npuc.compiler.explore.design.costs import Work, needs_of
from npuc.compiler.explore.design.goal import Goal
from npuc.compiler.explore.mapping.capacity import BufferCapacity
from npuc.compiler.explore.mapping.genomes import Expression, Genomes
from npuc.compiler.explore.mapping.mappers.genetic import Operators
from npuc.compiler.explore.mapping.mappers.random import RandomGenomes, generator
from npuc.compiler.explore.mapping.space import MapSpace

BATCH, PROBE = 32, 16
"""Mappings of a contraction that are bred at a time, and those with which clusters are tried first."""
VISIT = 16
"""Contractions that are bred for in a visit of clusters that are known."""
ROUNDS, REFINED = 3, 24
"""How often neighbours of the clusters with the lowest bounds are ranked, too, and of how many."""
TRY = 0.4
"""How often a visit is to clusters that are not known: neighbours of the best ones, or those with a low bound."""
RANK = 0.08
"""How fast the chance of clusters falls with their place in the order of bounds."""
HEAT = 0.1
"""How fast the chance of known clusters falls with their goal: by e for every tenth that it is above the best."""
FRESH = 0.15
"""The part of children that are drawn at random."""
SPREAD_L1 = 0.7
"""How far buffers are varied, in octaves (standard deviation)."""


@dataclass
class Population:
    """A contraction in the search: its space, its operators, what was found, and its bound on each kind of clusters."""

    work: Work
    space: MapSpace
    random: np.random.Generator
    archive: Archive = field(default_factory=Archive)
    source: RandomGenomes = field(init=False)
    operators: Operators = field(init=False)

    def __post_init__(self) -> None:
        self.source = RandomGenomes(self.space, self.random)
        self.operators = Operators(self.space, self.random, self.source)

    def breed(self, size: MachineSize, goal: Goal) -> None:
        """Evaluate children for a machine, of which parents are the elites that fit it."""
        elites = self.archive.elites
        parents = None if elites is None else elites.at(self._fitting(elites, size))
        if parents is None or len(parents) < 2:
            self._evaluate(self.source.draw(BATCH), size, goal)
            return
        best = self._best(parents, goal, BATCH)
        fresh = int(FRESH * BATCH)
        self._evaluate(
            self.operators.children(best, BATCH - fresh).joined(self.source.draw(fresh)), size, goal
        )

    def probe(self, size: MachineSize, goal: Goal) -> None:
        """Evaluate for a machine what is best on any other, as it is and its children."""
        elites = self.archive.elites
        if elites is None:
            self._evaluate(self.source.draw(BATCH), size, goal)
            return
        best = self._best(elites, goal, PROBE // 2)
        children = self.operators.children(best, PROBE - len(best))
        self._evaluate(best.joined(children), size, goal)

    def _fitting(self, elites: Elites, size: MachineSize) -> Ints:
        needs = elites.needs
        return np.flatnonzero(elites.within(size.fanouts) & (needs.l1 <= size.l1) & (needs.l2 <= size.l2))

    def _best(self, elites: Elites, goal: Goal, most: int) -> Genomes:
        score = goal.scores(elites.needs.cycles, elites.needs.energy)
        return elites.genomes.at(np.argsort(score, kind="stable")[:most])

    def _evaluate(self, genomes: Genomes, size: MachineSize, goal: Goal) -> None:
        space = replace(self.space, fanouts=(size.fanouts,))
        l2 = int(size.l2 / self.work.width)
        capacity = BufferCapacity(self.work.statements, size.l1, l2, float(self.work.sum_size))
        candidates = Expression(space, capacity).candidates(genomes)
        self.archive.add(Elites(genomes, candidates, needs_of(self.work, candidates, buffered=goal.buffered)))


@dataclass
class DesignSearch:
    """
    A search within a budget of area and power for one goal; `best` is the best design so far, None before any.

    `seen` are the clusters that were visited. Same seed, same answer.
    """

    works: Sequence[Work]
    spaces: Sequence[MapSpace]
    budget: Budget
    goal: Goal
    seed: int
    best: Design | None = None
    seen: dict[Fanouts, float] = field(default_factory=dict[Fanouts, float])
    found: list[Elites] = field(default_factory=list[Elites])
    curve: list[tuple[int, float]] = field(default_factory=list[tuple[int, float]])

    def __post_init__(self) -> None:
        self._random = generator(self.seed, "design")
        self._populations = [
            Population(work, space, generator(self.seed, "design", number))
            for number, (work, space) in enumerate(zip(self.works, self.spaces, strict=True))
        ]
        self.least_l1 = max(_least_l1(work) for work in self.works)
        self.most = self.budget.most_elements(self.least_l1)
        self._clusters = clusters_of(self.most, self.spaces[0].levels) if self.most else []
        self._times: dict[Fanouts, Floats] = {}
        self._rank(self._clusters)
        for _ in range(ROUNDS):
            near = {other for one in self._clusters[:REFINED] for other in neighbours(one, self.most)}
            self._rank(sorted(near - self._times.keys()))

    @property
    def evaluations(self) -> int:
        """Mappings that were evaluated."""
        return sum(one.archive.evaluations for one in self._populations)

    @property
    def elites(self) -> list[Elites] | None:
        """What is known of each contraction; None while nothing is known of one."""
        known = [one.archive.elites for one in self._populations]
        found = [one for one in known if one is not None]
        return found if len(found) == len(known) else None

    def bound(self) -> float:
        """The cycles that no step takes less on any of the clusters that were ranked."""
        return min((self._total(one) for one in self._times), default=inf)

    def run(self, evaluations: int, advance: Callable[[int], None]) -> None:
        """Search until so many mappings were evaluated."""
        while self.evaluations < evaluations and self._clusters:
            before = self.evaluations
            self._visit(self._next())
            advance(self.evaluations - before)

    def _visit(self, size: MachineSize) -> None:
        """Breed mappings for a machine, and see whether the best machine of its clusters is better now."""
        known = size.fanouts in self.seen
        for number in self._chosen(size) if known else range(len(self.works)):
            population = self._populations[number]
            if known:
                population.breed(size, self.goal)
            else:
                population.probe(size, self.goal)
        self.seen.setdefault(size.fanouts, inf)
        elites = self.elites
        if elites is None:
            return
        found = designs(self.works, elites, size.fanouts, self.budget, self.goal.prices(self.best))
        allowed = [one for one in found if self.goal.allows(one)]
        if not allowed:
            return
        least = min(allowed, key=self.goal.key)
        self.seen[size.fanouts] = self.goal.key(least)[0]
        if self.best is None or self.goal.key(least) < self.goal.key(self.best):
            if self.best is None or self.goal.key(least)[0] < self.goal.key(self.best)[0]:
                self.curve.append((self.evaluations, self.goal.key(least)[0]))
            self.best = least
            self.found = [one.at(np.array([row])) for one, row in zip(elites, least.rows, strict=True)]

    def _chosen(self, size: MachineSize) -> list[int]:
        """The contractions to breed for: by chance those whose cycles are further above their bound."""
        count = len(self.works)
        if not self.found or count <= VISIT:
            return list(range(count))
        bounds = self._bounds(size.fanouts)
        cycles = np.array([float(one.needs.cycles[0]) for one in self.found])
        repeat = np.array([float(work.repeat) for work in self.works])
        excess = repeat * np.maximum(cycles - bounds, 0.02 * cycles)
        return sorted(self._random.choice(count, VISIT, replace=False, p=excess / excess.sum()).tolist())

    def _next(self) -> MachineSize:
        """The machine to visit next."""
        random, best = self._random, self.best
        values = np.array(list(self.seen.values()))
        if best is None or not np.isfinite(values).any():
            return self._sized(self._clusters[min(int(random.geometric(RANK)) - 1, len(self._clusters) - 1)])
        if random.random() < TRY:
            near = neighbours(best.size.fanouts, self.most) if random.random() < 0.5 else self._clusters
            self._rank([one for one in near if one not in self._times])
            value = self.goal.key(best)[0]
            new = [one for one in near if one not in self.seen and self._hopeful(one, value)]
            if new:
                return self._sized(new[min(int(random.geometric(RANK)) - 1, len(new) - 1)])
        chance = np.exp(-(values / values.min() - 1) / HEAT)
        at = int(random.choice(len(values), p=chance / chance.sum()))
        return self._sized(list(self.seen)[at])

    def _hopeful(self, fanouts: Fanouts, value: float) -> bool:
        """Whether the bound leaves clusters a chance; it is one of cycles alone."""
        return self.goal.name != "time" or self._total(fanouts) < value

    def _sized(self, fanouts: Fanouts) -> MachineSize:
        """A machine of these clusters, with a random buffer in its elements, and what is left for the shared one."""
        random, best = self._random, self.best
        elements = float(np.prod(fanouts))
        middle = 4.0 * self.least_l1 if best is None else float(best.size.l1)
        l1 = max(np.round(middle * 2 ** random.normal(0.0, SPREAD_L1)), self.least_l1)
        l2 = float(self.budget.largest_l2(elements, np.array([l1]))[0])
        while l2 <= 0 and l1 > self.least_l1:
            l1 = max(np.floor(l1 / 2), self.least_l1)
            l2 = float(self.budget.largest_l2(elements, np.array([l1]))[0])
        return MachineSize(fanouts, int(l1), max(int(l2), 1))

    def _rank(self, clusters: Sequence[Fanouts]) -> None:
        """Find the bounds of clusters, and sort all by them."""
        if not clusters:
            return
        found = np.array(
            [least_times(one.work, one.space, clusters) for one in self._populations]
        )  # [contraction, clusters]
        for at, one in enumerate(clusters):
            self._times[one] = found[:, at]
        self._clusters = sorted(self._times, key=lambda one: (self._total(one), one))

    def _bounds(self, fanouts: Fanouts) -> Floats:
        if fanouts not in self._times:
            self._rank([fanouts])
        return self._times[fanouts]

    def _total(self, fanouts: Fanouts) -> float:
        return float(sum(work.repeat * time for work, time in zip(self.works, self._times[fanouts], strict=True)))


def _least_l1(work: Work) -> int:
    """The elements of a buffer that hold two elements of each tensor, as any mapping needs."""
    return 6
