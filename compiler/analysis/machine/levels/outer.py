"""
Levels of memory on the chip between the scratchpads (SPM) and DRAM, in which schedules keep blocks, as facts.

In the facts of a target the levels are one text, from SPM outwards:

    L2 4194304 bytes 400.0 GB/s 1.5 pJ/B, L3 33554432 bytes 200.0 GB/s
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.frozen import frozen
from npuc.dialects.memories import SCRATCHPAD

LEVELS_FACT = "levels"
"""The name of the fact."""
_LEVEL = re.compile(r"(\w+) (\d+) bytes (\S+) GB/s(?: (\S+) pJ/B)?")
_NAME = re.compile(r"[A-Za-z_]\w*")
FORM = "NAME N bytes R GB/s [E pJ/B], …"


@frozen
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
