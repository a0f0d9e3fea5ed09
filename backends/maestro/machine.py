"""What a hardware description asks of the maestro backend."""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(frozen=True)
class MappedMachine:
    """
    An array of processing elements and what prices are in: `element_bytes` in bytes, `mac_pj` in picojoules.

    `l1_size` and `l2_size` are buffers in elements. None is what the description does not say.
    """

    array: Array
    mode: Mode
    clock_mhz: float | None
    element_bytes: int | None
    mac_pj: float | None
    l1_size: int | None
    l2_size: int | None

    @property
    def peak(self) -> int:
        """MACs a cycle."""
        return self.array.num_pes * self.array.lanes

    def seconds(self, cycles: float) -> float | None:
        """The time of cycles."""
        return None if self.clock_mhz is None else cycles / (self.clock_mhz * 1e6)


def mapped_machine(hardware: Hardware) -> MappedMachine:
    """The machine that a description means. Raises `UsageError` where it has no processing elements."""
    return MappedMachine(
        array=array_of(hardware),
        mode=mode_of(hardware, "exact"),
        clock_mhz=hardware.get("clock_mhz", float),
        element_bytes=hardware.get("memory.element_bytes", int),
        mac_pj=hardware.get("energy.mac_pj", float),
        l1_size=hardware.get("maestro.l1_size", int),
        l2_size=hardware.get("maestro.l2_size", int),
    )
