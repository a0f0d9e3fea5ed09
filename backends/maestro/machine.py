"""
The machine that the maestro backend reads from a hardware description.

MAESTRO counts elements; a description may give its shared buffer and its memory in bytes. Where the keys of `maestro`
are absent, `memory.spm_kib` of all cores is the shared buffer and `dram.gb_per_s` of all cores (with `clock_mhz`) the
bandwidth off chip, in elements of `memory.element_bytes`, or without it of the widest type of a contraction; the
elements of the arrays of all cores are the processing elements. In exact mode a partial sum in a buffer of bytes takes
the bits of an accumulator; MAESTRO counts one element.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from npuc.compiler.analysis.machine.table import as_written
from npuc.compiler.analysis.mapping.parity import PeArray
from npuc.compiler.analysis.nest.elements import BYTE, element_bits, widths_on
from npuc.dialects.npu import ContractOp
from npuc.dialects.npu.sums import ACCUMULATOR_BITS
from npuc.hardware import Hardware

NAME = "maestro"
UNLIMITED = (1 << 31) - 1
"""MAESTRO's bandwidth where none is given, elements a cycle."""
OFFCHIP_BW = 70_000
"""MAESTRO's off-chip bandwidth where none is given, elements a cycle."""
Mode = Literal["parity", "exact"]


def array_of(hardware: Hardware, width: Fraction | int | None = None) -> PeArray:
    """
    The machine, for elements of `width` bytes, else of `memory.element_bytes`.

    What the description does not say is MAESTRO's default. Raises `UsageError` without elements.
    """
    latency = hardware.get("maestro.noc_hop_latency", int)
    offchip = Fraction(hardware.get("maestro.offchip_bw", int) or _offchip_of_dram(hardware, width) or OFFCHIP_BW)
    return PeArray(
        num_pes=hardware.require("maestro.num_pes", int, backend=NAME),
        noc_bw=hardware.get("maestro.noc_bw", int) or UNLIMITED,
        noc_latency=1 if latency is None else latency,
        offchip_bw=offchip.numerator,
        lanes=hardware.get("maestro.num_simd_lanes", int) or 1,
        offchip_cycles=offchip.denominator,
    )


def _offchip_of_dram(hardware: Hardware, width: Fraction | int | None) -> Fraction | None:
    """Elements that DRAM moves in a cycle; None where its bandwidth, the clock or the size of an element is unknown."""
    gb_per_s, clock_mhz = hardware.known("dram.gb_per_s", float), hardware.known("clock_mhz", float)
    size = width or hardware.get("memory.element_bytes", int)
    if gb_per_s is None or clock_mhz is None or size is None:
        return None
    return _cores(hardware) * as_written(gb_per_s) * 1000 / as_written(clock_mhz) / size


def _cores(hardware: Hardware) -> int:
    return hardware.get("array.cores", int) or 1


def mode_of(hardware: Hardware, otherwise: Mode) -> Mode:
    """The mode that the description writes, else another."""
    written = hardware.get("maestro.mode", str)
    return "parity" if written == "parity" else "exact" if written == "exact" else otherwise


@dataclass(frozen=True)
class MappedMachine:
    """
    An array of processing elements and the units of costs: `element_bytes` in bytes, `mac_pj` in picojoules.

    `l1_size` and `l2_size` are buffers in elements, `spm_bytes` the shared buffer where `l2_size` is not written. None
    is what the description does not say. `sum_size` are the elements of the shared buffer that a partial sum takes.
    """

    hardware: Hardware
    array: PeArray
    mode: Mode
    clock_mhz: float | None
    element_bytes: int | None
    mac_pj: float | None
    l1_size: int | None
    l2_size: int | None
    spm_bytes: Fraction | None = None
    sum_size: Fraction = Fraction(1)
    accumulator_bits: int = ACCUMULATOR_BITS[0]

    @property
    def peak(self) -> int:
        """MACs a cycle."""
        return self.array.num_pes * self.array.lanes

    def seconds(self, cycles: float) -> float | None:
        """The time of cycles."""
        return None if self.clock_mhz is None else cycles / (self.clock_mhz * 1e6)

    @property
    def l2_key(self) -> str:
        """The key that says how large the shared buffer is."""
        return "maestro.l2_size" if self.spm_bytes is None else "memory.spm_kib"

    def for_contraction(self, op: ContractOp) -> MappedMachine:
        """The machine with its buffer and memory in elements of a contraction, of the widest type among its tensors."""
        values = (*op.operands[: len(op.nest.ins)], *op.results)
        width = Fraction(max(element_bits(value.type, self.element_bytes) for value in values), BYTE)
        array = array_of(self.hardware, width)
        if self.spm_bytes is None:
            return replace(self, array=array)
        sums = max(widths_on(self).sum_bits(result.type) for result in op.results)
        sum_size = Fraction(sums) / (BYTE * width) if self.mode == "exact" else Fraction(1)
        return replace(self, array=array, l2_size=int(self.spm_bytes / width), sum_size=sum_size)


def mapped_machine(hardware: Hardware) -> MappedMachine:
    """The machine that a description means. Raises `UsageError` where it has no processing elements."""
    size, spm = hardware.get("memory.element_bytes", int), hardware.known("memory.spm_kib", float)
    written = hardware.get("maestro.l2_size", int)
    spm_bytes = None if written is not None or spm is None else _cores(hardware) * as_written(spm) * 1024
    return MappedMachine(
        hardware=hardware,
        array=array_of(hardware),
        mode=mode_of(hardware, "exact"),
        clock_mhz=hardware.known("clock_mhz", float),
        element_bytes=size,
        mac_pj=hardware.known("energy.mac_pj", float),
        l1_size=hardware.get("maestro.l1_size", int),
        l2_size=int(spm_bytes / size) if spm_bytes is not None and size is not None else written,
        spm_bytes=spm_bytes,
        accumulator_bits=hardware.get("array.accumulator_bits", int) or ACCUMULATOR_BITS[0],
    )
