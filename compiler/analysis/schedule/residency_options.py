"""
What each tensor of a nest may keep in SPM between its visits, priced for all steps of an order of the loops at once.

A deeper keep is worth trying where it ends repetition by an outer group, or reading halos twice; elsewhere it only
takes room.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np

from npuc.compiler.analysis.nest.blocks import is_plain, touched
from npuc.compiler.analysis.nest.elements import BYTE
from npuc.compiler.analysis.schedule.space import DimGroup, Grid, Reals, along, table_of
from npuc.dialects.npu.nest import Tensor

Dims: TypeAlias = tuple[tuple[str, int], ...]
Role = Literal["input", "sum", "start"]


@dataclass(frozen=True)
class Option:
    """
    One way to hold a tensor in one order: what it costs at every combination of chain positions.

    `kept` is (place in the order, loops of that group) up to which inner loops are kept; `room` bytes of the largest
    block; `moved` all bits, `spare` those of them that no visit moves (what no statement touches), `ends` those that
    nothing can hide (the first load of what is read, the last store of an accumulator); `level` counts the groups of
    the order down to the last one that changes the block, 0 for a tensor that is moved once.
    """

    kept: tuple[int, int]
    room: Reals
    moved: Reals
    spare: int
    ends: Reals
    level: Grid


@lru_cache(maxsize=256)
def holder(
    tensor: Tensor,
    dims: Dims,
    groups: tuple[DimGroup, ...],
    among: frozenset[str],
    width: int,
    role: Role,
    held: int,
    room: int,
) -> "Holder":
    """The ways to hold a tensor; nests of the same dimensions share those of equal tensors, whatever their names."""
    return Holder(tensor, dims, groups, among, width, role, held, room)


class Holder:
    """
    The ways to hold one tensor; `among` are the dimensions whose loops move it.

    It is an input of the nest, one of its sums, or what a sum starts from. An element has `width` bits when it is
    stored, `held` where it is a partial sum that is written and read back; it takes `room` in SPM.
    """

    def __init__(
        self,
        tensor: Tensor,
        dims: Dims,
        groups: tuple[DimGroup, ...],
        among: frozenset[str],
        width: int,
        role: Role,
        held: int,
        room: int,
    ):
        self.groups, self.width, self.wide, self.taken = groups, width, held, room
        self.table = table_of(tensor, groups)
        self.halo = any(not is_plain(axis) for axis in tensor.axes)
        self.used = [g for g, uses in enumerate(self.table.uses) if uses]
        self.repeats = [g for g in range(len(groups)) if g not in self.used and set(groups[g].dims) <= among]
        self.accumulates = role == "sum"
        reached = touched(tensor, dict(dims))
        # All visits, plus what does not depend on the schedule: an accumulator is not read back at first and is
        # finished when it is written last, and what no statement touches is written (or its start read) once.
        self.spare = 0 if role == "input" else width * (tensor.elements - reached)
        self.extra = self.spare + (reached * (width - 2 * held) if self.accumulates else 0)
        self.moves: dict[tuple[int, int], Grid] = {}
        self.known: dict[tuple[int, ...], tuple[Reals, Reals, Reals]] = {}
        self.volumes: dict[tuple[tuple[int, ...], tuple[tuple[int, ...], ...]], Reals] = {}
        self.levels: dict[tuple[int, ...], Grid] = {}
        self.tried: dict[tuple[int, ...], tuple[Option, ...]] = {}

    def options(self, order: tuple[int, ...]) -> tuple[Option, ...]:
        """The ways worth trying when the groups are nested in `order`, outermost first."""
        if order not in self.tried:
            self.tried[order] = tuple(self._options(order))
        return self.tried[order]

    def _options(self, order: tuple[int, ...]) -> Iterator[Option]:
        place = {g: p for p, g in enumerate(order)}
        for end, inner in self._kept(place):
            removed = tuple(
                self.groups[g].depth if place[g] > end else inner if place[g] == end else 0 for g in self.used
            )
            room, _, ends = self._held(removed)
            inside = tuple((z, *(g for g in self.used if place[g] > place[z])) for z in self.repeats)
            level = self._level(removed, tuple(place[g] for g in self.used))
            yield Option((end, inner), room, self._volume(removed, inside), self.spare, ends, level)

    def _volume(self, removed: tuple[int, ...], inside: tuple[tuple[int, ...], ...]) -> Reals:
        """The bits of all visits; `inside` are the groups that repeat them, each with the used ones inside of it."""
        found = self.volumes.get((removed, inside))
        if found is None:
            found = self._held(removed)[1]
            moving = {g: self._moving(g, less) for g, less in zip(self.used, removed, strict=True)}
            for z, *used in inside:
                if used:
                    still = moving[used[0]]
                    for g in used[1:]:
                        still = still | moving[g]
                    found = found * np.where(still > 0, along(self.groups[z].trips, z, len(self.groups)), 1)
            found = self.volumes[removed, inside] = found + self.extra
        return found

    def _level(self, removed: tuple[int, ...], places: tuple[int, ...]) -> Grid:
        """How many groups of the order there are down to the last one that changes the block."""
        found = self.levels.get((*removed, *places))
        if found is None:
            found = np.zeros((1,) * len(self.groups), dtype=np.int64)
            for g, less, place in zip(self.used, removed, places, strict=True):
                found = np.maximum(found, self._moving(g, less) * (place + 1))
            self.levels[*removed, *places] = found
        return found

    def _kept(self, place: dict[int, int]) -> list[tuple[int, int]]:
        """The keeps worth trying: (place of the outermost group that is kept, how many of its loops)."""
        kept = [(len(place), 0)]
        for g in sorted(self.used, key=lambda g: -place[g]):
            depth = self.groups[g].depth
            if self.halo:
                kept += [(place[g], count) for count in range(1, depth)]
            between = (place[u] for u in self.used if place[u] < place[g])
            outermost = max(between, default=-1)
            ends = any(outermost < place[z] < place[g] for z in self.repeats)
            if depth and (self.halo or ends):
                kept.append((place[g], depth))
        return kept

    def _moving(self, group: int, removed: int) -> Grid:
        """1 where loops of a group are left outside the block."""
        found = self.moves.get((group, removed))
        if found is None:
            left = self.groups[group].shorter[removed] != self.groups[group].full
            found = self.moves[group, removed] = along(left.astype(np.int64), group, len(self.groups))
        return found

    def _held(self, removed: tuple[int, ...]) -> tuple[Reals, Reals, Reals]:
        """Room in bytes, bits of all visits and of the ends, with so many loops of each used group in a block."""
        found = self.known.get(removed)
        if found is None:
            index: list[Grid] = [np.zeros(1, dtype=np.int64)] * len(self.groups)
            for g, count in zip(self.used, removed, strict=True):
                index[g] = self.groups[g].shorter[count]
            at = np.ix_(*index)
            times = self.wide * (2.0 if self.accumulates else 1.0)
            ends = self.table.last if self.accumulates else self.table.first
            room, volume, last = (table[at].astype(np.float64) for table in (self.table.room, self.table.volume, ends))
            taken = np.ceil(_times(self.taken / BYTE, room))
            found = (taken, _times(times, volume), _times(float(self.width), last))
            self.known[removed] = found
        return found


def _times(factor: float, values: Reals) -> Reals:
    return np.multiply(values, factor, dtype=np.float64)
