"""
Levels of memory on the chip between the scratchpads (SPM) and DRAM, in which schedules keep blocks.

What moves between two neighbouring memories is what one level alone would move, with the keep depths of the inner one
of the two: a block there is loaded from the next memory outwards, which holds what it contains. So a model of one level
says all of several: `views_of` gives, for each level from SPM outwards, the schedule and the machine that it looks at.

In the facts of a target the levels are one text, from SPM outwards:

    L2 4194304 bytes 400.0 GB/s 1.5 pJ/B, L3 33554432 bytes 200.0 GB/s
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from npuc.compiler.core.errors import CapacityError, UsageError, did_you_mean
from npuc.compiler.core.numbers import as_written
from npuc.dialects.npu.loops import SCRATCHPAD
from npuc.dialects.npu.nest import Schedule

if TYPE_CHECKING:
    from npuc.compiler.analysis.machine.table import Machine

LEVELS_FACT = "levels"
"""The name of the fact."""
_LEVEL = re.compile(r"(\w+) (\d+) bytes (\S+) GB/s(?: (\S+) pJ/B)?")
_NAME = re.compile(r"[A-Za-z_]\w*")
FORM = "NAME N bytes R GB/s [E pJ/B], …"


@dataclass(frozen=True)
class OuterLevel:
    """
    A level: the bytes that a schedule may use, and 10^9 bytes per second to the memory inside of it, both a core's
    part; pJ of an access to a byte, None where the machine does not say it.

    The level is one memory of all cores: a block that several of them have is in it once.
    """

    name: str
    size: int
    gb_per_s: float
    pj_per_byte: float | None = None

    def __str__(self) -> str:
        energy = "" if self.pj_per_byte is None else f" {self.pj_per_byte!r} pJ/B"
        return f"{self.name} {self.size} bytes {self.gb_per_s!r} GB/s{energy}"


def is_level_name(name: str) -> bool:
    """Whether a schedule can name a level so."""
    return _NAME.fullmatch(name) is not None and name != SCRATCHPAD


def levels_text(levels: Sequence[OuterLevel]) -> str:
    """Levels as the text of a fact."""
    return ", ".join(map(str, levels))


def levels_in(text: object, spm_bytes: int) -> tuple[OuterLevel, ...]:
    """
    The levels of a text, outside of a scratchpad of which a schedule may use so many bytes.

    Raises `UsageError` for a text that is none, and for sizes that shrink outwards.
    """
    found: list[OuterLevel] = []
    inside, least = SCRATCHPAD, spm_bytes
    for part in str(text).split(", "):
        match = _LEVEL.fullmatch(part)
        if match is None or not is_level_name(match[1]) or match[1] in [one.name for one in found]:
            raise UsageError(f"{LEVELS_FACT}: found '{part}', expected {FORM} with names of their own")
        size = int(match[2])
        if size < least:
            raise UsageError(f"{LEVELS_FACT}: {match[1]} has {size:,} bytes, fewer than the {least:,} of {inside}")
        rate, energy = _number(match[3]), None if match[4] is None else _number(match[4])
        if rate is None or rate == 0 or (match[4] is not None and energy is None):
            raise UsageError(f"{LEVELS_FACT}: found '{part}', expected {FORM}")
        found.append(OuterLevel(match[1], size, rate, energy))
        inside, least = match[1], size
    return tuple(found)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


def level_names(machine: Machine) -> tuple[str, ...]:
    """The names of a machine's levels, from SPM outwards, without SPM itself."""
    return tuple(level.name for level in machine.levels)


@dataclass(frozen=True)
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
