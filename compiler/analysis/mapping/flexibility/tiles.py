"""
How many tiles of a contraction a buffer holds: all that fit in one pool, and those that fit in equal parts of it, one
for each tensor.

A tile is a size from 1 up of each dimension. The need of a tensor is linear in a dimension that slides along no other,
so the tiles are counted along the longest such dimension in closed form. The others are enumerated where that is
feasible; else they are drawn, log-uniformly, each with the weight that makes the estimate unbiased. Where constraints
leave some sizes of each dimension, the same is done among those.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod, sqrt

import numpy as np
from numpy.random import PCG64, Generator, SeedSequence

from npuc.compiler.analysis.mapping.exact.arrays import Floats
from npuc.compiler.analysis.mapping.exact.contraction import ROLES, Contraction
from npuc.compiler.analysis.mapping.exact.volumes import tile

MOST_POINTS = 1 << 20
"""The most points that are enumerated where nobody asks for samples."""
SAMPLES = 50_000
"""The samples that are drawn where there are more points."""
Among = tuple[Sequence[int], ...]
"""The sizes of each dimension that tiles may have, ascending: ranges or tuples."""
CHUNK = 1 << 17
"""The points that are looked at together."""


@dataclass(frozen=True)
class Estimate:
    """A number with its standard error, which is 0 where the number is exact."""

    value: float
    error: float = 0.0

    def over(self, other: Estimate) -> Estimate:
        """The quotient of two numbers with independent errors."""
        value = self.value / other.value
        relative = (self.error / self.value if self.value else 0.0, other.error / other.value)
        return Estimate(value, abs(value) * sqrt(sum(one * one for one in relative)))

    def plus(self, other: Estimate) -> Estimate:
        """The sum of two numbers with independent errors."""
        return Estimate(self.value + other.value, sqrt(self.error**2 + other.error**2))

    def times(self, other: Estimate) -> Estimate:
        """The product of two numbers with independent errors."""
        error = sqrt((self.error * other.value) ** 2 + (other.error * self.value) ** 2)
        return Estimate(self.value * other.value, error)


@dataclass(frozen=True)
class TileCounts:
    """
    The number of tiles that one pool holds (`soft`) and the share of them that equal parts hold as well (`hard`).

    `points` is the number of points looked at: all of them where the counts are exact.
    """

    soft: Estimate
    hard: Estimate
    points: int
    exact: bool

    @property
    def in_parts(self) -> Estimate:
        """The number of tiles that equal parts hold."""
        return self.hard.times(self.soft)


@dataclass(frozen=True)
class TileBuffer:
    """
    A buffer for the tiles of statements that run one after another: `words` elements, None without a limit.

    An element of the output, a partial sum, takes `sum_words` of them.
    """

    works: tuple[Contraction, ...]
    words: float | None
    sum_words: float = 1.0

    @property
    def names(self) -> tuple[str, ...]:
        """The dimensions."""
        return self.works[0].names

    @cached_property
    def linear(self) -> frozenset[str]:
        """The dimensions in which the need of every tensor is linear or constant."""
        other: set[str] = set()
        for work in self.works:
            for role in ROLES:
                coupled = work.coupled(role)
                other |= {dim for dim in coupled if coupled.count(dim) > 1}
                other |= {dim for axis in work.axes(role) if len(axis.terms) > 1 for dim, _ in axis.terms}
        return frozenset(self.names) - other

    def needs(self, sizes: Floats) -> list[list[Floats]]:
        """The words that each tensor of each statement takes for tiles [dimension, tile]."""
        return [
            [(self.sum_words if role == "O" else 1.0) * tile(work, role, sizes) + 0.0 * sizes[0] for role in ROLES]
            for work in self.works
        ]

    def holds(self, sizes: dict[str, int], *, hard: bool = False) -> bool:
        """Whether one pool, or with `hard` each of three equal parts, holds the tile."""
        if self.words is None:
            return True
        given = np.array([[float(sizes[name])] for name in self.names])
        for needs in self.needs(given):
            most = len(ROLES) * max(float(one[0]) for one in needs) if hard else sum(float(one[0]) for one in needs)
            if most > self.words:
                return False
        return True

    def along(self, at: int, size: int, others: Floats) -> tuple[Floats, Floats]:
        """
        How many tiles up to a size of a linear dimension, by place, fit beside tiles of the others, where its own is 1:
        in one pool, and in equal parts.
        """
        soft, hard = (np.full(others.shape[1], float(size)) for _ in range(2))
        if self.words is None:
            return soft, hard
        for work, needs in zip(self.works, self.needs(others), strict=True):
            moving = [self.names[at] in work.coupled(role) for role in ROLES]
            slope = sum((need for need, moves in zip(needs, moving, strict=True) if moves), start=np.zeros_like(soft))
            still = sum(
                (need for need, moves in zip(needs, moving, strict=True) if not moves), start=np.zeros_like(soft)
            )
            soft = np.minimum(soft, _steps(self.words - still, slope))
            for need, moves in zip(needs, moving, strict=True):
                part = len(ROLES) * need
                hard = np.minimum(hard, _steps(self.words, part) if moves else np.where(part <= self.words, hard, 0.0))
        return soft, np.minimum(soft, hard)


def _steps(room: Floats | float, each: Floats) -> Floats:
    """How many of so many words each fit; where none is needed, any number if there is room."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(each > 0, np.floor(room / each), np.where(np.asarray(room) >= 0, np.inf, 0.0))
    return np.maximum(found, 0.0)


