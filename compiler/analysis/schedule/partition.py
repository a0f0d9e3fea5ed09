"""
A nest cut in equal parts along one dimension: one after the other, or side by side on cores.

    loops [m : 2, k : 2, n : 2]      in 3 parts of m = 12      ->      loops [m : 4, m : 2, k : 2, n : 2]

A cut of M shares W among the parts, one of N shares X, one of K shares dY. Over time the parts run one after another on
one core, which is one more outermost loop; over cores each has a core of its own.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.cores import part_nest
from npuc.compiler.analysis.nest.elements import Bits, footprint_bytes
from npuc.compiler.analysis.nest.gemm import forward_view
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.analysis.schedule.exact_cost import price_of
from npuc.compiler.analysis.schedule.search import best_schedule
from npuc.dialects.npu.nest import Loop, Nest, Schedule

Over = Literal["time", "cores"]
TIME_PARTS = (2, 4, 8)
"""The numbers of parts over time that are tried."""


@dataclass(frozen=True)
class EqualParts:
    """A dimension in a number of equal parts."""

    dim: str
    parts: int
    over: Over = "time"


def extent_of(nest: Nest, schedule: Schedule, dim: str, over: Over) -> int:
    """What a cut divides: a core's part of the dimension over time, the whole over cores."""
    own = [loop.step for loop in schedule.loops if loop.dim == dim and loop.cores and over == "time"]
    return min(own, default=nest.sizes[dim])


def dividing(extents: Iterable[int], parts: int) -> list[int]:
    """The numbers of parts nearest to one, below and above it, that divide one of several extents."""
    counts = sorted({count for extent in extents for count in range(1, extent + 1) if extent % count == 0})
    return [*[c for c in counts if c < parts][-1:], *[c for c in counts if c > parts][:1]]


def in_parts(nest: Nest, schedule: Schedule, cut: EqualParts) -> Schedule:
    """
    A schedule in front of whose loops a dimension is cut.

    A loop whose step is the part goes, as it would take one trip; what is kept stays the same blocks.
    """
    part = extent_of(nest, schedule, cut.dim, cut.over) // cut.parts
    over, inner = schedule.loops[: schedule.core_depth], schedule.loops[schedule.core_depth :]
    gone = [len(inner) - n for n, loop in enumerate(inner) if loop.dim == cut.dim and loop.step == part]
    kept = tuple((name, depth - sum(depth >= place for place in gone)) for name, depth in schedule.keep)
    left = tuple(loop for loop in inner if not (loop.dim == cut.dim and loop.step == part))
    loop = Loop(cut.dim, part, cores=cut.over == "cores")
    loops = (loop, *over, *left) if cut.over == "cores" else (*over, loop, *left)
    return replace(schedule, loops=loops, keep=tuple(entry for entry in kept if entry[1]))


def searched(nest: Nest, machine: Machine, objective: Objective, widths: Bits, cut: EqualParts) -> Schedule:
    """A cut with the best schedule of a part inside, on the one core that runs it; raises as the search does."""
    step = nest.sizes[cut.dim] // cut.parts
    part = part_nest(nest, {cut.dim: (0, step)})
    core = machine.core(cut.parts if cut.over == "cores" else 1)
    inner = best_schedule(part, core, objective, widths)
    return Schedule((Loop(cut.dim, step, cores=cut.over == "cores"), *inner.loops), inner.keep, inner.spm)


def cuts(nest: Nest, schedule: Schedule, machine: Machine, over: Over | None) -> Iterator[EqualParts]:
    """The cuts that `best_cut` tries: M, N and K in 2, 4, 8 parts over time, and in one for each core."""
    view = forward_view(nest)
    for dims in (view.m, view.n, view.k):
        for kind in ("time", "cores"):
            if over not in (None, kind):
                continue
            for parts in TIME_PARTS if kind == "time" else (machine.cores,):
                found = (d for d in dims if extent_of(nest, schedule, d, kind) % parts == 0)
                dim = next(found, None)
                if dim is not None and parts > 1:
                    yield EqualParts(dim, parts, kind)


def best_cut(
    nest: Nest,
    fixed: Schedule | None,
    machine: Machine,
    objective: Objective,
    widths: Bits,
    over: Over | None = None,
    dims: tuple[str, ...] | None = None,
) -> Schedule:
    """
    The cheapest of no cut and all `cuts`, exactly; of equal ones the first.

    A `fixed` schedule is cut as it is, where it still is one and fits; without it each part is searched. `over` leaves
    only cuts over time or over cores, `dims` only those of these dimensions.
    """
    found = [best_schedule(nest, machine, objective, widths) if fixed is None else fixed]
    for cut in cuts(nest, fixed or Schedule(), machine, over):
        if dims is not None and cut.dim not in dims:
            continue
        if fixed is None:
            found.append(searched(nest, machine, objective, widths, cut))
            continue
        schedule = in_parts(nest, fixed, cut)
        budget = machine.spm_bytes if schedule.spm is None else schedule.spm
        if next(schedule.problems(nest), None) is None and footprint_bytes(nest, schedule, widths) <= budget:
            found.append(schedule)
    return min(found, key=lambda schedule: price_of(nest, schedule, machine, objective, widths))
