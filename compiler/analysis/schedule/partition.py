"""
A nest partitioned in equal parts along one dimension: one after the other, or side by side on cores.

    loops [m : 2, k : 2, n : 2]      in 3 parts of m = 12      ->      loops [m : 4, m : 2, k : 2, n : 2]

Parts along M share W, parts along N share X, and parts along K share dY. Over time the parts run one after another on
one core, which adds an outermost loop; over cores each part has a core of its own.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Literal

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.cores import core_count, part_nest
from npuc.compiler.analysis.nest.elements import Bits, footprint_bytes
from npuc.compiler.analysis.nest.gemm import forward_view
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.analysis.schedule.exact_cost import exact_costs
from npuc.compiler.analysis.schedule.near_ties import best_of
from npuc.compiler.analysis.schedule.search import best_schedule
from npuc.compiler.core.frozen import frozen
from npuc.dialects.npu.nest import Loop, Nest, Schedule

Over = Literal["time", "cores"]
TIME_PARTS = (2, 4, 8)
"""The numbers of parts over time that a search tries."""


@frozen
class EqualParts:
    """A dimension in a number of equal parts."""

    dim: str
    parts: int
    over: Over = "time"


def extent_of(nest: Nest, schedule: Schedule, dim: str, over: Over) -> int:
    """The extent that a partition divides: a core's part of the dimension over time, all of it over cores."""
    own = [loop.step for loop in schedule.loops if loop.dim == dim and loop.cores and over == "time"]
    return min(own, default=nest.sizes[dim])


def nearest_divisors(extents: Iterable[int], parts: int) -> list[int]:
    """The nearest smaller and the nearest larger number of parts that divides one of several extents."""
    counts = sorted({count for extent in extents for count in range(1, extent + 1) if extent % count == 0})
    return [*[c for c in counts if c < parts][-1:], *[c for c in counts if c > parts][:1]]


def partitioned(nest: Nest, schedule: Schedule, partition: EqualParts) -> Schedule:
    """
    The schedule with a partition in front of its loops.

    A loop whose step equals the part is dropped, as it would take one trip; the resident blocks do not change.
    """
    part = extent_of(nest, schedule, partition.dim, partition.over) // partition.parts
    over, inner = schedule.loops[: schedule.core_depth], schedule.loops[schedule.core_depth :]
    gone = [len(inner) - n for n, loop in enumerate(inner) if loop.dim == partition.dim and loop.step == part]

    def kept(keep: tuple[tuple[str, int], ...]) -> tuple[tuple[str, int], ...]:
        """Depths without the loops that are gone."""
        return tuple((name, depth - sum(depth >= place for place in gone)) for name, depth in keep)

    left = tuple(loop for loop in inner if not (loop.dim == partition.dim and loop.step == part))
    loop = Loop(partition.dim, part, cores=partition.over == "cores")
    loops = (loop, *over, *left) if partition.over == "cores" else (*over, loop, *left)
    outer = tuple(replace(one, keep=kept(one.keep)) for one in schedule.outer)
    return replace(schedule, loops=loops, keep=tuple(entry for entry in kept(schedule.keep) if entry[1]), outer=outer)


def searched_partition(
    nest: Nest, machine: Machine, objective: Objective, widths: Bits, partition: EqualParts, tolerance: float = 0.0
) -> Schedule:
    """The partition with the best schedule of a part on the core that runs it; raises as `best_schedule` does."""
    found = searched_partitions(nest, machine, objective, widths, partition, tolerance)
    return best_of(found, lambda schedule: exact_costs(nest, schedule, machine, widths), objective, tolerance)


def searched_partitions(
    nest: Nest, machine: Machine, objective: Objective, widths: Bits, partition: EqualParts, tolerance: float
) -> list[Schedule]:
    """
    The partition with the best schedules of a part, without a tolerance and with it.

    What is near the best for a part may not be near it for all parts, which the whole decides.
    """
    step = nest.sizes[partition.dim] // partition.parts
    part = part_nest(nest, {partition.dim: (0, step)})
    core = machine.core(partition.parts if partition.over == "cores" else 1)
    found = [best_schedule(part, core, objective, widths, monotone=True)]
    if tolerance:
        found.append(best_schedule(part, core, objective, widths, tolerance=tolerance))
    loop = Loop(partition.dim, step, cores=partition.over == "cores")
    return [replace(inner, loops=(loop, *inner.loops)) for inner in found]


def equal_partitions(nest: Nest, schedule: Schedule, machine: Machine, over: Over | None) -> Iterator[EqualParts]:
    """
    The partitions that `best_partition` tries: M, N and K in 2, 4, 8 parts over time, and in one part per core.

    A schedule over cores already has its loops over some of them: a part is then one of the cores that each leaves.
    """
    view = forward_view(nest)
    over_cores = {loop.dim for loop in schedule.loops if loop.cores}
    left = machine.cores // core_count(nest, schedule)
    for dims in (view.m, view.n, view.k):
        for kind in ("time", "cores"):
            if over not in (None, kind):
                continue
            open_dims = dims if kind == "time" else [dim for dim in dims if dim not in over_cores]
            for parts in TIME_PARTS if kind == "time" else (left,):
                if parts < 2:
                    continue
                dim = next((d for d in open_dims if extent_of(nest, schedule, d, kind) % parts == 0), None)
                if dim is not None:
                    yield EqualParts(dim, parts, kind)


def best_partition(
    nest: Nest,
    fixed: Schedule | None,
    machine: Machine,
    objective: Objective,
    widths: Bits,
    over: Over | None = None,
    dims: tuple[str, ...] | None = None,
    tolerance: float = 0.0,
) -> Schedule:
    """
    The cheapest of the whole nest and all `equal_partitions`, by exact cost; the first of equal ones.

    With a `tolerance` the best by the next measure among those near the cheapest (`near_ties.py`).

    A `fixed` schedule is partitioned as it is, where the result is legal and fits; otherwise each part is searched.
    `over` restricts partitions to those over time or over cores, `dims` to some dimensions.
    """
    if fixed is None:
        found = [best_schedule(nest, machine, objective, widths, monotone=True)]
        if tolerance:
            found.append(best_schedule(nest, machine, objective, widths, tolerance=tolerance))
    else:
        found = [fixed]
    for partition in equal_partitions(nest, fixed or Schedule(), machine, over):
        if dims is not None and partition.dim not in dims:
            continue
        if fixed is None:
            found += searched_partitions(nest, machine, objective, widths, partition, tolerance)
            continue
        schedule = partitioned(nest, fixed, partition)
        budget = machine.spm_bytes if schedule.spm is None else schedule.spm
        if next(schedule.problems(nest), None) is None and footprint_bytes(nest, schedule, widths) <= budget:
            found.append(schedule)
    return best_of(found, lambda schedule: exact_costs(nest, schedule, machine, widths), objective, tolerance)
