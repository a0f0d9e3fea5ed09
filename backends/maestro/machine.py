"""
The machine that the maestro backend reads from a hardware description.

MAESTRO counts elements; a description may give its buffers and its memory in bytes, by `memory.levels` and the keys
that say the same. Where the keys of `maestro` are absent, the last level that each element has is its buffer, the
scratchpads of all cores (`memory.spm_kib`) are the shared one, whose rate is that of the network, and `dram.gb_per_s`
of all cores (with `clock_mhz`) is the bandwidth off chip, in elements of `memory.element_bytes`, or without it of the
widest type of a contraction; the elements of the arrays of all cores are the processing elements. In exact mode a
partial sum in a buffer of bytes takes the bits of an accumulator; MAESTRO counts one element.

An access costs what its level does (`technology.model = "npuc"`), where the levels and MACs have energies; else, and
with the other models, MAESTRO's constants hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

from xdsl.ir import SSAValue

from npuc.compiler.analysis.mapping.parity import MAESTRO_COSTS, AccessCosts, PeArray
from npuc.compiler.analysis.nest.elements import BYTE, Width, element_bits, widths_on
from npuc.compiler.core.numbers import as_written
from npuc.dialects.npu import ContractOp
from npuc.dialects.npu.sums import ACCUMULATOR_BITS
from npuc.hardware import Hardware
from npuc.hardware.level_keys import LEVELS, Part
from npuc.hardware.levels import MemoryLevel, levels_of

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
    levels: Levels = {level.part: level for level in levels_of(hardware)}
    offchip = Fraction(hardware.get("maestro.offchip_bw", int) or _offchip_of_dram(hardware, width) or OFFCHIP_BW)
    return PeArray(
        num_pes=hardware.require("maestro.num_pes", int, backend=NAME),
        noc_bw=hardware.get("maestro.noc_bw", int) or _network_of_l2(hardware, levels, width) or UNLIMITED,
        noc_latency=1 if latency is None else latency,
        offchip_bw=offchip.numerator,
        lanes=hardware.get("maestro.num_simd_lanes", int) or 1,
        offchip_cycles=offchip.denominator,
        costs=_costs(hardware, levels, width),
    )


Levels = Mapping[Part | None, MemoryLevel]


def _network_of_l2(hardware: Hardware, levels: Levels, width: Fraction | int | None) -> int | None:
    """Whole elements that the shared buffer gives in a cycle, one at least."""
    rate = levels["scratchpad"].gb_per_s if "scratchpad" in levels else None
    found = _elements_a_cycle(hardware, rate, width)
    return None if found is None else max(1, int(found))


def _costs(hardware: Hardware, levels: Levels, width: Fraction | int | None) -> AccessCosts:
    """What accesses cost in MACs, by the energies of levels where MACs, L1 and L2 have one; else MAESTRO's."""
    size = width or hardware.get("memory.element_bytes", int)
    if hardware.get("technology.model", str) != "npuc" or size is None:
        return MAESTRO_COSTS
    mac = hardware.known("energy.mac_pj", float)
    energy = {part: level.pj_per_byte for part, level in levels.items()}
    l1, l2 = energy.get("local"), energy.get("scratchpad")
    if not mac or l1 is None or l2 is None:
        return MAESTRO_COSTS
    each = float(size) / mac
    return AccessCosts(l2 * each, l1 * each, (energy.get("dram") or 0.0) * each)


def _offchip_of_dram(hardware: Hardware, width: Fraction | int | None) -> Fraction | None:
    """Elements that DRAM moves in a cycle; None where its bandwidth, the clock or the size of an element is unknown."""
    return _elements_a_cycle(hardware, hardware.known("dram.gb_per_s", float), width)


