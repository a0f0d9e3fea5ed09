"""The energy of a backend's report by component, with what a machine says of energies, areas and its memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from npuc.compiler.report import Report, total
from npuc.compiler.report.energy import COMPONENTS, Prices, energy_report, with_components
from npuc.hardware import Hardware
from npuc.hardware.area import chip_area
from npuc.hardware.memories import MEMORIES


def with_energy(report: Report, machine: Hardware, parts: Sequence[str] = COMPONENTS) -> Report:
    """
    A report whose energy is told by component, also of each row, with the work of the vector unit where its energy is
    known.

    `parts` are the components that the backend's energy is of. The report stays as it is where the backend has no
    energy, since the machine says none or the model has none.
    """
    if report.totals.energy_j is None:
        return report
    prices = prices_of(machine)
    if prices is None:
        return report
    rows = with_components(report.ops, prices, parts)
    totals = total(rows)
    found = energy_report(rows, totals.seconds, prices)
    energy = {**found.dynamic_j, "static": _sum(found.static_j.values())}
    totals = replace(totals, energy=energy, tops_per_w=found.tops_per_w, tops_per_mm2=found.tops_per_mm2)
    return replace(report, ops=rows, totals=totals, energy=found, hardware=machine.as_dict())


def prices_of(machine: Hardware) -> Prices | None:
    """What a machine says, written or derived; None where it does not price a MAC."""

    def known(key: str) -> float | None:
        return machine.known(key, float)

    area = chip_area(machine)

    mac = known("energy.mac_pj")
    if mac is None:
        return None
    return Prices(
        mac_pj=mac,
        spm_pj=known("energy.spm_pj_per_byte"),
        dram_pj=known("energy.dram_pj_per_byte"),
        edge_pj=known("energy.edge_pj_per_byte"),
        vector_pj=known("energy.vector_pj"),
        idle_w={part: known(f"energy.{part}_idle_w") for part in ("array", "vector", "spm", "dram")},
        area_mm2=area.parts,
        chip_mm2=area.chip,
        memory_usd=memory_usd(machine),
        ops_per_mac=machine.get("compute.ops_per_mac", int) or 2,
    )


def memory_usd(machine: Hardware) -> float | None:
    """The US dollars that the memory of a machine costs, by its kind and capacity; None where it does not say both."""
    kind, mib = machine.get("dram.kind", str), machine.get("dram.capacity_mib", float)
    return None if kind is None or mib is None else MEMORIES[kind].usd_per_gib * mib / 1024


def _sum(values: Iterable[float | None]) -> float | None:
    """The sum of what is known; None where nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None
