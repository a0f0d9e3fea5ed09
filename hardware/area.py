"""
The area of a described machine by part, by the tables of this package or by the formulas of published tools.

    chip_area(load_hardware("nvdla", {"technology.node_nm": 16})).chip
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from npuc.compiler.analysis.machine.published_area import AREA_MODELS, Sizes
from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.numbers import as_written
from npuc.hardware.description import Hardware
from npuc.hardware.level_keys import LEVELS
from npuc.hardware.levels import levels_of

MODEL = "technology.model"
PARTS = ("array", "vector", "spm", "dram")
"""The parts that have a key."""
BYTES = {"bf16": 2, "f16": 2, "mixed": 2}
"""Bytes of an element by the machine's float types, where they are not four."""


@frozen
class ChipArea:
    """
    mm2 by part, and of the chip: written, else the sum of the parts that are known; None where nothing is on the chip.

    `levels` are the memories beside the scratchpads: those of elements, and further ones on the chip.
    """

    parts: Mapping[str, float | None]
    chip: float | None


def chip_area(hardware: Hardware) -> ChipArea:
    """The area of a machine by the formulas that it names (`technology.model`)."""
    model = hardware.get(MODEL, str) or "npuc"
    parts = _own_parts(hardware) if model == "npuc" else _published_parts(hardware, model)
    known = [size for size in parts.values() if size is not None]
    written = hardware.get("area.chip_mm2", float)
    return ChipArea(parts, written if written is not None else math.fsum(known) if any(known) else None)


def _own_parts(hardware: Hardware) -> dict[str, float | None]:
    """By technology node and kind of memory."""
    parts: dict[str, float | None] = {part: hardware.known(f"area.{part}_mm2", float) for part in PARTS}
    if LEVELS not in hardware.values:
        return parts
    levels = levels_of(Hardware(hardware.values))  # what is only told of them counts as unread
    known = [one.area_mm2 for one in levels if one.part not in ("scratchpad", "dram") and one.area_mm2 is not None]
    if not known:
        return parts
    hardware.get(LEVELS)
    return {**parts, "levels": math.fsum(known)}


def _none() -> dict[str, float | None]:
    return dict.fromkeys(str(part) for part in PARTS)


def _published_parts(hardware: Hardware, model: str) -> dict[str, float | None]:
    """By a published formula, of the elements that mappings are onto, their buffers and the shared one."""
    levels = {level.part: level for level in levels_of(hardware)}
    elements, none = hardware.known("maestro.num_pes", int), _none()
    local, shared = levels.get("local"), levels.get("scratchpad")
    if elements is None or local is None or shared is None or local.kib is None or shared.kib is None:
        return none
    size = hardware.get("memory.element_bytes", int) or BYTES.get(hardware.get("precision", str) or "", 4)
    cores = shared.count or 1
    own, all_of_it = (math.ceil(as_written(kib) * Fraction(1024, size)) for kib in (local.kib, shared.kib * cores))
    found = AREA_MODELS[model](
        Sizes(
            elements,
            hardware.get("maestro.l1_size", int) or own,
            hardware.get("maestro.l2_size", int) or all_of_it,
            hardware.get("maestro.noc_bw", int) or 1,
            hardware.get("maestro.num_simd_lanes", int) or 1,
        )
    )
    network = {} if found.network is None else {"network": found.network / 1e6}
    return none | {"array": found.elements / 1e6, "levels": found.l1 / 1e6, "spm": found.l2 / 1e6} | network
