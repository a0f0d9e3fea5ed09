"""A contraction in a search for machines: its mappings are bred for whatever machine is looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from npuc.compiler.analysis.mapping.exact.arrays import Ints
from npuc.compiler.analysis.mapping.flexibility.axes import Supports
from npuc.compiler.explore.design.archive import Archive, Elites
from npuc.compiler.explore.design.classes import CUTS, DEFAULT_CLASS, is_wired
from npuc.compiler.explore.design.clusters import Fanouts
from npuc.compiler.explore.design.combine import MachineSize
from npuc.compiler.explore.design.costs import Work, least_bytes
from npuc.compiler.explore.design.evaluation import Brood
from npuc.compiler.explore.design.goal import Goal
from npuc.compiler.explore.mapping.constrained.possible import allows_clusters, runs_on
from npuc.compiler.explore.mapping.genomes import Genomes
from npuc.compiler.explore.mapping.mappers.genetic import Operators
from npuc.compiler.explore.mapping.mappers.random import RandomGenomes
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
    A contraction by its number, the space of its mappings whatever the clusters, operators, and what was found.

    `supports` is the class of the mappings that are bred, of any shape of the array; what is found is known to
    `wider`, the populations of the same contraction whose classes have all of these mappings.
    """

    number: int
    work: Work
    space: MapSpace
    random: np.random.Generator
    supports: Supports = DEFAULT_CLASS
    wider: Sequence[Population] = ()
    archive: Archive = field(default_factory=Archive)
    source: RandomGenomes = field(init=False)
    operators: Operators = field(init=False)
    _runs: dict[Fanouts, bool] = field(default_factory=dict[Fanouts, bool])

    def __post_init__(self) -> None:
        self.source = RandomGenomes(self.space, self.random)
        self.operators = Operators(self.space, self.random, self.source)

    @cached_property
    def least_bytes(self) -> tuple[int, int]:
        """The bytes of an element's buffer and of the shared one without which no mapping runs."""
        return least_bytes(self.work, self.space)

    def allows(self, fanouts: Fanouts) -> bool:
        """Whether clusters have the sizes that constraints demand; `runs_on` says more, and takes longer."""
        own = self.space.constraints
        return own is None or allows_clusters(own, fanouts, self.space.parallel)

    def runs_on(self, fanouts: Fanouts) -> bool:
        """Whether constraints leave mappings on clusters."""
        if fanouts not in self._runs:
            self._runs[fanouts] = runs_on(self.space, fanouts)
        return self._runs[fanouts]

    def add(self, found: Elites) -> None:
        """Consider mappings that were evaluated for this population."""
        self.archive.add(found)
        for other in self.wider:
            other.archive.learn(found)

    def bred(self, size: MachineSize, goal: Goal) -> Brood:
        """Children for a machine, of which parents are the best elites that fit it."""
        elites = self.archive.elites
        fitting = None if elites is None else elites.at(_fitting(elites, size))
        if fitting is None or len(fitting) < 2 or is_wired(self.supports):
            return self._drawn(size, goal)
        fresh = int(FRESH * BRED * BATCH)
        children = self.operators.children(_best(fitting, goal, BATCH), BRED * BATCH - fresh)
        return Brood(self.number, children.joined(self.source.draw(fresh)), size, goal.name, BATCH, self.supports)

    def probe(self, size: MachineSize, goal: Goal) -> Brood:
        """What is best on any other machine, as it is and its children."""
        elites = self.archive.elites
        if elites is None or is_wired(self.supports):
            return self._drawn(size, goal)
        best = _best(elites, goal, BATCH)
        children = self.operators.children(best, BRED * PROBE - len(best))
        return Brood(self.number, best.joined(children), size, goal.name, PROBE, self.supports)

    def _drawn(self, size: MachineSize, goal: Goal) -> Brood:
        if is_wired(self.supports):  # one mapping, of which only the cut of its tiles is open
            genomes = self.source.draw(CUTS)
            genomes.chosen[...] = np.arange(CUTS)
            return Brood(self.number, genomes, size, goal.name, CUTS, self.supports)
        return Brood(self.number, self.source.draw(DRAWN * BATCH), size, goal.name, BATCH, self.supports)


def _fitting(elites: Elites, size: MachineSize) -> Ints:
    needs = elites.needs
    return np.flatnonzero(elites.within(size.fanouts) & (needs.l1 <= size.l1) & (needs.l2 <= size.l2))


def _best(elites: Elites, goal: Goal, most: int) -> Genomes:
    score = goal.scores(elites.needs.cycles, elites.needs.energy)
    return elites.genomes.at(np.argsort(score, kind="stable")[:most])
