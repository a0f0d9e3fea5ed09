"""The levels of memory between scratchpad and DRAM in which schedules keep blocks, as a description has them."""

from __future__ import annotations

from collections.abc import Mapping

from npuc.compiler.analysis.machine.fact import Description
from npuc.compiler.analysis.machine.levels.outer import LEVELS_FACT, OuterLevel, is_level_name, levels_text
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.kinds import Scalar, Value
from npuc.hardware.level_keys import LEVELS, NODE, outer_rows, rows_of
from npuc.hardware.technology import sram_energy

READ = f"{LEVELS} between scratchpad and DRAM"
"""What a machine says was read, beside keys, where these levels were."""
NOT_KEPT = "or managed = false where schedules do not say what it keeps"


def outer_levels(values: Mapping[str, Value], hardware: Description) -> tuple[OuterLevel, ...]:
    """
    The levels outside of the scratchpad, from there outwards, with half of their size under double buffering; `values`
    are those that the description has written.

    An access that nothing says costs what an SRAM of that size does at the machine's node. Raises `UsageError` for a
    level without size or bandwidth, and for one that is smaller than the one inside of it.
    """
    rows = rows_of(values)
    numbers = outer_rows(rows)
    if not numbers:
        return ()
    halved, node, size = (hardware.get(key) for key in ("memory.double_buffer", NODE, "memory.spm_kib"))
    inside, least = str(rows[numbers[0] - 1]["name"]), size if isinstance(size, int | float) else 0
    found: list[OuterLevel] = []
    for number in numbers:
        row = rows[number]
        name, place = str(row["name"]), f"{LEVELS}[{number}]"
        if not is_level_name(name):
            raise _error(values, f"{place}.name = '{name}': expected a word that a schedule can name", "for example L2")
        for field, example in (
            ("kib", "KiB, a core's part"),
            ("gb_per_s", "10^9 bytes per second to the level inside"),
        ):
            if field not in row:
                raise _error(values, f"{place}: {name} has no {field}", f"add {field} ({example}), {NOT_KEPT}")
        kib = float(row["kib"])
        if kib < least:
            shown = f"{place}.kib = {kib:g}: {name} is smaller than {inside} inside of it, which has {least:g} KiB"
            raise _error(values, shown, f"sizes must not shrink outwards, {NOT_KEPT}")
        energy = row.get("pj_per_byte")
        if energy is None and isinstance(node, int | float):
            energy = float(f"{sram_energy(kib, float(node)):.4g}")
        size = int(kib * 1024 / 2 if halved else kib * 1024)
        found.append(OuterLevel(name, size, float(row["gb_per_s"]), None if energy is None else float(energy)))
        inside, least = name, kib
    return tuple(found)


def outer_facts(values: Mapping[str, Value], hardware: Description) -> dict[str, Scalar]:
    """The fact of a target that says these levels; none where there are none. Raises as `outer_levels` does."""
    levels = outer_levels(values, hardware)
    return {LEVELS_FACT: levels_text(levels)} if levels else {}


def _error(values: Mapping[str, Value], message: str, hint: str) -> UsageError:
    return UsageError(f"hardware '{values.get('name', 'custom')}': {message}", hint=hint)
