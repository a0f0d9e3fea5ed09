"""The candidate core partitions of the schedule search, each with a lower bound of its schedules."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from heapq import heappop, heappush
from itertools import combinations
from math import isqrt, prod
from typing import TypeAlias

from npuc.compiler.analysis.machine.compute import compute, cycles_lower_bound
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.blocks import is_plain, touched
from npuc.compiler.analysis.nest.cores import core_count, core_parts, core_traffic, first_part
from npuc.compiler.analysis.nest.elements import BYTE, Bits
from npuc.compiler.analysis.nest.traffic import moved_bits
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.analysis.schedule.exact_cost import ExactCost
from npuc.dialects.npu.nest import Loop, Nest, Schedule

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


Partitions: TypeAlias = Iterable[tuple[tuple[Loop, ...], int]]
"""Loops over cores, with the number of cores of the machine whose schedules the parts have."""


def partitions_up_to(nest: Nest, cores: int) -> Partitions:
    """
    The loops over cores for this number and for each smaller one up to `EVERY_COUNT`, each once: what fewer cores do
    more can do.
    """
    return _partitions(nest, cores, {*range(1, min(cores, EVERY_COUNT) + 1), cores})


def partitions_of_up_to(nest: Nest, cores: int) -> Partitions:
    """The loops over cores for each number up to this one, each once."""
    return _partitions(nest, cores, range(1, cores + 1))


def _partitions(nest: Nest, cores: int, counts: Iterable[int]) -> Partitions:
    found = (loops for count in sorted(counts, reverse=True) for loops in core_partitions(nest, count))
    return [(loops, cores) for loops in dict.fromkeys(found)]


def partitions_of_every_count(nest: Nest, cores: int) -> Partitions:
    """
    For each number of cores up to this one the loops over them, or over fewer, with that number; `monotone.py` says
    what it is for.

    Between powers of two above `EVERY_COUNT_TO_SHARE` loops come with the least number alone that has them.
    """
    seen: dict[tuple[Loop, ...], None] = {}
    found: list[tuple[tuple[Loop, ...], int]] = []
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
    partitions: Partitions,
) -> Iterator[CandidatePartition]:
    """
    The candidates in the order of their lower bounds, as long as these are not above `most`, which may fall meanwhile.

    A bound costs more, the closer it is. So each candidate is put off by cheap bounds first, and a closer one is
    computed when it is the next by the bounds that are known.
    """
    bounds = PartitionBounds(nest, machine, objective, widths)
    waiting = [
        (0.0, False, 0.0, number, 0, CandidatePartition(loops, number, cores))
        for number, (loops, cores) in enumerate(partitions)
    ]
    while waiting:
        bound, known, _, number, stage, candidate = heappop(waiting)
        if bound > most():
            return
        if known:
            yield candidate
        elif stage < len(bounds.stages):
            found = max(bound, bounds.stages[stage](candidate.loops))
            heappush(waiting, (found, False, 0.0, number, stage + 1, candidate))
        else:
            of_all = bounds.of_all_cores(candidate.loops)
            found = max(bound, of_all, bounds.of_busiest(candidate.loops))
            ready = replace(candidate, bound=of_all, least=found)
            # Of equal bounds that of the least traffic first, which mostly decides near ties.
            heappush(waiting, (found, True, float(bounds.channel(candidate.loops)), number, stage, ready))


class PartitionBounds:
    """Lower bounds of an objective over all schedules with given loops over cores."""

    def __init__(self, nest: Nest, machine: Machine, objective: Objective, widths: Bits):
        self.nest, self.machine, self.widths = nest, machine, widths
        self.objective: Objective = objective
        self.stored, self.sums = widths.by_name(nest), widths.with_sums(nest)
        self.touched = {name: touched(tensor, nest.sizes) for name, tensor in nest.tensors.items()}
        bits = sum((t.elements - self.touched[t.name]) * self.stored[t.name] for t in nest.outs)
        starts = [start for start in nest.starts if start is not None]
        self.untouched = bits + sum((t.elements - self.touched[t.name]) * self.stored[t.name] for t in starts)
        plain = all(is_plain(axis) for tensor in (*nest.ins, *nest.outs) for axis in tensor.axes)
        self.has_closed_form = plain and not starts
        self.after = self._after_transfers()
        self.stages: tuple[Callable[[tuple[Loop, ...]], float], ...] = (self.of_elements,)
        if objective in ("time", "edp"):
            self.stages = self.of_elements, self.of_work

    def of_elements(self, loops: tuple[Loop, ...]) -> float:
        """By every element once for each core that needs it, and by the multiply-accumulates of the largest part."""
        macs = self.nest.macs
        for loop in loops:
            macs = macs // self.nest.sizes[loop.dim] * loop.step
        bits = self._elements(loops)
        time = max(macs / self.machine.array.elements, self._transfers(Fraction(bits), self.untouched))
        return self._value(time, bits + self.untouched, bits + self.untouched)

    def _elements(self, loops: tuple[Loop, ...]) -> int:
        """
        The bits of every touched element once for each core that needs it: without windows and starts all there are.
        """
        counts = {loop.dim: -(-self.nest.sizes[loop.dim] // loop.step) for loop in loops}
        bits, outs = 0, {out.name for out in self.nest.outs}
        starts = {start.name for start in self.nest.starts if start is not None}
        for name, tensor in self.nest.tensors.items():
            parts = prod(count for dim, count in counts.items() if dim not in tensor.dims)
            if name in outs:
                again = 0 if self.machine.reduction == "on-chip" else parts - 1
                bits += self.touched[name] * (self.stored[name] + 2 * again * self.sums[name])
            else:
                once = self.machine.multicast or name in starts
                bits += self.touched[name] * self.stored[name] * (1 if once else parts)
        return bits

    def of_work(self, loops: tuple[Loop, ...]) -> float:
        """By the folds of the largest part; only for objectives that count time."""
        bits = 0 if self.objective == "time" else sum(self.touched[n] * self.stored[n] for n in self.touched)
        work = cycles_lower_bound((first_part(self.nest, Schedule(loops)),), self.machine.array)
        return self._value(float(work), bits, bits)

    def of_all_cores(self, loops: tuple[Loop, ...]) -> float:
        """By the traffic of all cores together, and the folds of the largest part; 0 for objectives with energy."""
        if self.objective not in ("time", "traffic"):
            return 0.0
        least = self.channel(loops)
        if self.objective == "traffic":
            return float(least)
        work = cycles_lower_bound((first_part(self.nest, Schedule(loops)),), self.machine.array)
        return max(float(work), self._transfers(Fraction(least - self.untouched), self.untouched))

    def of_busiest(self, loops: tuple[Loop, ...]) -> float:
        """By the traffic of the core that moves most, and by what passes through the scratchpads of all."""
        schedule, machine = Schedule(loops), self.machine
        if self.has_closed_form and self.objective in ("time", "traffic"):
            least = self.channel(loops)
            first = 0 if machine.multicast else self._first_core(loops) * core_count(self.nest, schedule)
            return self._value(self._transfers(Fraction(max(least, first)), 0), least, 0)
        moves = core_traffic(self.nest, schedule, machine.multicast, machine.reduction)
        of_cores = [moved_bits(self.nest, rows, self.widths) for rows in moves.moved]
        parts, least = core_parts(self.nest, schedule), self.channel(loops)
        time = self._transfers(Fraction(least - self.untouched), self.untouched)
        if not machine.multicast:  # which bills a transfer to all its readers
            count, first = core_count(self.nest, schedule), of_cores[0] - self.untouched
            time = max(time, self._transfers(Fraction(first * count), self.untouched * count))
            time = max(time, self._transfers(Fraction(max(of_cores[1:], default=0) * count), 0))
        spm = sum(part.cores * bits for part, bits in zip(parts, of_cores, strict=True))
        if self.objective in ("energy", "edp") and machine.array.row_stationary is None:
            # Tiles only add accesses: to a stationary tile that stays they add none, and it is loaded once.
            for part in parts:
                accesses = compute(part.nest, part.schedule, machine.array).accesses
                spm += part.cores * sum(self.sums[name] * accesses.get(name, 0) for name in self.sums)
        return self._value(time, least, spm)

    def _first_core(self, loops: tuple[Loop, ...]) -> int:
        """The least bits that the first core moves, of a nest without windows and starts."""
        extents = self.nest.sizes | {loop.dim: min(loop.step, self.nest.sizes[loop.dim]) for loop in loops}
        cut = {loop.dim for loop in loops if loop.step < self.nest.sizes[loop.dim]}
        bits, outs = 0, {out.name for out in self.nest.outs}
        for name, tensor in self.nest.tensors.items():
            width = self.stored[name]
            if name in outs and not cut <= tensor.dims:
                # Others go on with these sums.
                width = 0 if self.machine.reduction == "on-chip" else self.sums[name]
            bits += width * prod(extents[dim] for dim in tensor.dims)
        return bits

    def _transfers(self, bits: Fraction, untouched: int) -> float:
        """
        The least time in which cores move so many bits together, and beside these those of elements that no statement
        touches, which move at any time: after the last load of a core come fill and drain.
        """
        rate = self.machine.channel_bits
        return max(float(bits / rate) + self.after, float((bits + untouched) / rate))

    def _after_transfers(self) -> int:
        """
        The least cycles from a core's last load to the end beside the last store.

        0 where what cores share is not billed to each, or a stationary tile that stays makes fill and drain shorter.
        """
        machine, array = self.machine, self.machine.array
        if machine.multicast or machine.reduction == "on-chip" or array.skips_reloads:
            return 0
        return array.op_overhead

    def channel(self, loops: tuple[Loop, ...]) -> int:
        """The least bits on the DRAM channel."""
        if self.has_closed_form:
            return self._elements(loops) + self.untouched
        moves = core_traffic(self.nest, Schedule(loops), self.machine.multicast, self.machine.reduction)
        return moved_bits(self.nest, moves.channel, self.widths)

    def _value(self, time: float, moved: int, spm: int) -> float:
        """The objective for lower bounds of cycles, of bits on the channel and of bits in and out of scratchpads."""
        energy = self.machine.energy
        joules = None if energy is None else energy.joules(self.nest.macs, spm / BYTE, moved / BYTE)
        return ExactCost(time, moved, joules).score(self.objective)
