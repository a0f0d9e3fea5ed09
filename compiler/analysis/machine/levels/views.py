"""
What each memory of blocks sees of a machine of several levels.

What moves between two neighbouring memories is what one level alone would move, with the keep depths of the inner one
of the two: a block there is loaded from the next memory outwards, which holds what it contains. So a model of one level
says all of several: `views_of` gives, for each level from SPM outwards, the schedule and the machine that it looks at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from npuc.compiler.analysis.machine.table import Machine
from npuc.compiler.core.errors import CapacityError, UsageError, did_you_mean
from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.numbers import as_written
from npuc.dialects.memories import SCRATCHPAD
from npuc.dialects.npu.nest import Schedule


def level_names(machine: Machine) -> tuple[str, ...]:
    """The names of a machine's levels, from SPM outwards, without SPM itself."""
    return tuple(level.name for level in machine.levels)


@frozen
class LevelView:
    """
    A memory of blocks as if it were the only one: its name, the schedule with what it keeps, and a machine that has it
    for a scratchpad and, for DRAM, what is outside of it.
    """

    name: str
    schedule: Schedule
    machine: Machine


def views_of(schedule: Schedule, machine: Machine) -> tuple[LevelView, ...]:
    """
    What each memory of blocks sees, from SPM outwards; the last one has DRAM outside.

    A level that is common to several cores holds once what several of them read, so that it comes in once; their sums
    are blocks of their own, and pass from core to core in it. Of the machine, energies are left as they are.
    """
    if not machine.levels:
        return (LevelView(SCRATCHPAD, schedule, machine),)
    names = (SCRATCHPAD, *level_names(machine))
    return tuple(
        LevelView(name, own, at_level(machine, number))
        for number, (name, own) in enumerate(zip(names, schedule.at_levels(names[1:]), strict=True))
    )


def at_level(machine: Machine, number: int) -> Machine:
    """The machine that level `number` sees; 0 is SPM."""
    outside = machine.levels[number : number + 1]
    rate = (
        as_written(outside[0].gb_per_s) * 1000 / as_written(machine.clock_mhz) if outside else machine.bytes_per_cycle
    )
    found = replace(machine, levels=(), bytes_per_cycle=Fraction(rate))
    if number == 0:
        return found
    found = replace(found, spm_bytes=machine.levels[number - 1].size)
    return found if machine.cores == 1 else replace(found, multicast=True, reduction="on-chip")


def check_level_names(schedule: Schedule, machine: Machine, who: str) -> None:
    """
    Raise `UsageError` for what a schedule keeps in a level that the machine does not have, or not there; `who` is whose
    schedule it is.
    """
    known, at = level_names(machine), -1
    for one in schedule.outer:
        if one.level not in known:
            has = f"between SPM and DRAM it has {', '.join(known) or 'none'}"
            hint = did_you_mean(one.level, known) if known else "an entry of memory.levels with gb_per_s, before DRAM"
            raise UsageError(f"{who} keeps tensors in {one.level}, which the machine has not: {has}", hint=hint)
        if known.index(one.level) < at:
            raise UsageError(f"{who} names {one.level} after {known[at]}, which is outside of it: inner levels first")
        at = known.index(one.level)


def check_level_room(held: Sequence[int], machine: Machine, who: str) -> None:
    """Raise `CapacityError` where the bytes held in a level, of all cores, are more than a schedule may use."""
    for level, size in zip(machine.levels, held, strict=True):
        room = level.size * machine.cores
        if size > room:
            raise CapacityError(
                f"{who} keeps {size:,} bytes in {level.name}, a schedule may use {room:,}",
                hint=f"a smaller depth in keep {level.name}(…), smaller steps, or a larger {level.name}",
            )
