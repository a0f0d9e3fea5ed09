"""
The units of a machine (key `units`), which share its DRAM.

    machine_of_units(load_hardware("aespa")).units[0].pes

A description of a unit is what a generator of hardware such as HARD TACO (Qin et al., arXiv 2201.08916), which writes
the RTL of units from C++, would leave of one: kind, formats, elements, buffer, energies, area. Nothing is generated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from npuc.compiler.analysis.hetero.classes import FormatPair, UnitKind
from npuc.compiler.analysis.hetero.unit import SparseUnit, UnitMachine
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.kinds import Scalar
from npuc.hardware.description import Hardware
from npuc.hardware.level_keys import NODE
from npuc.hardware.technology import sram_energy
from npuc.hardware.unit_rows import UNITS


def unit_rows(hardware: Hardware) -> Sequence[Mapping[str, Scalar]]:
    """The entries of `units`; none where a machine has no such key."""
    return cast("Sequence[Mapping[str, Scalar]]", hardware.get(UNITS) or ())


def machine_of_units(hardware: Hardware, *, needs_energy: bool = True) -> UnitMachine:
    """
    The units of a machine and the DRAM that they share.

    What a unit does not say of a MAC is `energy.mac_pj`, of its buffer that of an SRAM of its size at the technology
    node, else `energy.spm_pj_per_byte`. Raises `UsageError` for keys that are missing; unless energies are needed, a
    machine that does not say all of them is not priced.
    """
    rows = unit_rows(hardware)
    priced = needs_energy or _says_energies(hardware, rows)
    keys = [UNITS, "clock_mhz", "dram.gb_per_s", *(["energy.dram_pj_per_byte"] if priced else [])]
    hardware.require_all(keys, backend=UNITS)
    return UnitMachine(
        name=hardware.name,
        units=tuple(_unit(hardware, row, priced=priced) for row in rows),
        hertz=1e6 * hardware.require("clock_mhz", float, backend=UNITS),
        bytes_per_second=1e9 * hardware.require("dram.gb_per_s", float, backend=UNITS),
        dram_pj_per_byte=hardware.require("energy.dram_pj_per_byte", float, backend=UNITS) if priced else 0.0,
        priced=priced,
    )


def _says_energies(hardware: Hardware, rows: Sequence[Mapping[str, Scalar]]) -> bool:
    """Whether a machine says, or lets follow, the energies of its DRAM and of all units."""
    buffers = hardware.get(NODE, float) is not None or hardware.known("energy.spm_pj_per_byte") is not None
    macs = hardware.known("energy.mac_pj") is not None
    of_units = all(("mac_pj" in row or macs) and ("buffer_pj_per_byte" in row or buffers) for row in rows)
    return of_units and hardware.known("energy.dram_pj_per_byte") is not None


def area_of_units(hardware: Hardware) -> float | None:
    """mm2 of all units; None where one of them does not say its own."""
    areas = [row.get("area_mm2") for row in unit_rows(hardware)]
    return None if not areas or None in areas else sum(float(one) for one in areas if one is not None)


def _unit(hardware: Hardware, row: Mapping[str, Scalar], *, priced: bool) -> SparseUnit:
    kib, node = float(row["buffer_kib"]), hardware.get(NODE, float)
    mac, buffer = row.get("mac_pj"), row.get("buffer_pj_per_byte")
    if not priced:
        mac = buffer = 0.0
    if mac is None:
        mac = hardware.require("energy.mac_pj", float, backend=UNITS)
    if buffer is None and node is not None:
        buffer = float(f"{sram_energy(kib, node):.4g}")
    if buffer is None:
        buffer = hardware.require("energy.spm_pj_per_byte", float, backend=UNITS)
    only = (row["a_format"], row["b_format"]) if "a_format" in row else None
    return SparseUnit(
        name=str(row["name"]),
        kind=cast("UnitKind", row["kind"]),
        pes=int(row["pes"]),
        buffer_bytes=int(kib * 1024),
        mac_pj=float(mac),
        buffer_pj_per_byte=float(buffer),
        idle_w=float(row["idle_w"]),
        only=cast("FormatPair | None", only),
    )


def refuse_without_units(hardware: Hardware) -> None:
    """Raise `UsageError` for a machine that has no units."""
    if not unit_rows(hardware):
        raise UsageError(
            f"hardware '{hardware.name}' has no units, whose kinds products of sparse matrices are shared over",
            hint="a machine with [[units]], for example aespa or eie-like",
        )
