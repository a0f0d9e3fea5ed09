"""
What mappings cost and need on a machine whose size is open: cycles, energy, and the buffers that they fill.

The exact model's cycles and energy of a mapping do not depend on how many elements or how large buffers a machine has
beyond what the mapping uses. So a mapping that was evaluated once is known on every machine that is large enough.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from fractions import Fraction
from math import ceil

import numpy as np

from npuc.compiler.analysis.mapping.columns import accesses, offchip_accesses
from npuc.compiler.analysis.mapping.exact.arrays import Floats, Ints
from npuc.compiler.analysis.mapping.exact.columns import columns_of, run_exact
from npuc.compiler.analysis.mapping.exact.contraction import Contraction
from npuc.compiler.analysis.mapping.exact.rates import Rates
from npuc.compiler.analysis.mapping.exact.refetch import refetches_of
from npuc.compiler.analysis.mapping.exact.steps import Bools
from npuc.compiler.analysis.mapping.exact.volumes import tile
from npuc.compiler.analysis.mapping.parity import PeArray
from npuc.compiler.explore.design.energy import AccessEnergy
from npuc.compiler.explore.mapping.best import with_sums
from npuc.compiler.explore.mapping.candidates import Candidates
from npuc.compiler.explore.mapping.capacity import BufferCapacity
from npuc.compiler.explore.mapping.constrained.possible import least_needs
from npuc.compiler.explore.mapping.space import MapSpace
from npuc.dialects.products import Passes


@dataclass(frozen=True)
class Needs:
    """
    Of each mapping: cycles, bytes of a processing element's buffer (`l1`) and of the shared one (`l2`), accesses to the
    elements of both and of DRAM, and the energy in MACs' worth with buffers of just this size.

    Sizes are infinite where no buffers let it run at that cost.
    """

    cycles: Floats
    l1: Floats
    l2: Floats
    l1_accesses: Floats
    l2_accesses: Floats
    offchip: Floats
    energy: Floats

    def at(self, rows: Ints) -> Needs:
        """Those of these mappings."""
        return Needs(*(getattr(self, one.name)[rows] for one in fields(self)))

    def only(self, fine: Bools) -> Needs:
        """The same of which those that are not fine run on no buffers."""
        return replace(self, l1=np.where(fine, self.l1, np.inf), l2=np.where(fine, self.l2, np.inf))

    def joined(self, others: Needs) -> Needs:
        """These, then the others."""
        pairs = ((getattr(self, one.name), getattr(others, one.name)) for one in fields(self))
        return Needs(*(np.concatenate(pair) for pair in pairs))


@dataclass(frozen=True)
class Work:
    """
    A contraction of the network: its statements, how often a step runs it, and its elements.

    `width` is the bytes of an element, `sum_size` the elements of a buffer that a partial sum takes; `array` has the
    bandwidths for such elements.
    """

    statements: tuple[Contraction, ...]
    repeat: int
    array: PeArray
    width: Fraction
    sum_size: Fraction

    @property
    def macs(self) -> Passes:
        """The MACs of one run, each as often as it takes passes through a multiplier."""
        return sum(one.mac_passes for one in self.statements)

    @property
    def least_l1(self) -> int:
        """The bytes of a processing element's buffer without which no mapping runs: two elements of each tensor."""
        return ceil((2 * 2 + 2 * self.sum_size) * self.width)

    def energy(self, needs: Needs, costs: tuple[Floats, Floats, float]) -> Floats:
        """The energy of one run, in MACs' worth, where accesses cost as much (`AccessEnergy.costs`)."""
        l1, l2, offchip = costs
        return float(self.macs) + needs.l1_accesses * l1 + needs.l2_accesses * l2 + needs.offchip * offchip


def least_bytes(work: Work, space: MapSpace) -> tuple[int, int]:
    """The bytes of an element's buffer and of the shared one without which no mapping of a space runs."""
    if space.constraints is None:
        return work.least_l1, 1
    sums = float(work.sum_size)
    needs = least_needs(space, BufferCapacity(work.statements, None, None, sums, sums))
    l1, l2 = (ceil(Fraction(need) * work.width) for need in needs)
    return max(l1, work.least_l1), l2


def needs_of(work: Work, candidates: Candidates, energy: AccessEnergy, *, buffered: bool) -> Needs:
    """
    The costs and needs of candidates; with `buffered` elements keep everything that their steps refetch, since the
    model charges no energy for refetches inside clusters.
    """
    levels, inside = list(candidates.levels), candidates.fanouts[1:].prod(axis=0)
    sums, width = float(work.sum_size), float(work.width)
    cycles, l1, l2, l1_moved, l2_moved, offchip = (np.zeros(len(candidates)) for _ in range(6))
    with np.errstate(all="ignore"):
        for one in work.statements:
            run = run_exact(one, levels, work.array)
            table = columns_of(one, levels, run, work.array)
            runtime = table["runtime_cycles"]
            kept = refetches_of(one, levels, run, Rates.of([work.array]), inside, sums).least_l1(
                runtime, buffered=buffered
            )
            own = with_sums(table["l1_size_req"], table["output_l1_size_req"], sums)
            l1 = np.maximum(l1, width * np.maximum(own, kept))
            l2 = np.maximum(l2, width * with_sums(table["l2_size_req"], table["output_l2_size_req"], sums))
            whole = tile(one, "O", np.array([[float(size)] for _, size in one.dims]))
            cycles = cycles + runtime
            l1_moved, l2_moved = l1_moved + accesses(table, "l1"), l2_moved + accesses(table, "l2")
            offchip = offchip + offchip_accesses(table, table["output_l2_read"] - whole)
    fine = np.isfinite(cycles) & (cycles > 0) & np.isfinite(l1_moved) & np.isfinite(l2_moved)
    l1, l2 = np.where(fine, l1, np.inf), np.where(fine, l2, np.inf)
    return priced_needs(work, energy, cycles, l1, l2, l1_moved, l2_moved, offchip)


def priced_needs(
    work: Work,
    energy: AccessEnergy,
    cycles: Floats,
    l1: Floats,
    l2: Floats,
    l1_accesses: Floats,
    l2_accesses: Floats,
    offchip: Floats,
) -> Needs:
    """Needs with their energy, which follows from the others."""
    found = Needs(cycles, l1, l2, l1_accesses, l2_accesses, offchip, np.full(len(cycles), np.inf))
    rows = np.flatnonzero(np.isfinite(l1) & np.isfinite(l2))
    some = found.at(rows)
    found.energy[rows] = work.energy(some, energy.costs(work.width, some.l1, some.l2))
    return found
