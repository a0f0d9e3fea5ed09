"""What accesses cost on a machine whose buffers are open: by the size of a buffer where its technology is known."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from npuc.compiler.analysis.mapping.exact.arrays import Floats
from npuc.compiler.analysis.mapping.parity import MAESTRO_COSTS
from npuc.hardware import Hardware
from npuc.hardware.level_keys import NODE
from npuc.hardware.levels import levels_of
from npuc.hardware.technology import sram_energy


@dataclass(frozen=True)
class AccessEnergy:
    """
    Energies of accesses, in MACs' worth.

    With a `node` (nm) buffers cost what SRAMs of their size do, else what is written of them, `l1` and `l2`, in pJ a
    byte; `dram` likewise, `mac` in pJ. MAESTRO's constants hold where `mac` is None.
    """

    mac: float | None = None
    node: float | None = None
    l1: float = 0.0
    l2: float = 0.0
    dram: float = 0.0

    def costs(self, width: Fraction, l1: Floats, l2: Floats) -> tuple[Floats, Floats, float]:
        """An access to an element of `width` bytes, of an L1 and an L2 of such sizes (bytes), and of DRAM."""
        if self.mac is None:
            own = MAESTRO_COSTS
            return np.full(len(l1), own.l1), np.full(len(l2), own.l2), own.offchip
        each = float(width) / self.mac
        if self.node is None:
            return np.full(len(l1), each * self.l1), np.full(len(l2), each * self.l2), each * self.dram
        first, second = (np.array([_sram(size, self.node) for size in sizes.tolist()]) for sizes in (l1, l2))
        return each * first, each * second, each * self.dram


@lru_cache(1 << 16)
def _sram(size: float, node: float) -> float:
    """pJ of a byte of an SRAM of so many bytes, to four digits, as the levels of a machine have it."""
    return float(f"{sram_energy(size / 1024, node):.4g}")


def access_energy(machine: Hardware) -> AccessEnergy:
    """What accesses cost on machines like one, with other buffers (`backends/maestro/machine.py`)."""
    mac, node = machine.known("energy.mac_pj", float), machine.get(NODE, float)
    energy = {level.part: level.pj_per_byte for level in levels_of(machine)}
    dram = energy.get("dram") or 0.0
    if machine.get("technology.model", str) != "npuc" or not mac:
        return AccessEnergy()
    if node is not None:
        return AccessEnergy(mac, node, dram=dram)
    l1, l2 = energy.get("local"), energy.get("scratchpad")
    return AccessEnergy() if l1 is None or l2 is None else AccessEnergy(mac, None, l1, l2, dram)