def count_tiles(
    buffer: TileBuffer,
    sizes: dict[str, int],
    samples: int | None = None,
    seed: int = 0,
    most: int = MOST_POINTS,
    among: Among | None = None,
) -> TileCounts:
    """
    The tiles of up to these sizes that a buffer holds; with `among` of these sizes alone.

    Exactly where at most `most` points must be enumerated, else by samples; with `samples` by so many samples in any
    case. The same seed gives the same samples.
    """
    sets = tuple(range(1, sizes[name] + 1) for name in buffer.names) if among is None else among
    if buffer.words is None or not all(sets):
        return TileCounts(Estimate(float(prod(map(len, sets)))), Estimate(1.0), 0, exact=True)
    lines = [at for at, name in enumerate(buffer.names) if name in buffer.linear]
    at = max(lines or range(len(sets)), key=lambda number: len(sets[number]))
    along = sets[at] if lines else (1,)
    others = tuple((1,) if n == at and lines else one for n, one in enumerate(sets))
    if samples is None and prod(map(len, others)) <= most:
        return _exact(buffer, at, along, others)
    return _sampled(buffer, at, along, others, samples or SAMPLES, seed)


def _both(buffer: TileBuffer, at: int, along: Sequence[int], others: Floats) -> tuple[Floats, Floats]:
    if buffer.linear:
        soft, hard = buffer.along(at, along[-1], others)
        return _up_to(along, soft), _up_to(along, hard)
    soft, hard = (np.ones(others.shape[1]) for _ in range(2))
    for needs in buffer.needs(others):
        if buffer.words is not None:
            soft *= sum(needs) <= buffer.words
            hard *= len(ROLES) * np.maximum.reduce(needs) <= buffer.words
    return soft, soft * hard


def _up_to(values: Sequence[int], most: Floats) -> Floats:
    """How many values are at most so large."""
    if isinstance(values, range):
        return np.maximum(most - (values[0] - 1), 0.0)
    return np.searchsorted(np.array(values, float), most, side="right").astype(float)


def _exact(buffer: TileBuffer, at: int, along: Sequence[int], others: Among) -> TileCounts:
    soft = hard = 0
    for chunk in _points(others):
        first, second = _both(buffer, at, along, chunk)
        soft, hard = soft + int(first.sum()), hard + int(second.sum())
    share = hard / soft if soft else 0.0
    return TileCounts(Estimate(float(soft)), Estimate(share), prod(map(len, others)), exact=True)


def _points(sets: Among) -> Iterator[Floats]:
    total, values = prod(map(len, sets)), [np.array(one, float) for one in sets]
    for start in range(0, total, CHUNK):
        numbers = np.arange(start, min(start + CHUNK, total))
        places = np.unravel_index(numbers, [len(one) for one in values])
        yield np.array([one[place] for one, place in zip(values, places, strict=True)])


def _sampled(buffer: TileBuffer, at: int, along: Sequence[int], others: Among, samples: int, seed: int) -> TileCounts:
    random = Generator(PCG64(SeedSequence([seed, *map(len, others)])))
    soft, hard = np.zeros(samples), np.zeros(samples)
    for start in range(0, samples, CHUNK):
        rows = slice(start, min(start + CHUNK, samples))
        points, weights = _drawn(random, others, len(soft[rows]))
        first, second = _both(buffer, at, along, points)
        soft[rows], hard[rows] = weights * first, weights * second
    mean = float(soft.mean())
    if not mean:
        return TileCounts(Estimate(0.0), Estimate(0.0), samples, exact=False)
    share = float(hard.mean()) / mean
    error = float(np.std(hard - share * soft)) / mean / sqrt(samples)
    return TileCounts(Estimate(mean, float(np.std(soft)) / sqrt(samples)), Estimate(share, error), samples, exact=False)


def _drawn(random: Generator, sets: Among, count: int) -> tuple[Floats, Floats]:
    """Tiles that are drawn log-uniformly, and the inverse of the probability of each."""
    points, weights = np.ones((len(sets), count)), np.ones(count)
    for row, values in enumerate(sets):
        known: Floats = np.array(values, float)
        heights: Floats = np.cumsum(np.log1p(1.0 / known))
        points[row] = known[np.searchsorted(heights[:-1], random.random(count) * heights[-1], side="right")]
        weights *= heights[-1] / np.log1p(1.0 / points[row])
    return points, weights
