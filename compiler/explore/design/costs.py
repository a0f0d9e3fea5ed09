"""
What mappings cost and need on a machine whose size is open: cycles, energy, and the buffers that they fill.

The exact model's cycles and energy of a mapping do not depend on how many elements or how large buffers a machine has
beyond what the mapping uses. So a mapping that was evaluated once is known on every machine that is large enough.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction

import numpy as np

from npuc.compiler.analysis.mapping.exact.arrays import Floats, Ints
from npuc.compiler.analysis.mapping.exact.columns import columns_of, run_exact
from npuc.compiler.analysis.mapping.exact.contraction import Contraction
from npuc.compiler.analysis.mapping.exact.refetch import refetches_of
from npuc.compiler.analysis.mapping.parity import PeArray
from npuc.compiler.explore.mapping.best import with_sums
from npuc.compiler.explore.mapping.candidates import Candidates

LEAST_L1 = 6
"""The elements that a processing element's buffer has at least: two of each of three tensors."""


@dataclass(frozen=True)
class Needs:
    """
    Of each mapping: cycles, energy in MACs' worth, elements of a processing element's buffer (`l1`), and bytes of the
    shared buffer (`l2`); infinite where no buffers let it run at that cost.
    """

    cycles: Floats
    energy: Floats
    l1: Floats
    l2: Floats

    def at(self, rows: Ints) -> Needs:
        """Those of these mappings."""
        return Needs(*(getattr(self, one.name)[rows] for one in fields(self)))

    def joined(self, others: Needs) -> Needs:
        """These, then the others."""
        pairs = ((getattr(self, one.name), getattr(others, one.name)) for one in fields(self))
        return Needs(*(np.concatenate(pair) for pair in pairs))


@dataclass(frozen=True)
class Work:
    """
    A contraction of the network: its statements, how often a step runs it, and its elements.

    `width` is the bytes of an element, `sum_size` the elements of the shared buffer that a partial sum takes; `array`
    has the bandwidths for such elements.
    """

    statements: tuple[Contraction, ...]
    repeat: int
    array: PeArray
    width: Fraction
    sum_size: Fraction

    @property
    def macs(self) -> int:
        """The MACs of all repetitions."""
        return self.repeat * sum(one.macs for one in self.statements)


def needs_of(work: Work, candidates: Candidates, *, buffered: bool) -> Needs:
    """
    The costs and needs of candidates; with `buffered` elements keep everything that their steps refetch, since the
    model charges no energy for refetches inside clusters.
    """
    levels, inside = list(candidates.levels), candidates.fanouts[1:].prod(axis=0)
    count = len(candidates)
    cycles, energy, l1, l2 = (np.zeros(count) for _ in range(4))
    with np.errstate(all="ignore"):
        for one in work.statements:
            run = run_exact(one, levels, work.array)
            table = columns_of(one, levels, run, work.array)
            runtime = table["runtime_cycles"]
            cycles, energy = cycles + runtime, energy + table["energy_total_mac_units"]
            kept = refetches_of(one, levels, run, work.array, inside).least_l1(runtime, buffered=buffered)
            l1 = np.maximum(l1, np.maximum(table["l1_size_req"], kept))
            elements = with_sums(table["l2_size_req"], table["output_l2_size_req"], float(work.sum_size))
            l2 = np.maximum(l2, elements * float(work.width))
    fine = np.isfinite(cycles) & (cycles > 0) & np.isfinite(energy)
    return Needs(*(np.where(fine, values, np.inf) for values in (cycles, energy, l1, l2)))
