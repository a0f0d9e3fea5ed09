"""
The memories of a machine by level, nearest to the arithmetic first.

    levels_of(load_hardware("eyeriss"))[0]      # L1: 0.508 KiB in each element
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.kinds import Scalar
from npuc.hardware.description import Hardware
from npuc.hardware.level_keys import (
    IN_ELEMENTS,
    LEVELS,
    NODE,
    OFF_CHIP,
    SAME,
    Part,
    Row,
    in_units,
    outer_rows,
    parts_of,
)
from npuc.hardware.technology import sram_area, sram_energy


@frozen
class MemoryLevel:
    """
    A memory: KiB, GB/s and pJ a byte, None where nothing says it; `shared` by the elements of a core, else one in each.

    `count` are those of the whole chip, None where its elements are not known. `gb_per_s` is what it gives to the level
    inside of it. `area_mm2` are all of them, where the technology node is known and the memory is on the chip.
    """

    name: str
    part: Part | None
    shared: bool
    count: int | None
    kib: float | None
    gb_per_s: float | None
    pj_per_byte: float | None
    area_mm2: float | None


def levels_of(hardware: Hardware) -> tuple[MemoryLevel, ...]:
    """
    The memories of a machine, nearest to the arithmetic first, with what follows from its technology.

    Without `memory.levels` they are those that other keys speak of: L1, L2 and DRAM.
    """
    rows = cast("list[dict[str, Scalar]]", hardware.get(LEVELS)) or list(_rows_of_keys(hardware))
    part_of: dict[int, Part] = dict.fromkeys(outer_rows(rows), "kept")
    part_of |= {number: part for part, number in parts_of(rows).items()}
    return tuple(_level(hardware, row, part_of.get(number)) for number, row in enumerate(rows))


def _rows_of_keys(hardware: Hardware) -> Iterator[dict[str, Scalar]]:
    """The levels that keys of other tables speak of."""
    size, count = hardware.get("memory.element_bytes", int), hardware.get("maestro.l1_size", int)
    if size is not None and count is not None:
        yield {"name": "L1", "kib": size * count / 1024, "shared": False}
    if hardware.known("memory.spm_kib") is not None:
        yield {"name": "L2", "shared": True}
    if hardware.known("dram.gb_per_s") is not None:
        yield {"name": OFF_CHIP, "shared": True}


def _level(hardware: Hardware, row: Row, part: Part | None) -> MemoryLevel:
    def said(field: str) -> float | None:
        value = row.get(field)
        key = next((same for same in SAME if (same.part, same.field) == (part, field)), None)
        if value is None and key is not None:
            found = hardware.known(key.key, float)
            return None if found is None else found * key.scale
        return None if value is None else float(value)

    kib, shared, node = said("kib"), bool(row["shared"]), hardware.get(NODE, float)
    count = (hardware.get("array.cores", int) or 1) if shared else hardware.known("maestro.num_pes", int)
    energy, area = said("pj_per_byte"), None
    if part != "dram" and kib is not None and node is not None:
        energy = float(f"{sram_energy(kib, node):.4g}") if energy is None else energy
        area = None if count is None else float(f"{sram_area(kib * count, node):.4g}")
    rate = said("gb_per_s")
    if rate is None and part == "scratchpad":
        rate = _network(hardware)
    return MemoryLevel(str(row["name"]), part, shared, count, kib, rate, energy, area)


def _network(hardware: Hardware) -> float | None:
    """GB/s of a core's part of the network to the elements, as MAESTRO's key has it; None where bytes are unknown."""
    noc = next(key for key in IN_ELEMENTS if key.key == "maestro.noc_bw")
    paths = (noc.key, "memory.element_bytes", "clock_mhz", "array.cores")
    values = {path: value for path in paths if (value := hardware.get(path)) is not None}
    size = in_units(noc, values)
    return None if size is None else float(size)
