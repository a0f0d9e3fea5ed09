"""
The residency options of each tensor of a nest, costed for all tilings of a loop order at once.

A residency option says over how many inner loops a tensor's block stays in SPM. A larger block is worth trying where it
ends refetching by an outer group or reading halos twice; elsewhere it only takes SPM.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np

from npuc.compiler.analysis.nest.blocks import is_plain, touched
from npuc.compiler.analysis.nest.elements import BYTE, Width, real
from npuc.compiler.analysis.schedule.grid.space import DimGroup, Grid, Reals, along, table_of
from npuc.compiler.core.frozen import frozen
from npuc.dialects.npu.nest import Tensor

Dims: TypeAlias = tuple[tuple[str, int], ...]
Role = Literal["input", "sum", "start"]


@frozen
class ResidencyOption:
    """
    One residency option of a tensor under one loop order, costed for all tilings of the groups.

    `keep` is (place in the order, inner loops of that group): the block spans these loops and all groups inside. `room`
    is the size of the largest block in bytes; `traffic` counts all bits moved, `untouched` those of elements that no
    statement touches, `exposed` those that nothing can hide (the first load of an operand, the last store of an
    accumulator). `refetch_level` counts the groups of the order down to the innermost one that refetches the block, 0
    for a tensor that is moved once.
    """

    keep: tuple[int, int]
    room: Reals
    traffic: Reals
    untouched: float
    exposed: Reals
    refetch_level: Grid


@frozen
class Beside:
    """
    How a core runs beside others, other than alone: the sums of another one with which it goes on (`resumed`), tensors
    of which it does not make the first load or last store alone that nothing can hide (`spared`), and how many times
    faster its channel is at most, as transfers serve several cores that share them evenly (`faster`).
    """

    resumed: frozenset[str] = frozenset()
    spared: frozenset[str] = frozenset()
    faster: Fraction = Fraction(1)


ALONE = Beside()


@lru_cache(maxsize=128)
def residency_options(
    tensor: Tensor,
    dims: Dims,
    groups: tuple[DimGroup, ...],
    among: frozenset[str],
    stored_bits: Width,
    role: Role,
    sum_bits: Width,
    spm_bits: Width,
    rest: bool = True,
) -> "ResidencyOptions":
    """The residency options of a tensor; nests of equal dimensions share them, whatever the tensor's name."""
    return ResidencyOptions(tensor, dims, groups, among, stored_bits, role, sum_bits, spm_bits, rest)


