"""
The cost of contractions with resident tensors (`resident`), and their best schedules.

An operand that is already resident, or a result read only by operations that find it resident, causes no DRAM traffic:
the pipeline runs with 0 bits per element of it, and traffic and lower bounds leave it out. The array accesses it in SPM
as before. It occupies all its elements, at the expense of the other blocks: as partial sums in the contraction that
accumulates it, as completed elements from then on.

A tensor that is resident afterwards and is transferred (an operand that is loaded, a result that is stored) moves
once: in blocks that are visited once, or as a whole before the first tile operation or after the last.
"""

from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import lru_cache

from npuc.compiler.analysis.machine.compute import compute
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.levels.views import level_names
from npuc.compiler.analysis.machine.stationary import carried_passes
from npuc.compiler.analysis.nest.elements import BYTE, Bits, footprint_bytes, whole_bytes
from npuc.compiler.analysis.programs.reported_costs import ReportedCost
from npuc.compiler.analysis.schedule.core_search import finest
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.analysis.schedule.search import best_schedule
from npuc.compiler.analysis.timing.double_buffer import pipeline
from npuc.compiler.core.errors import CapacityError
from npuc.dialects.npu.epilogue import incomplete_reason
from npuc.dialects.npu.footprint import footprint
from npuc.dialects.npu.nest import Nest, Schedule

Names = frozenset[str]


def refusal(machine: Machine) -> str | None:
    """Why this model does not cover resident values on a machine; None if it does."""
    if machine.levels:
        names = ", ".join(level_names(machine))
        return f"memory between SPM and DRAM ({names}) has no price for values that are resident in SPM"
    if machine.policy == "lru":
        return "resident values have no cost model with memory.policy 'lru', which decides by itself what is in SPM"
    if machine.array.skips_reloads:
        return "resident values have no cost model on arrays that keep a stationary tile between operations"
    if machine.cores > 1:
        return "resident values have a cost model on one core only"
    return None


def resident_cost(nest: Nest, schedule: Schedule, machine: Machine, widths: Bits, unmoved: Names) -> ReportedCost:
    """The cost of a scheduled nest on one core whose tensors `unmoved` cause no traffic."""
    timing = pipeline(nest, schedule, machine, widths.without(nest, unmoved))
    joules = None
    if machine.energy is not None:
        work = compute(nest, schedule, machine.array)
        accessed = sum(width * work.accesses[name] for name, width in widths.with_sums(nest).items())
        joules = machine.energy.joules(
            carried_passes((nest,), machine.array), (timing.moved + accessed) / BYTE, timing.moved / BYTE
        )
    return ReportedCost(timing.cycles, timing.moved, joules)


def resident_spm_bytes(nest: Nest, schedule: Schedule, widths: Bits, whole: Collection[str]) -> int:
    """The bytes of SPM that the blocks of a schedule occupy when all of the tensors `whole` is resident."""
    held = footprint(nest, schedule) | {name: nest.tensors[name].elements for name in whole}
    return footprint_bytes(nest, schedule, widths, held)


def are_moved_once(nest: Nest, schedule: Schedule, names: Collection[str]) -> bool:
    """Whether each block of these tensors is transferred once."""
    return all(incomplete_reason(nest, schedule, name) is None for name in names)


def has_resident_schedule(
    nest: Nest, machine: Machine, widths: Bits, unmoved: Names, moved_once: Names, reserved: int
) -> bool:
    """Whether `best_resident_schedule` finds a schedule: the smallest tiles fit, and what is whole moves once."""
    left = machine.spm_bytes - reserved - _whole_bytes(nest, widths, unmoved | moved_once)
    return (
        left > 0
        and footprint_bytes(nest, finest(nest), widths) <= left
        and are_moved_once(nest, Schedule(), moved_once)
    )


def _whole_bytes(nest: Nest, widths: Bits, names: Names) -> int:
    """The bytes of SPM that all of some tensors occupies."""
    rooms = widths.occupied(nest)
    return sum(whole_bytes(rooms[name] * nest.tensors[name].elements) for name in names)


@lru_cache(maxsize=8192)
def best_resident_schedule(
    nest: Nest,
    machine: Machine,
    objective: Objective,
    widths: Bits,
    unmoved: Names,
    moved_once: Names,
    reserved: int,
) -> tuple[Schedule, ReportedCost] | None:
    """
    The best schedule found for a nest with resident tensors, and its cost; None where it does not fit.

    The tensors `unmoved` and `moved_once` are resident: the first cause no traffic, the others are transferred once.
    `reserved` are the bytes of SPM that other values occupy. The schedule promises the SPM of the machine.
    """
    room = machine.spm_bytes - reserved
    left = room - _whole_bytes(nest, widths, unmoved | moved_once)
    if left <= 0:
        return None
    found: list[tuple[ReportedCost, Schedule]] = []
    plain = best_schedule(nest, machine, objective, widths)
    fits = resident_spm_bytes(nest, plain, widths, unmoved | moved_once) <= room and are_moved_once(
        nest, plain, moved_once
    )
    for schedule in (
        *((plain,) if fits else ()),
        *_schedules(nest, machine, objective, widths, unmoved, moved_once, left),
    ):
        promised = replace(schedule, spm=machine.spm_bytes)
        found.append((resident_cost(nest, promised, machine, widths, unmoved), promised))
    if not found:
        return None
    price, schedule = min(found, key=lambda entry: (entry[0].score(objective), entry[0].moved))
    return schedule, price


def _schedules(
    nest: Nest,
    machine: Machine,
    objective: Objective,
    widths: Bits,
    unmoved: Names,
    moved_once: Names,
    left: int,
) -> Iterator[Schedule]:
    """Schedules for `left` bytes of SPM, in which `moved_once` moves in blocks that are visited once, or as a whole."""

    def best(free: Names) -> Schedule:
        moving = widths.without(nest, free)
        if not any(moving.stored):  # Nothing moves: only the array's time tells schedules apart.
            moving = Bits((BYTE,) * len(nest.tensors), (BYTE,) * len(nest.outs), moving.room)
        return best_schedule(nest, replace(machine, spm_bytes=left), objective, moving)

    try:
        found = _kept(best(unmoved), unmoved, 0)
        if are_moved_once(nest, found, moved_once):
            yield found
        if moved_once:
            found = best(unmoved | moved_once)
            found = _kept(_kept(found, unmoved, 0), moved_once, len(found.loops))
            if are_moved_once(nest, found, moved_once):
                yield found
    except CapacityError:
        return


def _kept(schedule: Schedule, names: Names, depth: int) -> Schedule:
    """The schedule with these tensors kept over the `depth` innermost loops."""
    keep = [(name, inner) for name, inner in schedule.keep if name not in names]
    return replace(schedule, keep=(*keep, *((name, depth) for name in sorted(names) if depth)))
