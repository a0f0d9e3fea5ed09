"""
The mapper `genetic`: a population of mappings that evolves, with the operators of GAMMA (Kao and Krishna, ICCAD 2020).

A generation is the best of all before (elites) and children of the better ones. A child takes the tiles of a dimension
at all levels from a second parent (crossover), has two loops of a level swapped (reorder), some tiles drawn anew
(mutation), a tile made smaller and another larger (shift), the spread dimensions of two levels exchanged, a level
spread otherwise, or clusters of another size; a level grows or vanishes as clusters of one element, or one cluster of
all, are chosen. Every child is repaired, so that it is legal and fits the buffers; equal ones are scored once. Where
costs can be screened, several times as many are bred, and of each group the one that promises to cost the least is
scored: most of all for energy x delay, where good mappings are those whose clusters just hold what comes again.
Operators work on whole generations at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from npuc.compiler.analysis.mapping.exact.arrays import Floats, Ints
from npuc.compiler.explore.mapping.bounds import CostBound
from npuc.compiler.explore.mapping.candidates import Candidates, are_working
from npuc.compiler.explore.mapping.capacity import BufferCapacity
from npuc.compiler.explore.mapping.genomes import Expression, Genomes, Hashes, hashes_of, mapping_hashes
from npuc.compiler.explore.mapping.mapper import Algorithm, MapRequest
from npuc.compiler.explore.mapping.mappers.random import RandomGenomes, content_of
from npuc.compiler.explore.mapping.screen import Screen
from npuc.compiler.explore.mapping.space import MapSpace
from npuc.compiler.explore.seeds import generator


@dataclass(frozen=True)
class Rates:
    """
    How likely a child undergoes each operator; `tiles` is the number of tiles that a mutation draws, `both` how likely
    either tile of a shift changes, `nothing` how likely a level that is spread otherwise spreads nothing.
    """

    crossover: float = 0.57
    reorder: float = 0.47
    mutate: float = 0.3
    tiles: int = 3
    shift: float = 0.7
    both: float = 0.8
    spread: float = 0.3
    nothing: float = 0.1
    exchange: float = 0.1
    cluster: float = 0.3


RATES = Rates()
FIRST = 256
"""The number of random genomes to begin with."""
DRAWN, BRED = 32, {"time": 4, "energy": 4, "edp": 16}
"""How many genomes are drawn at first, and bred later by objective, for each one proposed, where they are screened."""
LEAST, MOST, SHARE = 128, 1024, 8
"""The least and the largest number of children of a generation, which is one of so many of all mappings so far."""
PARENTS, LEAST_PARENTS = 0.4, 32
"""The number of parents of a generation, by its children, and the least one."""
NICHE = 0.05
"""The share of the parents that may be of one niche."""
PATIENCE = 8
"""After so many generations without a better mapping, random ones come in."""
ATTEMPTS = 16
"""The tries to breed a mapping that was not proposed before."""


class Operators:
    """The operators on genomes of a space, in place; each acts on the rows that it draws."""

    def __init__(self, space: MapSpace, random: Generator, source: RandomGenomes, rates: Rates = RATES):
        self.space, self.rates, self._random, self._source = space, rates, random, source
        self._cut = np.array(space.cut, np.int64)
        self._sizes = np.array([float(size) for _, size in space.dims])

    def children(self, parents: Genomes, count: int) -> Genomes:
        """So many children of parents, the better ones of which come first."""
        if not len(self._cut):
            return self._source.draw(count)
        random = self._random
        # Two draws, of which the better one: selection by tournament.
        first, second = (random.integers(len(parents), size=(2, count)).min(axis=0) for _ in range(2))
        child, other = parents.at(first), parents.at(second)
        self.crossover(child, other)
        self.reorder(child)
        self.mutate(child)
        self.shift(child)
        self.spread(child)
        self.exchange(child)
        self.cluster(child)
        return child

    def crossover(self, child: Genomes, other: Genomes) -> None:
        """Take the tiles of one dimension at all levels from another genome."""
        rows = self._rows(child, self.rates.crossover)
        dim = self._dims(len(rows))
        child.tiles[:, dim, rows] = other.tiles[:, dim, rows]

    def reorder(self, child: Genomes) -> None:
        """Swap two loops of a level."""
        rows = self._rows(child, self.rates.reorder)
        level = self._random.integers(self.space.levels, size=len(rows))
        one, two = self._random.integers(len(self.space.dims), size=(2, len(rows)))
        here, there = child.orders[level, one, rows], child.orders[level, two, rows]
        child.orders[level, one, rows], child.orders[level, two, rows] = there, here

    def mutate(self, child: Genomes) -> None:
        """Draw some tiles anew: any size, or one close to the tile before."""
        rows = self._rows(child, self.rates.mutate)
        for _ in range(self.rates.tiles):
            level, dim = self._random.integers(self.space.levels, size=len(rows)), self._dims(len(rows))
            drawn = np.ones(len(rows))
            for at in self.space.cut:
                some = np.flatnonzero(dim == at)
                drawn[some] = self._source.tile(at, np.full(len(some), self._sizes[at]))
            child.tiles[level, dim, rows] = drawn

    def shift(self, child: Genomes) -> None:
        """Make a tile one size smaller and that of another dimension of the level one larger, or one of both."""
        rows = self._rows(child, self.rates.shift)
        level = self._random.integers(self.space.levels, size=len(rows))
        for up in (False, True):
            dim = self._dims(len(rows))
            some = self._random.random(len(rows)) < self.rates.both
            at = level[some], dim[some], rows[some]
            child.tiles[at] = self._source.next_tile(at[1], child.tiles[at], up=up)

    def spread(self, child: Genomes) -> None:
        """Spread other dimensions of a level over its sub-clusters, or none."""
        rows = self._rows(child, self.rates.spread)
        level = self._random.integers(self.space.levels, size=len(rows))
        order, share = self._source.spread(len(rows))
        child.spread[level, :, rows] = order.T
        child.share[level, rows] = np.where(self._random.random(len(rows)) < self.rates.nothing, 1.0, share)

    def exchange(self, child: Genomes) -> None:
        """Exchange what two levels spread."""
        rows = self._rows(child, self.rates.exchange)
        one, two = self._random.integers(self.space.levels, size=(2, len(rows)))
        for genes in (child.spread.swapaxes(1, 2), child.share):
            here, there = genes[one, rows].copy(), genes[two, rows].copy()
            genes[one, rows], genes[two, rows] = there, here

    def cluster(self, child: Genomes) -> None:
        """Choose clusters of another size."""
        rows = self._rows(child, self.rates.cluster)
        child.chosen[rows] = self._random.integers(len(self.space.fanouts), size=len(rows))

    def _rows(self, child: Genomes, rate: float) -> Ints:
        return np.flatnonzero(self._random.random(len(child)) < rate)

    def _dims(self, count: int) -> Ints:
        return self._cut[self._random.integers(len(self._cut), size=count)]


class GeneticMapper:
    """
    Generations of candidates, none of which comes twice; the pool holds the parents of the next one, the best first.

    A niche is a choice of clusters with what each level spreads. The pool has a limited number of each, so that the
    search goes on in several. `expression` says which mappings genomes express, else it is that of the whole space;
    `first` are genomes to begin with, beside random ones.
    """

    def __init__(
        self,
        space: MapSpace,
        seed: int,
        capacity: BufferCapacity,
        rates: Rates = RATES,
        bound: CostBound | None = None,
        expression: Expression | None = None,
        first: Genomes | None = None,
    ):
        random = generator(seed, *content_of(space), "genetic")
        self._screen = None if bound is None else Screen(space, bound, capacity)
        self._bred = 1 if bound is None else BRED[bound.objective]
        self._source = RandomGenomes(space, random)
        self._operators = Operators(space, random, self._source, rates)
        self._expression = expression or Expression(space, capacity)
        self._pool: _Scored | None = None
        self._seen: Hashes = np.zeros(0, np.uint64)
        self._still = 0
        self._next, self._told = 0, list[Floats]()
        among = 1 if bound is None else DRAWN
        drawn = self._source.draw(FIRST * among)
        self._generation = self._new(drawn if first is None else first.joined(drawn), among)

    def propose(self, most: int) -> Candidates | None:
        """The next candidates; None when nothing new is found."""
        if self._generation is not None and self._next == len(self._generation):
            self._select(self._generation)
            self._generation = self._breed()
        if self._generation is None:
            return None
        start = self._next
        self._next = min(len(self._generation), start + most)
        return self._generation.candidates.part(slice(start, self._next))

    def tell(self, costs: Floats) -> None:
        """Their costs."""
        self._told.append(costs)

    @property
    def _size(self) -> int:
        """The number of children of the next generation."""
        return int(np.clip(len(self._seen) // SHARE, LEAST, MOST))

    def _breed(self) -> _Generation | None:
        """The next generation: children of the pool and, where it has not improved for long, as many random genomes."""
        assert self._pool is not None
        stuck = self._still >= PATIENCE
        self._still = 0 if stuck else self._still
        for attempt in range(ATTEMPTS):
            count = self._size * self._bred
            children = self._operators.children(self._pool.genomes, count)
            if stuck or attempt:
                children = children.joined(self._source.draw(count))
            found = self._new(children, self._bred)
            if found is not None:
                return found
        return None

    def _new(self, genomes: Genomes, among: int) -> _Generation | None:
        """A generation of those genomes that express mappings which were not proposed before, one among so many."""
        candidates = self._expression.candidates(genomes)
        hashes = mapping_hashes(candidates, self._expression.space.dims)
        fresh, firsts = np.unique(hashes, return_index=True)
        known = np.isin(fresh, self._seen, assume_unique=True)
        rows = np.sort(firsts[~known])
        rows = rows[are_working(self._expression.space, candidates)[rows]]
        rows = self._screened(candidates, rows, len(genomes) // among)
        if not len(rows):
            return None
        self._seen = np.concatenate([self._seen, hashes[rows]])
        self._next, self._told = 0, []
        return _Generation(genomes.at(rows), candidates.at(rows))

    def _screened(self, candidates: Candidates, rows: Ints, most: int) -> Ints:
        """At most so many candidates, each the most promising one of a group."""
        if self._screen is None or len(rows) <= most:
            return rows
        group = np.arange(len(rows)) % most
        order = np.lexsort((self._screen.costs(candidates.at(rows)), group))
        return np.sort(rows[order[np.searchsorted(group[order], np.arange(most))]])

    def _select(self, generation: _Generation) -> None:
        """Keep the best of the pool and of the last generation, and not too many of a niche."""
        scored = _Scored(generation.genomes, np.concatenate(self._told), generation.niches())
        before = self._pool
        if before is not None:
            scored = before.joined(scored)
        most = max(LEAST_PARENTS, int(self._size * PARENTS))
        self._pool = scored.best(most, max(1, int(most * NICHE)))
        fell = before is None or self._pool.costs[0] < before.costs[0]
        self._still = 0 if fell else self._still + 1


@dataclass(frozen=True)
class _Generation:
    """Genomes and the mappings that they express."""

    genomes: Genomes
    candidates: Candidates

    def __len__(self) -> int:
        return len(self.genomes)

    def niches(self) -> Hashes:
        """The niche of each mapping."""
        spread = [one.spatial < one.temporal for one in self.candidates.levels]
        return hashes_of([self.candidates.fanouts, *spread])


@dataclass(frozen=True)
class _Scored:
    """Genomes with their costs and niches."""

    genomes: Genomes
    costs: Floats
    niches: Hashes

    def joined(self, others: _Scored) -> _Scored:
        """These genomes, then the others."""
        costs = np.concatenate([self.costs, others.costs])
        niches = np.concatenate([self.niches, others.niches])
        return _Scored(self.genomes.joined(others.genomes), costs, niches)

    def best(self, most: int, of_niche: int) -> _Scored:
        """The best, in their order: at most so many, and so many of each niche; the others where that leaves room."""
        order = np.argsort(self.costs, kind="stable")
        by_niche = np.argsort(self.niches[order], kind="stable")
        sorted_niches = self.niches[order][by_niche]
        firsts = np.searchsorted(sorted_niches, sorted_niches, side="left")
        rank = np.empty(len(order), np.int64)
        rank[by_niche] = np.arange(len(order)) - firsts
        kept = np.sort(np.argsort(rank >= of_niche, kind="stable")[:most])
        rows = order[kept]
        return _Scored(self.genomes.at(rows), self.costs[rows], self.niches[rows])


class Genetic(Algorithm):
    """Generations of mappings by the operators of GAMMA, as many as the budget allows."""

    def mapper(self, request: MapRequest) -> GeneticMapper:
        return GeneticMapper(request.space, request.seed, request.capacity, bound=request.bound)


MAPPER = Genetic()
