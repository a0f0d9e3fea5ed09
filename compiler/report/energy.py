"""The energy of a report by component, dynamic and static, and what was reached for a watt and a square millimetre."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field

import msgspec

from npuc.compiler.core.frozen import frozen
from npuc.compiler.report.layers import passes_of
from npuc.compiler.report.levels import LevelFacts
from npuc.compiler.report.rows import OpRow
from npuc.compiler.report.sections import RefreshFacts

COMPONENTS = ("array", "edge", "spm", "vector", "dram", "network")
"""Where energy goes: MACs, wires to the array's edges, scratchpads (or a model's buffers), vector units, memory."""
COUNTED = ("edge", "vector", "dram")
"""Components that a model has only where it counts traffic with DRAM."""
ON_CHIP = ("array", "vector", "spm", "dram")
"""What takes area; of a memory outside of the chip it is 0."""


class EnergyReport(msgspec.Struct, frozen=True, kw_only=True):
    """The energy of a step, all repetitions of all rows together; null is what nobody says of the machine."""

    dynamic_j: dict[str, float | None]
    """J by component, which add up to `totals.energy_j`"""
    static_j: dict[str, float | None]
    """J by component of a machine that does nothing, over the time of the step"""
    total_j: float
    """J; dynamic and static"""
    watts: float | None
    """W; that over the time of the step"""
    area_mm2: dict[str, float | None]
    """mm2 by component, and of the `chip`"""
    tops_per_w: float | None
    """10^12 operations a joule that were reached"""
    tops_per_mm2: float | None
    """10^12 operations a second and mm2 that were reached"""
    memory_usd: float | None
    """US dollars of the memory, by its kind and capacity"""


@frozen
class Prices:
    """
    What a machine says of energy and area: pJ of a MAC (of a pass of one, where it takes several), of a byte from and
    to SPM and DRAM, of a byte on the wires to the array's edges, of an element operation; W that components take while
    they do nothing; mm2; operations a MAC.
    """

    mac_pj: float
    spm_pj: float | None
    dram_pj: float | None
    edge_pj: float | None = None
    vector_pj: float | None = None
    idle_w: Mapping[str, float | None] = field(default_factory=dict[str, "float | None"])
    area_mm2: Mapping[str, float | None] = field(default_factory=dict[str, "float | None"])
    chip_mm2: float | None = None
    memory_usd: float | None = None
    ops_per_mac: int = 2


def with_components(rows: Sequence[OpRow], prices: Prices, components: Sequence[str] = COMPONENTS) -> list[OpRow]:
    """
    Rows whose energy counts the work of the vector unit, too, and is told by component.

    A model that counts no DRAM traffic has the energy of MACs and buffers alone. `components` are those that the
    model's energy is of.
    """
    counted = any(row.energy_j is not None and row.dram_read_bytes is not None for row in rows)
    own = [name for name in components if counted or name not in COUNTED]
    return [row if row.energy_j is None else _with_parts(row, row.energy_j, prices, own) for row in rows]


def _with_parts(row: OpRow, energy: float, prices: Prices, own: Sequence[str]) -> OpRow:
    """
    A row with its energy by component, of its `own` ones.

    MACs, vector work and DRAM traffic are counted; what is left of the energy is that of the scratchpad and of the
    wires between it and the array's edges, which carry the same bytes. Refreshes are of the scratchpad alone, and
    accesses of further memories on the chip count as its own.
    """
    parts: dict[str, float | None] = dict.fromkeys(COMPONENTS)
    powers = [power for power in prices.idle_w.values() if power is not None]
    static = None if row.seconds is None or not powers else math.fsum(powers) * row.seconds
    if row.kind == "comm":
        return msgspec.structs.replace(row, energy={**parts, "network": energy, "static": static})
    vector = None if prices.vector_pj is None else 1e-12 * prices.vector_pj * (row.vector_ops or 0)
    moved = (row.dram_read_bytes or 0) + (row.dram_write_bytes or 0)
    energy += vector or 0.0
    parts["array"] = array = 1e-12 * prices.mac_pj * passes_of(row)
    parts["vector"] = vector if "vector" in own else None
    parts["dram"] = 1e-12 * prices.dram_pj * moved if prices.dram_pj is not None and "dram" in own else None
    kept = RefreshFacts.found_in(row)
    refresh = 0.0 if kept is None else kept.refresh_j or 0.0
    further = LevelFacts.found_in(row)
    beside = refresh + math.fsum((further and further.level_j) or ())
    left = max(energy - array - (parts["vector"] or 0.0) - (parts["dram"] or 0.0) - beside, 0.0)
    if prices.edge_pj is not None and "edge" in own:
        wires = prices.edge_pj + (prices.spm_pj or 0.0)
        parts["edge"] = left * prices.edge_pj / wires if wires else 0.0
    parts["spm"] = left - (parts["edge"] or 0.0) + beside
    return msgspec.structs.replace(row, energy_j=energy, energy={**parts, "static": static})


def energy_report(rows: Sequence[OpRow], seconds: float | None, prices: Prices) -> EnergyReport:
    """The energies of all rows, which have their components, and what was reached for them."""
    dynamic = {name: _component(rows, name) for name in COMPONENTS}
    idle: dict[str, float | None] = dict.fromkeys(COMPONENTS)
    for name, power in prices.idle_w.items():
        idle[name] = None if power is None or seconds is None else power * seconds
    total = math.fsum(value for value in (*dynamic.values(), *idle.values()) if value is not None)
    parts = {**dict.fromkeys(ON_CHIP), **prices.area_mm2}
    sizes = [size for size in parts.values() if size is not None]
    chip = prices.chip_mm2 if prices.chip_mm2 is not None else math.fsum(sizes) if any(sizes) else None
    macs = sum(row.repeat * (row.macs or 0) for row in rows if row.energy_j is not None and row.kind != "comm")
    operations = prices.ops_per_mac * macs / 1e12
    return EnergyReport(
        dynamic_j=dynamic,
        static_j=idle,
        total_j=total,
        watts=total / seconds if seconds else None,
        area_mm2={**parts, "chip": chip},
        tops_per_w=operations / total if total else None,
        tops_per_mm2=operations / seconds / chip if seconds and chip else None,
        memory_usd=prices.memory_usd,
    )


def _component(rows: Sequence[OpRow], name: str) -> float | None:
    """J of a component in all repetitions of rows; None where no row has it."""
    known = [row.repeat * part for row in rows if row.energy and (part := row.energy[name]) is not None]
    return math.fsum(known) if known else None
