"""A contraction in a search for machines: its mappings are bred for whatever machine is looked at."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from npuc.compiler.analysis.mapping.exact.arrays import Ints
from npuc.compiler.explore.design.archive import Archive, Elites
from npuc.compiler.explore.design.combine import MachineSize
from npuc.compiler.explore.design.costs import Work, needs_of
from npuc.compiler.explore.design.energy import AccessEnergy
from npuc.compiler.explore.design.goal import Goal
from npuc.compiler.explore.mapping.bounds import CostBound
from npuc.compiler.explore.mapping.capacity import BufferCapacity
from npuc.compiler.explore.mapping.genomes import Expression, Genomes
from npuc.compiler.explore.mapping.mappers.genetic import Operators
from npuc.compiler.explore.mapping.mappers.random import RandomGenomes
from npuc.compiler.explore.mapping.screen import Screen
from npuc.compiler.explore.mapping.space import MapSpace

BATCH, PROBE = 32, 16
"""Mappings that are evaluated at a time, and those with which clusters are tried first."""
DRAWN, BRED = 32, 4
"""How many are drawn at first, and bred later, for each one that is evaluated: the one with the least bound."""
FRESH = 0.15
"""The part of children that are drawn at random."""


@dataclass
class Population:
    """
    The space of a contraction's mappings, whatever its clusters, the operators on it, and what was found.

    With `buffered` elements keep what they refetch (`needs_of`).
    """

    work: Work
    space: MapSpace
    random: np.random.Generator
    energy: AccessEnergy
    buffered: bool
    archive: Archive = field(default_factory=Archive)
    source: RandomGenomes = field(init=False)
    operators: Operators = field(init=False)

    def __post_init__(self) -> None:
        self.source = RandomGenomes(self.space, self.random)
        self.operators = Operators(self.space, self.random, self.source)

    def breed(self, size: MachineSize, goal: Goal) -> None:
        """Evaluate children for a machine, of which parents are the best elites that fit it."""
        elites = self.archive.elites
        fitting = None if elites is None else elites.at(_fitting(elites, size))
        if fitting is None or len(fitting) < 2:
            return self._evaluate(self.source.draw(DRAWN * BATCH), size, goal, BATCH)
        fresh = int(FRESH * BRED * BATCH)
        children = self.operators.children(_best(fitting, goal, BATCH), BRED * BATCH - fresh)
        return self._evaluate(children.joined(self.source.draw(fresh)), size, goal, BATCH)

    def probe(self, size: MachineSize, goal: Goal) -> None:
        """Evaluate for a machine what is best on any other, as it is and its children."""
        elites = self.archive.elites
        if elites is None:
            return self._evaluate(self.source.draw(DRAWN * BATCH), size, goal, BATCH)
        best = _best(elites, goal, BATCH)
        children = self.operators.children(best, BRED * PROBE - len(best))
        return self._evaluate(best.joined(children), size, goal, PROBE)

    def _evaluate(self, genomes: Genomes, size: MachineSize, goal: Goal, most: int) -> None:
        """
        Evaluate so many of the mappings that genomes express on a machine: of each group the one whose goal has the
        least lower bound.
        """
        space = replace(self.space, fanouts=(size.fanouts,))
        l1, l2, sums = int(size.l1 / self.work.width), int(size.l2 / self.work.width), float(self.work.sum_size)
        capacity = BufferCapacity(self.work.statements, l1, l2, sums, sums)
        candidates = Expression(space, capacity).candidates(genomes)
        bound = CostBound(self.work.statements, self.work.array, goal.name)
        group = np.arange(len(genomes)) % most
        order = np.lexsort((Screen(space, bound, capacity).costs(candidates), group))
        rows = np.sort(order[np.searchsorted(group[order], np.arange(min(most, len(genomes))))])
        genomes, candidates = genomes.at(rows), candidates.at(rows)
        needs = needs_of(self.work, candidates, self.energy, buffered=self.buffered)
        self.archive.add(Elites(genomes, candidates, needs))


def _fitting(elites: Elites, size: MachineSize) -> Ints:
    needs = elites.needs
    return np.flatnonzero(elites.within(size.fanouts) & (needs.l1 <= size.l1) & (needs.l2 <= size.l2))


def _best(elites: Elites, goal: Goal, most: int) -> Genomes:
    score = goal.scores(elites.needs.cycles, elites.needs.energy)
    return elites.genomes.at(np.argsort(score, kind="stable")[:most])
