"""
What children cost, found here or in several processes, and kept in the record of a search that goes on later.

A record (`explore/mapping/record.py`) has what mappings need, six numbers each, in the order of their evaluation. The
search breeds the same children when it is told the same needs; so it replays what the record has, and goes on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from npuc.compiler.analysis.mapping.constraints.check import meets
from npuc.compiler.analysis.mapping.exact.arrays import Floats
from npuc.compiler.analysis.mapping.flexibility.axes import Supports
from npuc.compiler.driver.score import version
from npuc.compiler.explore.design.archive import Elites
from npuc.compiler.explore.design.classes import DEFAULT_CLASS, DataflowExpression, class_space, is_free
from npuc.compiler.explore.design.combine import MachineSize
from npuc.compiler.explore.design.costs import Needs, Work, needs_of, priced_needs
from npuc.compiler.explore.design.energy import AccessEnergy
from npuc.compiler.explore.design.goal import GoalName
from npuc.compiler.explore.flexibility.own import OwnMapping
from npuc.compiler.explore.mapping.bounds import CostBound
from npuc.compiler.explore.mapping.capacity import BufferCapacity
from npuc.compiler.explore.mapping.genomes import Expression, Genomes, mapping_hashes
from npuc.compiler.explore.mapping.record import RecordFile, RecordKind, append_costs
from npuc.compiler.explore.mapping.screen import Screen
from npuc.compiler.explore.mapping.space import MapSpace
from npuc.compiler.explore.workers import Pool

DIFFERS = "source, machine, budget of area or power, goals, classes, constraints, seed or space"
SINGLE = RecordKind("design", DIFFERS, "--budget, -j and outputs")
DIVIDED = RecordKind("design", f"{DIFFERS}, or --budget, which several goals or classes divide", "-j and outputs")
"""Records of a search for one goal and class, and for several."""
NUMBERS = 6
"""The numbers of a mapping in a record: all that it needs but its energy, which follows."""


@dataclass(frozen=True)
class Brood:
    """
    Children of a contraction, by its number, bred for a machine of a class and a goal: of them `most` are evaluated.

    `known` are the needs of these, where a record has them, [number, mapping].
    """

    number: int
    genomes: Genomes
    size: MachineSize
    goal: GoalName
    most: int
    supports: Supports = DEFAULT_CLASS
    known: Floats | None = None

    @property
    def count(self) -> int:
        """How many are evaluated."""
        return min(self.most, len(self.genomes))


Evaluate = Callable[[Sequence[Brood]], list[Elites]]


@dataclass(frozen=True)
class Evaluation:
    """
    Evaluates children; with `buffered` elements keep what they refetch (`needs_of`).

    `owns` are the dataflow's mappings of the contractions, for classes that are fixed on some axis.
    """

    works: tuple[Work, ...]
    spaces: tuple[MapSpace, ...]
    energy: AccessEnergy
    buffered: bool
    owns: tuple[OwnMapping, ...] = ()

    def __call__(self, brood: Brood) -> Elites:
        """The mappings that the children express on their machine: of each group that with the least lower bound."""
        work, size, genomes, most = self.works[brood.number], brood.size, brood.genomes, brood.most
        space = class_space(self.spaces[brood.number], size.fanouts, brood.supports)
        l1, l2, sums = int(size.l1 / work.width), int(size.l2 / work.width), float(work.sum_size)
        capacity = BufferCapacity(work.statements, l1, l2, sums, sums)
        # of parents with fixed tiles, which choose how these are cut
        genomes.chosen[...] = np.minimum(genomes.chosen, len(space.fanouts) - 1)
        candidates = self._expression(brood, space, capacity).candidates(genomes)
        bound = CostBound(work.statements, work.array, brood.goal)
        group, costs = np.arange(len(genomes)) % most, Screen(space, bound, capacity).costs(candidates)
        if space.constraints is not None:  # which leave so few mappings that many genomes express the same
            _, first = np.unique(mapping_hashes(candidates, space.dims), return_index=True)
            again = np.ones(len(costs), bool)
            again[first] = False
            costs = np.where(again, np.inf, costs)
        order = np.lexsort((costs, group))
        rows = np.sort(order[np.searchsorted(group[order], np.arange(brood.count))])
        genomes, candidates = genomes.at(rows), candidates.at(rows)
        if brood.known is None:
            needs = needs_of(work, candidates, self.energy, buffered=self.buffered)
        else:
            needs = priced_needs(work, self.energy, *brood.known)
        if space.constraints is None:
            return Elites(genomes, candidates, needs)
        sizes = [size for _, size in space.dims]
        fine = meets(space.constraints, candidates.fanouts, candidates.levels, sizes, divides=space.divisors)
        return Elites(genomes, candidates, needs.only(fine), constraints=space.constraints)

    def _expression(self, brood: Brood, space: MapSpace, capacity: BufferCapacity) -> Expression:
        if is_free(brood.supports):
            return Expression(space, capacity)
        return DataflowExpression(space, capacity, brood.supports, self.owns[brood.number])

    def all_of(self, broods: Sequence[Brood]) -> list[Elites]:
        """Those of several, one after another."""
        return [self(one) for one in broods]


@contextmanager
def evaluating(evaluation: Evaluation, jobs: int) -> Generator[Evaluate]:
    """What evaluates children, in so many processes."""
    if jobs == 1:
        yield evaluation.all_of
        return
    with Pool[Brood, Elites](evaluation, jobs) as pool:
        yield pool.answers


class Recorded:
    """Evaluates what a record does not have, and adds it; `before` are the mappings that it had and that came."""

    def __init__(self, evaluate: Evaluate, path: str, key: str, past: Floats):
        self._evaluate, self._path, self._key, self._past = evaluate, path, key, past
        self._next, self.before = 0, 0

    def __call__(self, broods: Sequence[Brood]) -> list[Elites]:
        """What children need."""
        count = NUMBERS * sum(one.count for one in broods)
        start, self._next = self._next, self._next + count
        if self._next <= len(self._past):
            self.before += count // NUMBERS
            return self._evaluate(self._replayed(broods, start))
        self._past = self._past[:start]
        found = self._evaluate(broods)
        append_costs(self._path, self._key, start, np.concatenate([_numbers(one.needs).ravel() for one in found]))
        return found

    def _replayed(self, broods: Sequence[Brood], start: int) -> list[Brood]:
        known: list[Brood] = []
        for one in broods:
            end = start + NUMBERS * one.count
            known.append(replace(one, known=self._past[start:end].reshape(NUMBERS, -1)))
            start = end
        return known


def _numbers(needs: Needs) -> Floats:
    return np.array([needs.cycles, needs.l1, needs.l2, needs.l1_accesses, needs.l2_accesses, needs.offchip])


@contextmanager
def recorded(
    evaluate: Evaluate, path: str | None, content: Sequence[object], *, divided: bool
) -> Generator[tuple[Evaluate, Recorded | None]]:
    """
    What evaluates, and its record where a file keeps one; `content` is all that the search depends on.

    With several goals or classes that includes the number of evaluations (`divided`). Raises `UsageError`.
    """
    if path is None:
        yield evaluate, None
        return
    text = "\n".join(map(repr, (version(), *content)))
    key = hashlib.sha256(text.encode()).hexdigest()[:32]
    with RecordFile(path, [key], DIVIDED if divided else SINGLE) as record:
        own = Recorded(evaluate, path, key, record.costs.get(key, np.zeros(0)))
        yield own, own
