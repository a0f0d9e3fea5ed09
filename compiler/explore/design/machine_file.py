"""A found machine as a hardware description: the given one with other elements and buffers."""

from __future__ import annotations

from typing import cast

from npuc.compiler.analysis.mapping.flexibility.axes import Supports
from npuc.compiler.core.kinds import Scalar
from npuc.compiler.explore.design.classes import DEFAULT_CLASS
from npuc.compiler.explore.design.combine import MachineSize
from npuc.compiler.explore.flexibility.machine import BLOCK, KEYS
from npuc.hardware import Hardware, load_hardware
from npuc.hardware.level_keys import LEVELS, NODE, OFF_CHIP, parts_of, rows_of

DROPPED = (
    *("maestro.num_pes", "maestro.l1_size", "maestro.l2_size", "memory.spm_kib", "energy.spm_pj_per_byte"),
    *("array.rows", "array.cols", "array.cores", "area.chip_mm2", "area.array_mm2", "area.spm_mm2", LEVELS, BLOCK),
)
"""Keys of the given machine that are of its elements and buffers."""


def designed(machine: Hardware, size: MachineSize, supports: Supports = DEFAULT_CLASS) -> Hardware:
    """
    A machine like the given one of another size and of a class of flexibility: its elements, also as an array of the
    clusters' rows and columns, and its buffers.

    Bandwidths, clock and all else are those of the given machine; what all its cores have, one core has. Energies of
    buffers follow from their sizes where the technology is known. Raises `UsageError` where the two do not go together.
    """
    cores, known = machine.get("array.cores", int) or 1, machine.values
    values: dict[str, object] = {key: value for key, value in known.items() if key not in DROPPED}
    values["name"] = f"{machine.name}-design"
    for key in ("dram.gb_per_s", "vector.lanes"):
        if key in known:
            values[key] = cast("float", known[key]) * cores
    if len(size.fanouts) == 2 and "array.dataflow" in known:
        values["array.rows"], values["array.cols"] = size.fanouts
    values["maestro.num_pes"] = size.elements
    for (key, meaning), support in zip(KEYS, supports, strict=True):
        values[key] = next(word for word, meant in meaning.items() if meant == support)
    values[LEVELS] = _levels(machine, size, cores)
    return load_hardware(values)


def _levels(machine: Hardware, size: MachineSize, cores: int) -> list[dict[str, Scalar]]:
    """The levels of the machine: its own L1 and L2 with the sizes of the design, and DRAM."""
    rows, parts = rows_of(machine.values), parts_of(rows_of(machine.values))
    found: list[dict[str, Scalar]] = []
    for part, name, kib in (("local", "L1", size.l1 / 1024), ("scratchpad", "L2", size.l2 / 1024)):
        row = dict(rows[parts[part]]) if part in parts else {}
        if machine.get(NODE, float) is not None:
            row.pop("pj_per_byte", None)
        rate = row.get("gb_per_s")
        if part == "scratchpad" and rate is not None:
            row["gb_per_s"] = float(rate) * cores
        found.append({"name": str(row.pop("name", name)), **row, "kib": kib, "shared": part != "local"})
    if "dram" in parts:
        own = {key: value for key, value in rows[parts["dram"]].items() if key not in ("kib", "gb_per_s")}
        found.append({**own, "name": OFF_CHIP, "shared": True})
    return found