def _elements_a_cycle(hardware: Hardware, gb_per_s: float | None, width: Fraction | int | None) -> Fraction | None:
    """Elements a cycle of all cores at the rate of one; None where the rate, the clock or an element is unknown."""
    clock_mhz, size = hardware.known("clock_mhz", float), width or hardware.get("memory.element_bytes", int)
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
    is what the description does not say. `sum_size` are the elements of the shared buffer that a partial sum takes,
    `l1_sum_size` those of an element's buffer, which is `l1_bytes` where `l1_size` is not written. `width` are the
    bytes of an element, where that is known. `mantissa_bits` are those that a multiplier takes at a time; MAESTRO's own
    analysis (mode parity) knows of none.
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
    l1_bytes: Fraction | None = None
    sum_size: Fraction = Fraction(1)
    l1_sum_size: Fraction = Fraction(1)
    width: Fraction | None = None
    accumulator_bits: int = ACCUMULATOR_BITS[0]
    mantissa_bits: int | None = None
    _for_elements: dict[tuple[Fraction, Width], MappedMachine] = field(
        default_factory=dict[tuple[Fraction, Width], "MappedMachine"], compare=False, repr=False
    )

    @property
    def peak(self) -> int:
        """MACs a cycle, or passes of MACs where they take several."""
        return self.array.num_pes * self.array.lanes

    def seconds(self, cycles: float) -> float | None:
        """The time of cycles."""
        return None if self.clock_mhz is None else cycles / (self.clock_mhz * 1e6)

    @property
    def buffers(self) -> tuple[int | None, int | None, Fraction, Fraction]:
        """The elements of L1 and L2, and those that a partial sum takes in each."""
        return self.l1_size, self.l2_size, self.l1_sum_size, self.sum_size

    @property
    def l1_key(self) -> str:
        """The key that says how large an element's buffer is."""
        return "maestro.l1_size" if self.l1_bytes is None else LEVELS

    @property
    def l2_key(self) -> str:
        """The key that says how large the shared buffer is."""
        return "maestro.l2_size" if self.spm_bytes is None else "memory.spm_kib"

    def for_contraction(self, op: ContractOp) -> MappedMachine:
        """The machine with its buffer and memory in elements of a contraction, of the widest type among its tensors."""
        values = (*op.operands[: len(op.nest.ins)], *op.results)
        width = Fraction(max(element_bits(value.type, self.element_bytes) for value in values), BYTE)
        return self._with_elements(width, max(widths_on(self).sum_bits(result.type) for result in op.results))

    def for_values(self, values: Sequence[SSAValue]) -> MappedMachine:
        """The machine with its buffer and memory in elements of values, of the widest type among them."""
        width = Fraction(max(element_bits(value.type, self.element_bytes) for value in values), BYTE)
        return self._with_elements(width, max(widths_on(self).sum_bits(value.type) for value in values))

    def _with_elements(self, width: Fraction, sums: Width) -> MappedMachine:
        if (width, sums) not in self._for_elements:
            self._for_elements[width, sums] = self._of_elements(width, sums)
        return self._for_elements[width, sums]

    def _of_elements(self, width: Fraction, sums: Width) -> MappedMachine:
        """The machine for elements of `width` bytes whose sums have so many bits."""
        found = replace(self, array=array_of(self.hardware, width), width=width, _for_elements={})
        sum_size = Fraction(sums) / (BYTE * width) if self.mode == "exact" else Fraction(1)
        if self.spm_bytes is not None:
            found = replace(found, l2_size=int(self.spm_bytes / width), sum_size=sum_size)
        if self.l1_bytes is not None:
            found = replace(found, l1_size=int(self.l1_bytes / width), l1_sum_size=sum_size)
        return found


def mapped_machine(hardware: Hardware) -> MappedMachine:
    """The machine that a description means. Raises `UsageError` where it has no processing elements."""
    size, spm = hardware.get("memory.element_bytes", int), hardware.known("memory.spm_kib", float)
    written = hardware.get("maestro.l2_size", int)
    spm_bytes = None if written is not None or spm is None else _cores(hardware) * as_written(spm) * 1024
    own, mode = hardware.get("maestro.l1_size", int), mode_of(hardware, "exact")
    kib = next((level.kib for level in levels_of(hardware) if level.part == "local"), None)
    l1_bytes = None if own is not None or kib is None else as_written(kib) * 1024
    return MappedMachine(
        hardware=hardware,
        array=array_of(hardware),
        mode=mode,
        clock_mhz=hardware.known("clock_mhz", float),
        element_bytes=size,
        mac_pj=hardware.known("energy.mac_pj", float),
        l1_size=int(l1_bytes / size) if l1_bytes is not None and size is not None else own,
        l2_size=int(spm_bytes / size) if spm_bytes is not None and size is not None else written,
        spm_bytes=spm_bytes,
        l1_bytes=l1_bytes,
        width=None if size is None else Fraction(size),
        accumulator_bits=hardware.get("array.accumulator_bits", int) or ACCUMULATOR_BITS[0],
        mantissa_bits=None if mode == "parity" else hardware.get("array.mantissa_bits", int),
    )
