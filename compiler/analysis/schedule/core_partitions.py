"""The candidate core partitions of the schedule search, each with a lower bound of its schedules."""

from collections.abc import Iterator
from itertools import combinations

from npuc.compiler.analysis.machine.compute import cycles_lower_bound
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.cores import core_traffic, first_part
from npuc.compiler.analysis.nest.elements import Bits
from npuc.compiler.analysis.nest.traffic import moved_bits
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.dialects.npu.nest import Loop, Nest, Schedule

EVERY_COUNT = 8
"""Up to so many cores all smaller numbers are tried as well."""


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
        for count in range(2, cores // 2 + 1):
            other = cores // count
            if count == cores // other and min(nest.sizes[first], nest.sizes[second]) > 1:
                yield loop(first, count), loop(second, other)


def partitions_up_to(nest: Nest, cores: int) -> Iterator[tuple[Loop, ...]]:
    """
    The loops over cores for this number and for each smaller one up to `EVERY_COUNT`, each once: what fewer cores do
    more can do.
    """
    counts = sorted({*range(1, min(cores, EVERY_COUNT) + 1), cores}, reverse=True)
    yield from dict.fromkeys(loops for count in counts for loops in core_partitions(nest, count))


def partition_lower_bound(
    nest: Nest, partition: tuple[Loop, ...], machine: Machine, objective: Objective, widths: Bits
) -> float:
    """A lower bound of the objective over all schedules with these loops over cores; 0 where none is known."""
    if objective not in ("time", "traffic"):
        return 0.0
    schedule = Schedule(partition)
    moved = core_traffic(nest, schedule, machine.multicast, machine.reduction).channel
    least = moved_bits(nest, moved, widths)
    if objective == "traffic":
        return float(least)
    part = first_part(nest, schedule)
    return max(float(cycles_lower_bound((part,), machine.array)), float(least / machine.channel_bits))
