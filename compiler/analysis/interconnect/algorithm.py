"""
The interface of a collective algorithm, and the registry of all algorithms.

Those of npuc are the modules of `algorithms/` with an `ALGORITHM`, named after their module; installed distributions
publish others through the entry point group `npuc.collectives`:

    [project.entry-points."npuc.collectives"]
    mine = "my_package:MyAlgorithm"        # a class, or a function without arguments that returns an algorithm
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from npuc.compiler.analysis.interconnect.topology import CommunicationGroup, Kind
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.registry import Registry


@dataclass(frozen=True)
class TransferCost:
    """
    The cost of a transfer in the alpha-beta model: `waits` latencies in sequence, and for each byte that a device sends
    the time of `crowding` bytes at its full bandwidth; a byte crosses `hops` links on average.
    """

    waits: int
    crowding: Fraction = Fraction(1)
    hops: Fraction = Fraction(1)


class Algorithm(ABC):
    """
    Collectives within a group of devices along one level, in closed form; `kinds` are the levels that it supports.

    All groups of the level communicate at the same time. Among p devices, a device with d bytes sends d (p - 1) / p in
    a reduce-scatter or an all-to-all, and d (p - 1) in an all-gather, whatever the algorithm.
    """

    kinds: tuple[Kind, ...]

    @abstractmethod
    def scatter(self, group: CommunicationGroup) -> TransferCost:
        """Reduce-scatter or all-gather."""

    @abstractmethod
    def exchange(self, group: CommunicationGroup) -> TransferCost:
        """All-to-all: a part for each other device."""

    @abstractmethod
    def message(self, group: CommunicationGroup, pairs: Sequence[tuple[int, int]]) -> TransferCost:
        """Messages of equal size, all at once, for pairs (source, target) of positions within the group."""


@dataclass
class _Outside(Algorithm):
    """An algorithm from outside npuc, whose exceptions are reported as its own."""

    name: str
    algorithm: Algorithm

    def __post_init__(self) -> None:
        self.kinds = self.algorithm.kinds

    def scatter(self, group: CommunicationGroup) -> TransferCost:
        with ALGORITHMS.blamed(self.name):
            return self.algorithm.scatter(group)

    def exchange(self, group: CommunicationGroup) -> TransferCost:
        with ALGORITHMS.blamed(self.name):
            return self.algorithm.exchange(group)

    def message(self, group: CommunicationGroup, pairs: Sequence[tuple[int, int]]) -> TransferCost:
        with ALGORITHMS.blamed(self.name):
            return self.algorithm.message(group, pairs)


ALGORITHMS = Registry[Algorithm](
    Algorithm,
    "collective algorithm",
    "npuc.compiler.analysis.interconnect.algorithms",
    "ALGORITHM",
    "npuc.collectives",
    outside=_Outside,
)


@cache
def algorithm_for(kind: Kind, name: str | None) -> Algorithm:
    """
    The algorithm of that name on levels of a kind; None: that of the kind's own name.

    Raises `UsageError` if there is no such algorithm, or if it does not support such levels.
    """
    found = ALGORITHMS.get(kind if name is None else name)
    if kind not in found.kinds:
        known = ", ".join(f"'{one}'" for one in found.kinds)
        raise UsageError(f"the collective algorithm '{name}' is for levels of kind {known}, not '{kind}'")
    return found


def algorithm_of(group: CommunicationGroup) -> Algorithm:
    """The algorithm of a group's level."""
    return algorithm_for(group.level.kind, group.level.algorithm)
