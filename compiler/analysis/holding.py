"""
What each tensor of a nest may keep in SPM between its visits, priced for all steps of an order of the loops at once.

A deeper keep is worth trying where it ends repetition by an outer group, or reading halos twice; elsewhere it only
takes room.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from npuc.compiler.analysis.blocks import is_plain, touched
from npuc.compiler.analysis.space import Grid, Group, Reals, along, table_of
from npuc.dialects.npu.nest import Nest, Tensor


@dataclass(frozen=True)
class Option:
    """
    One way to hold a tensor in one order: what it costs at every combination of chain positions.

    `kept` is (place in the order, loops of that group) up to which inner loops are kept; `room` elements of the largest
    block; `moved` all bytes, `block` those of one step that changes the block, `ends` those that nothing can hide (the
    first load of what is read, the last store of an accumulator); `level` counts the groups of the order down to the
    last one that changes the block, 0 for a tensor that is moved once.
    """

    kept: tuple[int, int]
    room: Reals
    moved: Reals
    block: Reals
    ends: Reals
    level: Grid


class Holder:
    """The ways to hold one tensor; `among` are the dimensions whose loops move it, `width` its bytes an element."""

    def __init__(self, nest: Nest, tensor: Tensor, groups: tuple[Group, ...], among: frozenset[str], width: int):
        self.groups, self.width = groups, width
        self.table = table_of(nest, tensor, groups)
        self.halo = any(not is_plain(axis) for axis in tensor.axes)
        self.used = [g for g, uses in enumerate(self.table.uses) if uses]
        self.repeats = [g for g in range(len(groups)) if g not in self.used and set(groups[g].dims) <= among]
        self.accumulates = tensor in nest.outs
        reached = touched(tensor, nest.sizes)
        # All visits, plus what does not depend on the schedule: an accumulator is not read back at first, and what no
        # statement touches is written (or its start read) once.
        self.extra = 0 if tensor in nest.ins else tensor.elements - reached - (reached if self.accumulates else 0)
        self.moves: dict[tuple[int, int], Grid] = {}
        self.known: dict[tuple[int, ...], tuple[Reals, Reals, Reals, Reals]] = {}

    def options(self, order: tuple[int, ...]) -> Iterator[Option]:
        """The ways worth trying when the groups are nested in `order`, outermost first."""
        place = {g: p for p, g in enumerate(order)}
        count = len(self.groups)
        for end, inner in self._kept(place):
            removed = tuple(
                self.groups[g].depth if place[g] > end else inner if place[g] == end else 0 for g in self.used
            )
            room, volume, block, ends = self._held(removed)
            moving = {g: self._moving(g, less) for g, less in zip(self.used, removed, strict=True)}
            level = np.zeros((1,) * count, dtype=np.int64)
            for g in self.used:
                level = np.maximum(level, moving[g] * (place[g] + 1))
            for z in self.repeats:
                again = [moving[g] for g in self.used if place[g] > place[z]]
                if again:
                    still = again[0] if len(again) == 1 else np.maximum.reduce(np.broadcast_arrays(*again))
                    volume = volume * np.where(still > 0, along(self.groups[z].trips, z, count), 1)
            yield Option((end, inner), room, volume + self.width * self.extra, block, ends, level)

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

    def _held(self, removed: tuple[int, ...]) -> tuple[Reals, Reals, Reals, Reals]:
        """Room, bytes of all visits, of one, and of the ends with so many loops of each used group in the block."""
        found = self.known.get(removed)
        if found is None:
            index: list[Grid] = [np.zeros(1, dtype=np.int64)] * len(self.groups)
            for g, count in zip(self.used, removed, strict=True):
                index[g] = self.groups[g].shorter[count]
            at = np.ix_(*index)
            times = self.width * (2.0 if self.accumulates else 1.0)
            ends = self.table.last if self.accumulates else self.table.first
            room, volume, last = (table[at].astype(np.float64) for table in (self.table.room, self.table.volume, ends))
            found = (room, _times(times, volume), _times(times, room), _times(float(self.width), last))
            self.known[removed] = found
        return found


def _times(factor: float, values: Reals) -> Reals:
    return np.multiply(values, factor, dtype=np.float64)
