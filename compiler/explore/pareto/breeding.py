"""
Children of points of a grid: neighbours of the front, crossed and mutated parents, and strangers.

Parents compete by rank and crowding, as in NSGA-II (Deb, Pratap, Agarwal, Meyarivan, IEEE TEC 2002); neighbours of the
front are those of a Pareto local search (Paquete, Chiarandini, Stützle, 2004). The shares of each are our choice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from npuc.compiler.explore.pareto.front import Flags, Floats, Ints, crowding, ranks
from npuc.compiler.explore.pareto.space import GridSpace

POOL = 96
"""Parents that are kept besides the front."""
MOST_PARENTS = 100
"""With a large front only its points that are furthest from their neighbours have children, as in NSGA-II."""
NEAR, STRANGE, CROSSED, BETWEEN = 0.2, 0.02, 0.9, 0.15
"""
The shares of neighbours of the front and of strangers, of crossed ones among the rest, and of the ordered values of
these that lie anywhere between those of the parents.
"""
TRIES = 24
"""How often a child that is known already is made again, each time with more mutations."""


@dataclass(frozen=True)
class Parents:
    """
    Points that were priced: their numbers, goals, and by how much they break constraints (0: not at all), and of each
    the front that it is on and how far its neighbours are; the best first.
    """

    numbers: Ints
    goals: Floats
    excess: Floats
    rank: Ints
    distance: Floats

    @classmethod
    def of(cls, numbers: Ints, goals: Floats, excess: Floats) -> Parents:
        """The best of these points: by rank, then by the distance of neighbours; who breaks constraints comes last."""
        fine = np.flatnonzero(excess == 0)
        rank = np.full(len(numbers), len(numbers) + 1, np.int64)
        distance = np.zeros(len(numbers))
        if len(fine):
            rank[fine] = ranks(goals[fine], POOL)
            for one in range(int(rank[fine].max()) + 1):
                own = fine[rank[fine] == one]
                if len(own):
                    distance[own] = crowding(goals[own])
        order = np.lexsort((numbers, -distance, rank, excess))
        order = order[: min(MOST_PARENTS, max(POOL, int((rank == 0).sum())))]
        return cls(numbers[order], goals[order], excess[order], rank[order], distance[order])

    def joined(self, numbers: Ints, goals: Floats, excess: Floats) -> Parents:
        """The best of these and of new points."""
        return Parents.of(
            np.concatenate([self.numbers, numbers]),
            np.concatenate([self.goals, goals]),
            np.concatenate([self.excess, excess]),
        )

    def __len__(self) -> int:
        return len(self.numbers)


@dataclass
class Breeder:
    """Makes children of parents in a space; `taken` says of numbers which are not wanted again."""

    space: GridSpace
    random: Generator
    taken: Callable[[Ints], Flags]

    def children(self, parents: Parents, count: int) -> list[int]:
        """Up to so many new points, none of them taken."""
        found: dict[int, None] = {}
        for _ in range(count):
            child = self._child(parents, found)
            if child is None:  # most of what is near is known: others are drawn from all that are open
                break
            found[child] = None
        return list(found)

    def strangers(self, count: int) -> list[int]:
        """The first and the last point, and others so that each axis has its values about equally often; none taken."""
        columns = [
            self.random.permutation(np.arange(count) * size // count if size > count else np.arange(count) % size)
            for size in self.space.sizes
        ]
        places = np.array(columns, np.int64)
        for axis, size in enumerate(self.space.sizes):
            if size > count:  # anywhere in its share of the axis
                places[axis] += self.random.integers(0, size // count, count)
        ends = np.array([[0, size - 1] for size in self.space.sizes], np.int64)  # often the ends of some goal
        numbers = self.space.numbers(np.concatenate([ends, places], axis=1))
        return list(dict.fromkeys(numbers[~self.taken(numbers)].tolist()))[:count]

    def _child(self, parents: Parents, found: dict[int, None]) -> int | None:
        for attempt in range(TRIES):
            draw = self.random.random()
            if draw < STRANGE or not len(parents):
                places = self._strange()
            elif draw < STRANGE + NEAR and attempt < TRIES // 2:
                places = self._near(parents)
            else:
                places = self._mutated(self._crossed(parents), 1 + attempt // 6)
            number = int(self.space.numbers(places[:, None])[0])
            if number not in found and not self.taken(np.array([number], np.int64))[0]:
                return number
        return None

    def _strange(self) -> Ints:
        return np.array([self.random.integers(size) for size in self.space.sizes], np.int64)

    def _near(self, parents: Parents) -> Ints:
        """A neighbour of a point of the front."""
        places = self._places(self._pick(parents, int((parents.rank == 0).sum()) or len(parents)), parents)
        wide = [axis for axis, size in enumerate(self.space.sizes) if size > 1]
        axis = wide[int(self.random.integers(len(wide)))] if wide else 0
        places[axis] = self._moved(axis, int(places[axis]), 1)
        return places

    def _crossed(self, parents: Parents) -> Ints:
        """A parent, or each value of one of two."""
        first = self._places(self._pick(parents, len(parents)), parents)
        if self.random.random() >= CROSSED:
            return first
        second = self._places(self._pick(parents, len(parents)), parents)
        child = np.where(self.random.random(len(first)) < 0.5, first, second)
        between = self.random.random(len(first)) < BETWEEN * np.array(self.space.ordered)
        low, high = np.minimum(first, second), np.maximum(first, second)
        return np.where(between, self.random.integers(low, high + 1), child)

    def _mutated(self, places: Ints, strength: int) -> Ints:
        """Some values others: about `strength` of them."""
        chance = min(1.0, strength / len(places))
        for axis in range(len(places)):
            if self.random.random() < chance:
                places[axis] = self._moved(axis, int(places[axis]), max(1, self.space.sizes[axis] // 8))
        return places

    def _moved(self, axis: int, place: int, reach: int) -> int:
        """Another value of an axis, near where values have an order."""
        size = self.space.sizes[axis]
        if size == 1:
            return place
        if not self.space.ordered[axis]:
            return (place + 1 + int(self.random.integers(size - 1))) % size
        step = 1 + int(self.random.integers(reach)) if reach > 1 and self.random.random() < 0.5 else 1
        moved = place + (step if self.random.random() < 0.5 else -step)
        return moved if 0 <= moved < size else min(max(2 * place - moved, 0), size - 1)

    def _pick(self, parents: Parents, most: int) -> int:
        """The better of two of the first parents; they are sorted."""
        one, other = (int(number) for number in self.random.integers(most, size=2))
        return min(one, other)

    def _places(self, row: int, parents: Parents) -> Ints:
        return self.space.places(parents.numbers[row : row + 1])[:, 0].copy()
