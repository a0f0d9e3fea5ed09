"""
What values that stay in SPM from one operation to the next change for the operations that have them (`resident`).

Of a tensor that is there before, or a result that only later operations use that have it, nothing moves between DRAM
and SPM: the pipeline runs with 0 bits for an element of it, and traffic and lower bounds leave it out. The array and
the vector unit read and write it as ever. It takes the room of all its elements, which the other blocks lack: of
partial sums in the operation that sums it up, of finished elements from then on.

A tensor that stays afterwards and moves, an operand that is loaded or a result that is stored, moves once: in blocks
that are visited once, or as a whole before the first operation or after the last.
"""

from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import lru_cache

from npuc.compiler.analysis.machine.compute import compute
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.elements import BYTE, Bits, footprint_bytes, whole_bytes
from npuc.compiler.analysis.programs.reported_costs import Price
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.analysis.schedule.search import best_schedule
from npuc.compiler.analysis.timing.double_buffer import pipeline
from npuc.compiler.core.errors import CapacityError
from npuc.dialects.npu.finish import unfinished
from npuc.dialects.npu.footprint import footprint
from npuc.dialects.npu.nest import Nest, Schedule

Names = frozenset[str]


def refusal(machine: Machine) -> str | None:
    """Why this model has no price for values that stay in the SPM of a machine; None if it has."""
    if machine.policy == "lru":
        return "memory.policy 'lru' has no price for values that stay in SPM by name"
    if machine.array.skips_reloads:
        return "arrays that keep a tile between operations have no price for values that stay in SPM"
    if machine.cores > 1:
        return "values that stay in SPM have a price on one core only"
    return None


def staying_price(nest: Nest, schedule: Schedule, machine: Machine, widths: Bits, still: Names) -> Price:
    """The price of a scheduled nest on one core; of the tensors `still` nothing moves."""
    timing = pipeline(nest, schedule, machine, widths.without(nest, still))
    joules = None
    if machine.energy is not None:
        work = compute(nest, schedule, machine.array)
        accessed = sum(width * work.accesses[name] for name, width in widths.with_sums(nest).items())
        joules = machine.energy.joules(nest.macs, (timing.moved + accessed) / BYTE, timing.moved / BYTE)
    return Price(timing.cycles, timing.moved, joules)


def staying_room(nest: Nest, schedule: Schedule, widths: Bits, whole: Collection[str]) -> int:
    """The bytes that the blocks of a schedule take, with the tensors `whole` in SPM whole."""
    held = footprint(nest, schedule) | {name: nest.tensors[name].elements for name in whole}
    return footprint_bytes(nest, schedule, widths, held)


def moves_once(nest: Nest, schedule: Schedule, names: Collection[str]) -> bool:
    """Whether each block of these tensors moves once."""
    return all(unfinished(nest, schedule, name) is None for name in names)


@lru_cache(maxsize=8192)
def best_staying(
    nest: Nest,
    machine: Machine,
    objective: Objective,
    widths: Bits,
    still: Names,
    once: Names,
    beside: int,
) -> tuple[Schedule, Price] | None:
    """
    The best schedule found for a nest in which some tensors stay; None where that does not fit.

    The tensors `still` and `once` are in SPM whole, nothing moves of the first, the others move once. `beside` are the
    bytes that something else takes in SPM. The schedule promises the SPM of the machine.
    """
    rooms = widths.occupied(nest)
    room = machine.spm_bytes - beside
    left = room - sum(whole_bytes(rooms[name] * nest.tensors[name].elements) for name in still | once)
    if left <= 0:
        return None
    found: list[tuple[Price, Schedule]] = []
    plain = best_schedule(nest, machine, objective, widths)
    fits = staying_room(nest, plain, widths, still | once) <= room and moves_once(nest, plain, once)
    for schedule in (*((plain,) if fits else ()), *_schedules(nest, machine, objective, widths, still, once, left)):
        promised = replace(schedule, spm=machine.spm_bytes)
        found.append((staying_price(nest, promised, machine, widths, still), promised))
    if not found:
        return None
    price, schedule = min(found, key=lambda entry: (entry[0].score(objective), entry[0].moved))
    return schedule, price


def _schedules(
    nest: Nest,
    machine: Machine,
    objective: Objective,
    widths: Bits,
    still: Names,
    once: Names,
    left: int,
) -> Iterator[Schedule]:
    """Schedules in so many bytes beside what stays: with `once` in blocks that move once, or moved whole."""

    def best(free: Names) -> Schedule:
        moving = widths.without(nest, free)
        if not any(moving.stored):  # Only the array's work counts.
            moving = Bits((BYTE,) * len(nest.tensors), (BYTE,) * len(nest.outs), moving.room)
        return best_schedule(nest, replace(machine, spm_bytes=left), objective, moving)

    try:
        found = _kept(best(still), still, 0)
        if moves_once(nest, found, once):
            yield found
        if once:
            found = best(still | once)
            found = _kept(_kept(found, still, 0), once, len(found.loops))
            if moves_once(nest, found, once):
                yield found
    except CapacityError:
        return


def _kept(schedule: Schedule, names: Names, depth: int) -> Schedule:
    """The schedule with these tensors kept over so many of the innermost loops."""
    keep = [(name, inner) for name, inner in schedule.keep if name not in names]
    return replace(schedule, keep=(*keep, *((name, depth) for name in sorted(names) if depth)))
