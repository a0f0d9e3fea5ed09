"""The candidate core partitions of the schedule search, each with a lower bound of its schedules."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from heapq import heappop, heappush
from itertools import combinations
from math import isqrt
from typing import TypeAlias

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.elements import Bits
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.analysis.schedule.machine_space import MOST
from npuc.compiler.analysis.schedule.over_cores.partition_bounds import PartitionBounds
from npuc.dialects.npu.nest import Loop, Nest

EVERY_COUNT = 8
"""Up to so many cores all smaller numbers are tried as well."""
EVERY_COUNT_TO_SHARE = 16
"""Up to so many cores those that are used have schedules for the channel of each number."""


def core_partitions(nest: Nest, cores: int) -> Iterator[tuple[Loop, ...]]:
    """
    The loops over cores that a search tries: none, one dimension split among all cores, or two dimensions.

    Two dimensions take as many parts as the cores allow: 4 x 2 of 8, 2 x 2 of 5. Of dimensions that the same tensors
    use, the first with at least one index per core is split, otherwise the largest.
    """
    yield ()
    tensors = (*nest.ins, *nest.outs)
    groups: dict[frozenset[str], list[str]] = {}
    for dim in nest.sizes:
        groups.setdefault(frozenset(t.name for t in tensors if dim in t.dims), []).append(dim)
    dims = [
        next((d for d in group if nest.sizes[d] >= cores), max(group, key=lambda d: nest.sizes[d]))
        for group in groups.values()
    ]

    def loop(dim: str, count: int) -> Loop:
        return Loop(dim, -(-nest.sizes[dim] // count), cores=True)

    for dim in dims:
        if nest.sizes[dim] > 1:
            yield (loop(dim, cores),)
    for first, second in combinations(dims, 2):
        if min(nest.sizes[first], nest.sizes[second]) > 1:
            for count in _first_counts(cores):
                yield loop(first, count), loop(second, cores // count)


@lru_cache(maxsize=4096)
def _first_counts(cores: int) -> tuple[int, ...]:
    """The numbers of parts of the first of two dimensions that leave at least two to the other, each the largest."""
    counts = {cores // other for other in range(2, isqrt(cores) + 1)}
    counts |= {count for count in range(2, isqrt(cores) + 1) if cores // (cores // count) == count}
    return tuple(sorted(counts - {1}))


Partition: TypeAlias = tuple[tuple[Loop, ...], int]
"""Loops over cores, with the number of cores of the machine whose schedules the parts have."""
PartitionsOf: TypeAlias = Callable[[Nest, int], Iterable[Partition]]
"""The loops over cores that a search tries for a nest on a machine of so many cores."""


def partitions_up_to(nest: Nest, cores: int) -> list[Partition]:
    """
    The loops over cores for this number and for each smaller one up to `EVERY_COUNT`, each once: what fewer cores do
    more can do.
    """
    return _partitions(nest, cores, {*range(1, min(cores, EVERY_COUNT) + 1), cores})


def partitions_of_up_to(nest: Nest, cores: int) -> list[Partition]:
    """The loops over cores for each number up to this one, each once."""
    return _partitions(nest, cores, range(1, cores + 1))


def _partitions(nest: Nest, cores: int, counts: Iterable[int]) -> list[Partition]:
    found = (loops for count in sorted(counts, reverse=True) for loops in core_partitions(nest, count))
    return [(loops, cores) for loops in dict.fromkeys(found)]


def partitions_of_every_count(nest: Nest, cores: int) -> list[Partition]:
    """
    For each number of cores up to this one the loops over them, or over fewer, with that number; `monotone.py` says
    what it is for.

    Between powers of two above `EVERY_COUNT_TO_SHARE` loops come with the least number alone that has them.
    """
    seen: dict[tuple[Loop, ...], None] = {}
    found: list[Partition] = []
    for count in range(1, cores + 1):
        own = dict.fromkeys(core_partitions(nest, count))
        new = [loops for loops in own if loops not in seen]
        seen |= own
        often = count <= EVERY_COUNT_TO_SHARE or not count & (count - 1)
        found += ((loops, count) for loops in (seen if often else new))
    # A machine of fewer cores comes later, so that the own one's wins among equals.
    return sorted(found, key=lambda one: -one[1])


@dataclass(frozen=True)
class CandidatePartition:
    """
    Loops over cores that a search may try, with its `number` among them, and the cores that the machine of the search
    has (`cores`).

    `bound` is a lower bound of the objective over all schedules with these loops, by what all cores need; 0 where none
    is known. `least` is the largest that is known.
    """

    loops: tuple[Loop, ...]
    number: int
    cores: int
    bound: float = 0.0
    least: float = 0.0


def candidates_by_bound(
    nest: Nest,
    machine: Machine,
    objective: Objective,
    widths: Bits,
    most: Callable[[], float],
    partitions: PartitionsOf,
    closest: Callable[[CandidatePartition], float] | None = None,
) -> Iterator[CandidatePartition]:
    """
    The candidates in the order of their lower bounds, as long as these are not above `most`, which may fall meanwhile.

    A bound costs more, the closer it is. So each candidate is put off by cheap bounds first (`RankedPartitions`), and a
    closer one is computed when it is the next by the bounds that are known: what `closest` says of a candidate.
    """
    ranked = ranked_partitions(nest, machine, objective, widths, partitions)
    waiting: list[tuple[float, float, int, CandidatePartition]] = []
    place = 0
    while True:
        limit = most()
        ready = ranked.at(place, min(limit, waiting[0][0]) if waiting else limit)
        if ready is None:
            if not waiting or waiting[0][0] > limit:
                return
            yield heappop(waiting)[-1]
            continue
        place += 1
        if closest is None or limit == MOST:
            # Nothing rules out the first one.
            yield ready
        else:
            found = max(ready.least, closest(ready))
            heappush(waiting, (found, ranked.traffic(ready), ready.number, replace(ready, least=found)))


class RankedPartitions:
    """The candidates of a nest in the order of their lower bounds, as far as some search has asked for them."""

    def __init__(
        self, nest: Nest, machine: Machine, objective: Objective, widths: Bits, partitions: Iterable[Partition]
    ):
        self._bounds = PartitionBounds(nest, machine, objective, widths)
        self._found: list[CandidatePartition] = []
        self._waiting = [
            (0.0, 0.0, number, 0, CandidatePartition(loops, number, cores))
            for number, (loops, cores) in enumerate(partitions)
        ]

    def at(self, place: int, most: float) -> CandidatePartition | None:
        """The candidate at this place, one after the last that was asked for at most; None if above `most`, or none."""
        while place >= len(self._found) and self._waiting and self._waiting[0][0] <= most:
            self._rank(*heappop(self._waiting))
        if place >= len(self._found) or self._found[place].least > most:
            return None
        return self._found[place]

    def traffic(self, candidate: CandidatePartition) -> float:
        """The least bits that a candidate moves: of equal bounds the least first, which mostly decides near ties."""
        return float(self._bounds.channel(candidate.loops))

    def _rank(self, bound: float, moved: float, number: int, stage: int, candidate: CandidatePartition) -> None:
        """Add the next closer bound of a candidate, or after the last one the candidate to those found."""
        bounds, loops = self._bounds, candidate.loops
        if stage < len(bounds.stages):
            found = max(bound, bounds.stages[stage](loops))
            heappush(self._waiting, (found, moved, number, stage + 1, candidate))
        elif stage == len(bounds.stages):
            of_all = bounds.of_all_cores(loops)
            found = max(bound, of_all, bounds.of_busiest(loops))
            ready = replace(candidate, bound=of_all, least=found)
            heappush(self._waiting, (found, self.traffic(ready), number, stage + 1, ready))
        else:
            self._found.append(candidate)


@lru_cache(maxsize=32)
def ranked_partitions(
    nest: Nest, machine: Machine, objective: Objective, widths: Bits, partitions: PartitionsOf
) -> RankedPartitions:
    """Those of a nest, which its searches share, whatever their orders, tolerances and limits."""
    return RankedPartitions(nest, machine, objective, widths, partitions(nest, machine.cores))