class ResidencyOptions:
    """
    The residency options of one tensor, in any loop order; `among` are the dimensions whose loops may refetch it.

    Its `role` is that of an input, an accumulated output ("sum"), or the initial value of one ("start"). An element has
    `stored_bits` in DRAM, `sum_bits` as a partial sum that is written and read back, and occupies `spm_bits` in SPM.
    Without `rest` elements that no statement touches do not move.
    """

    def __init__(
        self,
        tensor: Tensor,
        dims: Dims,
        groups: tuple[DimGroup, ...],
        among: frozenset[str],
        stored_bits: Width,
        role: Role,
        sum_bits: Width,
        spm_bits: Width,
        rest: bool,
    ):
        self.groups, self.stored_bits, self.sum_bits, self.spm_bits = groups, stored_bits, sum_bits, spm_bits
        self.table = table_of(tensor, groups)
        self.halo = any(not is_plain(axis) for axis in tensor.axes)
        self.used = [g for g, uses in enumerate(self.table.uses) if uses]
        self.repeats = [g for g in range(len(groups)) if g not in self.used and set(groups[g].dims) <= among]
        self.accumulates = role == "sum"
        self.reached = reached = touched(tensor, dict(dims))
        # Independent of the schedule: an accumulator is not read back at first and has its final width when it is
        # written last; elements that no statement touches are written (or their initial value read) once.
        beside = 0 if role == "input" else real(stored_bits * (tensor.elements - reached))
        self.untouched, self.outside = (beside, 0) if rest else (0, beside)
        self.fixed_traffic = self.untouched + (real(reached * (stored_bits - 2 * sum_bits)) if self.accumulates else 0)
        self.outer_loops: dict[tuple[int, int], Grid] = {}
        self.blocks: dict[tuple[int, ...], tuple[Reals, Reals, Reals]] = {}
        self.traffic: dict[tuple[tuple[int, ...], tuple[tuple[int, ...], ...]], Reals] = {}
        self.refetch_levels: dict[tuple[int, ...], Grid] = {}
        self.options_of: dict[tuple[int, ...], tuple[ResidencyOption, ...]] = {}

    def options(self, order: tuple[int, ...]) -> tuple[ResidencyOption, ...]:
        """The options worth trying when the groups are nested in `order`, outermost first."""
        if order not in self.options_of:
            self.options_of[order] = tuple(self._options(order))
        return self.options_of[order]

    @property
    def smallest(self) -> tuple[Reals, Reals]:
        """Bytes of SPM and exposed bits of the smallest block, a single tile, for all tilings."""
        room, _, exposed = self._block((0,) * len(self.used))
        return room, exposed

    @property
    def once(self) -> tuple[float, float]:
        """The bits of all elements that statements touch, final and as partial sums."""
        return real(self.reached * self.stored_bits), real(self.reached * self.sum_bits)

    @property
    def resumed(self) -> Reals:
        """Bits of the first partial sums that are read where a sum goes on with that of another core."""
        at = np.ix_(
            *(self.groups[g].shorter[0] if g in self.used else np.zeros(1, np.int64) for g in range(len(self.groups)))
        )
        return _times(float(self.sum_bits), self.table.first[at].astype(np.float64))

    def _options(self, order: tuple[int, ...]) -> Iterator[ResidencyOption]:
        place = {g: p for p, g in enumerate(order)}
        for end, inner in self._keeps(place):
            removed = tuple(
                self.groups[g].depth if place[g] > end else inner if place[g] == end else 0 for g in self.used
            )
            room, _, ends = self._block(removed)
            inside = tuple((z, *(g for g in self.used if place[g] > place[z])) for z in self.repeats)
            level = self._refetch_level(removed, tuple(place[g] for g in self.used))
            yield ResidencyOption((end, inner), room, self._traffic(removed, inside), self.untouched, ends, level)

    def _traffic(self, removed: tuple[int, ...], inside: tuple[tuple[int, ...], ...]) -> Reals:
        """
        The bits of all visits; `inside` are the groups that repeat them, each followed by the used groups inside it.
        """
        found = self.traffic.get((removed, inside))
        if found is None:
            found = self._block(removed)[1]
            moving = {g: self._has_outer_loops(g, less) for g, less in zip(self.used, removed, strict=True)}
            for z, *used in inside:
                if used:
                    changes = moving[used[0]]
                    for g in used[1:]:
                        changes = changes | moving[g]
                    found = found * np.where(changes > 0, along(self.groups[z].trips, z, len(self.groups)), 1)
            found = self.traffic[removed, inside] = found + self.fixed_traffic
        return found

    def _refetch_level(self, removed: tuple[int, ...], places: tuple[int, ...]) -> Grid:
        """The number of groups of the order down to the innermost one that refetches the block."""
        found = self.refetch_levels.get((*removed, *places))
        if found is None:
            found = np.zeros((1,) * len(self.groups), dtype=np.int64)
            for g, less, place in zip(self.used, removed, places, strict=True):
                found = np.maximum(found, self._has_outer_loops(g, less) * (place + 1))
            self.refetch_levels[*removed, *places] = found
        return found

    def _keeps(self, place: dict[int, int]) -> list[tuple[int, int]]:
        """The blocks worth trying, as (place of the outermost group that the block spans, number of its loops)."""
        keeps = [(len(place), 0)]
        for g in sorted(self.used, key=lambda g: -place[g]):
            depth = self.groups[g].depth
            if self.halo:
                keeps += [(place[g], count) for count in range(1, depth)]
            between = (place[u] for u in self.used if place[u] < place[g])
            outermost = max(between, default=-1)
            ends = any(outermost < place[z] < place[g] for z in self.repeats)
            if depth and (self.halo or ends):
                keeps.append((place[g], depth))
        return keeps

    def _has_outer_loops(self, group: int, removed: int) -> Grid:
        """1 where loops of a group remain outside the block, else 0."""
        found = self.outer_loops.get((group, removed))
        if found is None:
            left = self.groups[group].shorter[removed] != self.groups[group].full
            found = self.outer_loops[group, removed] = along(left.astype(np.int64), group, len(self.groups))
        return found

    def _block(self, removed: tuple[int, ...]) -> tuple[Reals, Reals, Reals]:
        """
        Bytes of SPM, bits of all visits, and exposed bits, where a block spans `removed` loops of each used group.
        """
        found = self.blocks.get(removed)
        if found is None:
            index: list[Grid] = [np.zeros(1, dtype=np.int64)] * len(self.groups)
            for g, count in zip(self.used, removed, strict=True):
                index[g] = self.groups[g].shorter[count]
            at = np.ix_(*index)
            times = float(self.sum_bits) * (2.0 if self.accumulates else 1.0)
            over, under = self.spm_bits.as_integer_ratio()
            ends = self.table.last if self.accumulates else self.table.first
            room, volume, last = (table[at].astype(np.float64) for table in (self.table.room, self.table.volume, ends))
            taken = np.ceil(_times(float(over), room) / (BYTE * under))
            found = (taken, _times(times, volume), _times(float(self.stored_bits), last))
            self.blocks[removed] = found
        return found


def _times(factor: float, values: Reals) -> Reals:
    return np.multiply(values, factor, dtype=np.float64)
