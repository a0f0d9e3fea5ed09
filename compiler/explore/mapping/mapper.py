"""
Search algorithms for spaces of mappings, and their registry: `npuc map --mapper NAME`.

npuc's own are the modules of `mappers/` with a `MAPPER`, under their module's name; others are published by any
installed distribution through the entry point group `npuc.mappers`:

    [project.entry-points."npuc.mappers"]
    mine = "my_package:MyAlgorithm"        # a class, or a function without arguments that returns an algorithm
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import cast

from npuc.compiler.analysis.mapping.exact.arrays import Floats
from npuc.compiler.core.errors import SourceError
from npuc.compiler.core.foreign import Foreign, summary
from npuc.compiler.core.registry import Registry
from npuc.compiler.explore.mapping.bounds import CostBound
from npuc.compiler.explore.mapping.candidates import Candidates, Mapper
from npuc.compiler.explore.mapping.capacity import BufferCapacity
from npuc.compiler.explore.mapping.space import MapSpace

DEFAULT = "genetic"


@dataclass(frozen=True)
class Refusal:
    """The reason why an algorithm does not search a space, as a predicate of the contraction, and a hint."""

    reason: str
    hint: str


@dataclass(frozen=True)
class MapRequest:
    """
    What a mapper is made for: a space, a seed, and the machine's buffers for the contraction.

    `budget` is the number of candidates that may be evaluated. `bound` has lower bounds of the costs, None where the
    model has none (mode parity).
    """

    space: MapSpace
    seed: int
    capacity: BufferCapacity
    budget: int
    bound: CostBound | None = None


class Algorithm(ABC):
    """A search algorithm: it makes a `Mapper` of each space."""

    @abstractmethod
    def mapper(self, request: MapRequest) -> Mapper:
        """A mapper of a space."""

    def refusal(self, request: MapRequest) -> Refusal | None:
        """The reason not to search a space; None to search it. Called before any search begins."""
        return None

    @property
    def version(self) -> str:
        """What proposals depend on beside npuc's version, by which `--resume` knows records of others."""
        return ""


@dataclass
class _OutsideMapper:
    """A mapper that is not npuc's: its exceptions and wrong answers are reported as its own."""

    name: str
    mapper: Mapper

    def propose(self, most: int) -> Candidates | None:
        """See `Mapper`."""
        with _blamed(self.name):
            found = cast(object, self.mapper.propose(most))
        if found is not None and not isinstance(found, Candidates):
            raise SourceError(f"mapper '{self.name}' proposed {type(found).__name__}, expected Candidates or None")
        if found is not None and not 1 <= len(found) <= most:
            raise SourceError(f"mapper '{self.name}' proposed {len(found):,} candidates, expected 1 to {most:,}")
        return found

    def tell(self, costs: Floats) -> None:
        """See `Mapper`."""
        with _blamed(self.name):
            self.mapper.tell(costs)


@dataclass
class _Outside(Algorithm):
    """An algorithm that is not npuc's."""

    name: str
    algorithm: Algorithm

    def mapper(self, request: MapRequest) -> Mapper:
        with _blamed(self.name):
            return _OutsideMapper(self.name, self.algorithm.mapper(request))

    def refusal(self, request: MapRequest) -> Refusal | None:
        with _blamed(self.name):
            return self.algorithm.refusal(request)

    @property
    def version(self) -> str:
        with _blamed(self.name):
            return self.algorithm.version


def _blamed(name: str) -> Foreign:
    return Foreign(lambda e: SourceError(f"mapper '{name}' failed: {summary(e)}", hint="--debug shows where"))


ALGORITHMS = Registry[Algorithm](
    Algorithm,
    "mapper",
    "npuc.compiler.explore.mapping.mappers",
    "MAPPER",
    "npuc.mappers",
    outside=_Outside,
    default=DEFAULT,
)
