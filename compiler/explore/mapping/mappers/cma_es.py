"""
The mapper `cma-es`: evolution strategies that adapt a normal distribution of vectors of real numbers, by `cmaes`.

A vector has keys for the orders of loops and for what is spread, and the logarithms of tiles (`..vectors`). The
covariance is kept diagonal (Ros and Hansen, PPSN 2008): there are more coordinates than generations to learn how they
depend on each other. The package asks for whole populations and is told what they cost; mappings that were
scored before are told from memory. A search that has converged begins anew with twice as many a generation (Auger and
Hansen, CEC 2005).
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np

from npuc.compiler.analysis.mapping.exact.arrays import Floats
from npuc.compiler.core.errors import UsageError
from npuc.compiler.explore.mapping.candidates import Candidates, Portions, are_working
from npuc.compiler.explore.mapping.genomes import Expression, Hashes, mapping_hashes
from npuc.compiler.explore.mapping.mapper import Algorithm, MapRequest, Refusal
from npuc.compiler.explore.mapping.mappers.random import content_of
from npuc.compiler.explore.mapping.vectors import VectorCode
from npuc.compiler.explore.seeds import generator

POPULATION, LARGEST = 64, 512
"""The vectors of a generation at first, and the most to which they are doubled."""
CENTRE, SPREAD = 0.5, 0.3
"""The mean of each coordinate at first, and its standard deviation."""
PATIENCE = 8
"""After so many generations without a mapping that is new, the search begins anew."""
STARTS = 3
"""After so many beginnings without a mapping that is new, there are none."""
WORST = float(np.log(np.finfo(np.float64).max))
"""The logarithm of the cost of what does not fit."""


class CmaEsMapper:
    """The mappings of the generations of a strategy, each once."""

    def __init__(self, request: MapRequest):
        space = request.space
        self._space, self._code = space, VectorCode(space)
        self._expression = Expression(space, request.capacity)
        self._random = generator(request.seed, *content_of(space), "cma-es")
        self._known: dict[int, float] = {}
        self._told = list[Floats]()
        self._portions = Portions(self._search())

    def propose(self, most: int) -> Candidates | None:
        """The next candidates; None when nothing new is found."""
        return self._portions.take(most)

    def tell(self, costs: Floats) -> None:
        """Their costs."""
        self._told.append(costs)

    def _search(self) -> Iterator[Candidates]:
        """What is new of each generation; its costs are told before the next one is asked for."""
        size, idle = POPULATION, 0
        while idle < STARTS:
            before = len(self._known)
            yield from self._run(size)
            idle = 0 if len(self._known) > before else idle + 1
            size = min(2 * size, LARGEST)

    def _run(self, size: int) -> Iterator[Candidates]:
        """The generations of one distribution, until it has converged."""
        strategy = _library().SepCMA(
            mean=np.full(self._code.size, CENTRE),
            sigma=SPREAD,
            population_size=size,
            seed=int(self._random.integers(2**31)),
        )
        stale = 0
        while stale < PATIENCE and not _has_converged(strategy):
            vectors: Floats = np.array([strategy.ask() for _ in range(size)], float).T
            candidates = self._expression.candidates(self._code.decode(vectors))
            hashes = mapping_hashes(candidates, self._space.dims)
            works = are_working(self._space, candidates)
            new = np.array([n for n in _firsts(hashes) if works[n] and int(hashes[n]) not in self._known], np.int64)
            stale = 0 if len(new) else stale + 1
            if len(new):
                yield candidates.at(new)
                told: Floats = np.concatenate(self._told)
                self._known |= {int(hashes[row]): float(cost) for row, cost in zip(new, told, strict=True)}
                self._told.clear()
            costs = np.array([self._known.get(int(one), np.inf) for one in hashes])
            # Only ranks count; logarithms are as finite as the package needs them to see that all are alike.
            values = np.where(np.isfinite(costs), np.log(np.where(np.isfinite(costs), costs, 1.0)), WORST)
            strategy.tell([(vectors[:, row], float(values[row])) for row in range(size)])


def _has_converged(strategy: Any) -> bool:
    # Variances may be below zero until the next generation is asked for, which mends them.
    with np.errstate(invalid="ignore"):
        return bool(strategy.should_stop())


def _firsts(hashes: Hashes) -> list[int]:
    """The first of each set of equal mappings, in their order."""
    return sorted(map(int, np.unique(hashes, return_index=True)[1]))


def _library() -> Any:
    """The package. Raises `UsageError` where it is not installed."""
    try:
        return import_module("cmaes")
    except ImportError as e:
        raise UsageError(
            "--mapper cma-es needs the package cmaes, which is not installed", hint='pip install "npuc[search]"'
        ) from e


class CmaEs(Algorithm):
    """Separable CMA-ES on vectors of keys and logarithms of tiles; needs the package cmaes."""

    def mapper(self, request: MapRequest) -> CmaEsMapper:
        return CmaEsMapper(request)

    def refusal(self, request: MapRequest) -> Refusal | None:
        _library()
        return None

    @property
    def version(self) -> str:
        return f"cmaes {_library().__version__}"


MAPPER = CmaEs()
