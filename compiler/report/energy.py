"""The energy of a report by component, dynamic and static, and what was reached for a watt and a square millimetre."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from npuc.compiler.report.rows import OpRow

COMPONENTS = ("array", "edge", "spm", "vector", "dram", "network")
"""Where energy goes: MACs, wires to the array's edges, scratchpads (or a model's buffers), vector units, memory."""
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


@dataclass(frozen=True)
class Prices:
    """
    What a machine says of energy and area: pJ of a MAC, of a byte from and to SPM and DRAM, of a byte on the wires to
    the array's edges, of an element operation; W that components take while they do nothing; mm2; operations a MAC.
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


def with_vector_work(rows: Sequence[OpRow], prices: Prices) -> list[OpRow]:
    """Rows whose energy counts the work of the vector unit, too."""
    if prices.vector_pj is None:
        return list(rows)
    each = 1e-12 * prices.vector_pj
    return [
        row
        if row.energy_j is None or not row.vector_ops
        else msgspec.structs.replace(row, energy_j=row.energy_j + each * row.vector_ops)
        for row in rows
    ]


def energy_report(rows: Sequence[OpRow], seconds: float | None, prices: Prices) -> EnergyReport:
    """
    The energies of rows by component.

    MACs, vector work and DRAM traffic are counted in the rows; what is left of a row's energy is that of the scratchpad
    and of the wires between it and the array's edges, which carry the same bytes. A model that counts no DRAM traffic
    has the energy of MACs and buffers alone.
    """
    counted = any(row.energy_j is not None and row.dram_read_bytes is not None for row in rows)
    known = [row for row in rows if row.energy_j is not None]
    work = [row for row in known if row.kind != "comm"]

    def summed(values: Sequence[float]) -> float:
        return math.fsum(values)

    macs = summed([row.repeat * (row.macs or 0) for row in work])
    array = 1e-12 * prices.mac_pj * macs
    vector = None
    if prices.vector_pj is not None and counted:
        vector = 1e-12 * prices.vector_pj * summed([row.repeat * (row.vector_ops or 0) for row in work])
    dram = None
    if prices.dram_pj is not None and counted:
        moved = summed([row.repeat * ((row.dram_read_bytes or 0) + (row.dram_write_bytes or 0)) for row in work])
        dram = 1e-12 * prices.dram_pj * moved
    whole = summed([row.repeat * (row.energy_j or 0.0) for row in work])
    left = max(whole - array - (vector or 0.0) - (dram or 0.0), 0.0)
    wires = (prices.edge_pj or 0.0) + (prices.spm_pj or 0.0)
    edge = None if prices.edge_pj is None or not counted else left * prices.edge_pj / wires if wires else 0.0
    exchanged = [row.repeat * (row.energy_j or 0.0) for row in known if row.kind == "comm"]
    dynamic: dict[str, float | None] = {
        "array": array,
        "edge": edge,
        "spm": left - (edge or 0.0),
        "vector": vector,
        "dram": dram,
        "network": summed(exchanged) if exchanged else None,
    }
    idle: dict[str, float | None] = dict.fromkeys(COMPONENTS)
    for name, power in prices.idle_w.items():
        idle[name] = None if power is None or seconds is None else power * seconds
    total = summed([value for value in (*dynamic.values(), *idle.values()) if value is not None])
    parts = {name: prices.area_mm2.get(name) for name in ON_CHIP}
    sizes = [size for size in parts.values() if size is not None]
    chip = prices.chip_mm2 if prices.chip_mm2 is not None else summed(sizes) if sizes else None
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
