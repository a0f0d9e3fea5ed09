"""
General optimisers of real vectors, as they are published, with their usual parameters; `cma-es` is by `cmaes`.

All begin in the unit cube. Each proposes points and is told their values, which are to be small.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import numpy as np
from numpy.random import Generator

from npuc.compiler.analysis.mapping.exact.arrays import Floats
from npuc.compiler.core.errors import UsageError

POPULATION = 100


class Optimiser(ABC):
    """Proposes points of so many coordinates, arrays [coordinate, point]."""

    def __init__(self, size: int, random: Generator):
        self.size, self.random = size, random

    @abstractmethod
    def ask(self) -> Floats:
        """The next points."""

    @abstractmethod
    def tell(self, values: Floats) -> int:
        """Their values; returns how many of them count as evaluated: the first ones, the others were not asked for."""


class RandomPoints(Optimiser):
    """Uniform points."""

    def ask(self) -> Floats:
        return self.random.random((self.size, POPULATION))

    def tell(self, values: Floats) -> int:
        return len(values)


class Genetic(Optimiser):
    """
    Generations of a population: tournaments of two, uniform crossover, normal mutation of each coordinate with a
    chance of `RATE`; the best `ELITES` survive.
    """

    RATE, STEP, CROSSOVER, ELITES = 0.05, 0.2, 0.9, 5

    def __init__(self, size: int, random: Generator):
        super().__init__(size, random)
        self._points: Floats = random.random((size, POPULATION))
        self._values: Floats | None = None
        self._asked = self._points

    def ask(self) -> Floats:
        if self._values is not None:
            self._asked = self._children(self._points)
        return self._asked

    def tell(self, values: Floats) -> int:
        points, known = self._asked, values
        if self._values is not None:
            points = np.concatenate([self._points[:, : self.ELITES], points], axis=1)
            known = np.concatenate([self._values[: self.ELITES], known])
        best = np.argsort(known, kind="stable")[:POPULATION]
        self._points, self._values = points[:, best], known[best]
        return len(values)

    def _children(self, parents: Floats) -> Floats:
        """The parents are sorted by their values."""
        count = parents.shape[1]
        one, two = self.random.integers(count, size=(2, 2, count)).min(axis=1)
        # both of a pair are equally likely in each coordinate, where they are crossed
        bounds: Floats = np.where(self.random.random((1, count)) < self.CROSSOVER, 0.5, 0.0)
        chances: Floats = self.random.random((self.size, count))
        children = np.where(chances < bounds, parents[:, two], parents[:, one])
        mutated = self.random.random(children.shape) < self.RATE
        return children + mutated * self.random.normal(0.0, self.STEP, children.shape)


class Swarm(Optimiser):
    """Particles, with the constriction of Clerc and Kennedy (IEEE Trans. Evol. Comput. 6, 2002)."""

    INERTIA, PULL = 0.7298, 1.49618

    def __init__(self, size: int, random: Generator):
        super().__init__(size, random)
        self._points: Floats = random.random((size, POPULATION))
        self._speeds: Floats = random.uniform(-0.5, 0.5, (size, POPULATION))
        self._best, self._values = self._points.copy(), np.full(POPULATION, np.inf)

    def ask(self) -> Floats:
        return self._points

    def tell(self, values: Floats) -> int:
        better = values < self._values
        self._best = np.where(better, self._points, self._best)
        self._values = np.where(better, values, self._values)
        leader = self._best[:, [int(self._values.argmin())]]
        own, all_ = self.random.random((2, *self._points.shape))
        pulls = own * (self._best - self._points) + all_ * (leader - self._points)
        self._speeds = self.INERTIA * self._speeds + self.PULL * pulls
        self._points = self._points + self._speeds
        return len(values)


class Differential(Optimiser):
    """DE/rand/1/bin (Storn and Price, J. Global Optim. 11, 1997)."""

    WEIGHT, CROSSOVER = 0.5, 0.9

    def __init__(self, size: int, random: Generator):
        super().__init__(size, random)
        self._points: Floats = random.random((size, POPULATION))
        self._values: Floats | None = None
        self._asked = self._points

    def ask(self) -> Floats:
        if self._values is not None:
            count = POPULATION
            # Three others of each, all different.
            a, b, c = np.array([self.random.choice(count - 1, 3, replace=False) for _ in range(count)]).T
            a, b, c = (one + (one >= np.arange(count)) for one in (a, b, c))
            moved = self._points[:, a] + self.WEIGHT * (self._points[:, b] - self._points[:, c])
            taken = self.random.random(moved.shape) < self.CROSSOVER
            taken[self.random.integers(self.size, size=count), np.arange(count)] = True
            self._asked = np.where(taken, moved, self._points)
        return self._asked

    def tell(self, values: Floats) -> int:
        before = np.full(POPULATION, np.inf) if self._values is None else self._values
        better = values <= before
        self._points, self._values = np.where(better, self._asked, self._points), np.where(better, values, before)
        return len(values)


class OnePlusOne(Optimiser):
    """
    The (1+1) evolution strategy with the rule of one success in five (Rechenberg 1973).

    Several children are proposed at once, as if each had failed before the next one: those behind the first that is no
    worse were not asked for.
    """

    STEP, FACTOR, MOST = 0.2, 1.5, 64

    def __init__(self, size: int, random: Generator):
        super().__init__(size, random)
        self._parent, self._value, self._step = random.random(size), np.inf, self.STEP
        self._count, self._asked = 0, self._parent[:, None]

    def ask(self) -> Floats:
        if self._count:
            steps = self._step * self.FACTOR ** (-np.arange(self._count) / 4)
            self._asked = self._parent[:, None] + steps * self.random.normal(size=(self.size, self._count))
        return self._asked

    def tell(self, values: Floats) -> int:
        good = np.flatnonzero(values <= self._value)
        failed = int(good[0]) if len(good) else len(values)
        self._step *= self.FACTOR ** (-failed / 4)
        if not self._count:
            self._value, self._count = float(values[0]), 8
            return 1
        self._count = int(np.clip(2 * failed, 4, self.MOST))
        if failed == len(values):
            return failed
        self._parent, self._value = self._asked[:, failed], float(values[failed])
        self._step *= self.FACTOR
        return failed + 1


class CovarianceAdaptation(Optimiser):
    """CMA-ES with a diagonal covariance (Ros and Hansen, PPSN 2008), by the package `cmaes`."""

    CENTRE, STEP = 0.5, 0.3

    def __init__(self, size: int, random: Generator):
        super().__init__(size, random)
        self._strategy, self._asked = self._begun(), list[Any]()

    def ask(self) -> Floats:
        self._asked = [self._strategy.ask() for _ in range(int(self._strategy.population_size))]
        return np.array(self._asked, float).T

    def tell(self, values: Floats) -> int:
        self._strategy.tell(list(zip(self._asked, map(float, values), strict=True)))
        if self._strategy.should_stop():
            self._strategy = self._begun()
        return len(values)

    def _begun(self) -> Any:
        seed = int(self.random.integers(2**31))
        return cmaes_package().SepCMA(mean=np.full(self.size, self.CENTRE), sigma=self.STEP, seed=seed)


def cmaes_package() -> Any:
    """The package of CMA-ES. Raises `UsageError` where it is not installed."""
    try:
        return import_module("cmaes")
    except ImportError as e:
        text = "the study compares with CMA-ES by the package cmaes, which is not installed"
        raise UsageError(text, hint='pip install "npuc[search]"') from e


CMA_ES = "cma-es"
OPTIMISERS: Mapping[str, Callable[[int, Generator], Optimiser]] = {
    "random": RandomPoints,
    "genetic": Genetic,
    "pso": Swarm,
    "(1+1)-es": OnePlusOne,
    "de": Differential,
    CMA_ES: CovarianceAdaptation,
}
