"""The speeds of the machines of many mappings: one for all, or one of its own for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from npuc.compiler.analysis.mapping.exact.arrays import Floats, Ints
from npuc.compiler.analysis.mapping.parity import PeArray


@dataclass(frozen=True)
class Rates:
    """
    Of each mapping's machine what times depend on: elements a cycle of the network and its latency, the elements that
    come from off chip in so many cycles, and MACs a cycle of a processing element; one value holds for all.
    """

    noc_bw: Floats
    noc_latency: Floats
    offchip_bw: Floats
    offchip_cycles: Floats
    lanes: Floats

    @classmethod
    def of(cls, arrays: Sequence[PeArray]) -> Rates:
        """The speeds of machines, one for each mapping."""
        rows = [(one.noc_bw, one.noc_latency, one.offchip_bw, one.offchip_cycles, one.lanes) for one in arrays]
        distinct = dict.fromkeys(rows)
        return cls(*np.array(list(distinct) if len(distinct) == 1 else rows, dtype=np.float64).T)

    def at(self, rows: Ints) -> Rates:
        """The speeds of these mappings, which may come several times."""
        if len(self.noc_bw) == 1:
            return self
        every = self.noc_bw, self.noc_latency, self.offchip_bw, self.offchip_cycles, self.lanes
        return Rates(*(one[rows] for one in every))
