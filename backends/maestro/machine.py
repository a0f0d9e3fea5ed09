"""What a hardware description asks of the maestro backend."""

from __future__ import annotations

from typing import Literal

from npuc.backends.hardware import Hardware
from npuc.compiler.analysis.mapping.parity import Array

NAME = "maestro"
UNLIMITED = (1 << 31) - 1
"""MAESTRO's bandwidth where none is given, elements a cycle."""
OFFCHIP_BW = 70_000
"""MAESTRO's off-chip bandwidth where none is given, elements a cycle."""
Mode = Literal["parity", "exact"]


def array_of(hardware: Hardware) -> Array:
    """The machine; keys that are missing are MAESTRO's defaults. Raises `UsageError` without `maestro.num_pes`."""
    latency = hardware.get("maestro.noc_hop_latency", int)
    return Array(
        num_pes=hardware.require("maestro.num_pes", int, backend=NAME),
        noc_bw=hardware.get("maestro.noc_bw", int) or UNLIMITED,
        noc_latency=1 if latency is None else latency,
        offchip_bw=hardware.get("maestro.offchip_bw", int) or OFFCHIP_BW,
        lanes=hardware.get("maestro.num_simd_lanes", int) or 1,
    )


def mode_of(hardware: Hardware, otherwise: Mode) -> Mode:
    """The mode that the description writes, else another."""
    written = hardware.get("maestro.mode", str)
    return "parity" if written == "parity" else "exact" if written == "exact" else otherwise
