"""
A product shared by units in whole tiles of one axis: the least time of all ways to deal them, exactly.

    split = best_split(machine, product)
    split.axis, split.sizes, split.seconds

An axis is cut into at most `TILES` equal tiles and a smaller last one. A unit's cycles and bytes are those of the
product of its share, whatever these are as a function of its size: reads that every share repeats, panels and spilled
sums are in them. The time is that of the last unit to end, or of all bytes over the machine's bandwidth, whichever is
longer: units do not each have the bandwidth for themselves. Where the sum is cut (k), each unit adds its part of C to
what is there, and moves it once more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from npuc.compiler.analysis.hetero.classes import CLASSES
from npuc.compiler.analysis.hetero.product import AXES, Axis, SparseProduct
from npuc.compiler.analysis.hetero.unit import SparseUnit, UnitMachine, takers, unit_cost

TILES = 64
"""Tiles of an axis at most, where nothing else is asked for (our choice)."""
Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class UnitShare:
    """What a unit has of a split: its part of the axis, cycles, bytes of DRAM, and energy without idle power in J."""

    unit: SparseUnit
    size: int
    cycles: float
    dram_bytes: float
    joules: float


@dataclass(frozen=True)
class TileSplit:
    """A product shared along an axis; None is one that a single unit has. `seconds` and `joules` are of all of it."""

    product: SparseProduct
    axis: Axis | None
    tile: int
    shares: tuple[UnitShare, ...]
    seconds: float
    joules: float

    @property
    def sizes(self) -> tuple[int, ...]:
        """The parts of the axis."""
        return tuple(share.size for share in self.shares)

    @property
    def dram_bytes(self) -> float:
        """Bytes of all units."""
        return sum(share.dram_bytes for share in self.shares)

    @property
    def edp(self) -> float:
        """Energy times delay, J s."""
        return self.joules * self.seconds


def one_share(
    machine: UnitMachine, unit: SparseUnit, product: SparseProduct, axis: Axis | None, size: int
) -> UnitShare:
    """The share of a unit: so much of an axis, or all of the product."""
    part = product if axis is None else product.part(axis, size)
    cost = unit_cost(unit, part)
    cycles, moved, added = cost.cycles, cost.dram_bytes, 0.0
    if axis == "k":
        # sums so far at the elements of this part are read; that they are written is in the cost as its result
        entries = part.result_nonzeros if CLASSES[unit.kind].result != "dense" else float(part.m * part.n)
        added = entries
        cycles += entries / unit.pes
        moved += part.result_bytes(CLASSES[unit.kind].result)
    energy = cost.unit_pj + added * unit.mac_pj + moved * machine.dram_pj_per_byte
    return UnitShare(unit, size, cycles, moved, 1e-12 * energy)


def single_splits(machine: UnitMachine, product: SparseProduct) -> Iterator[TileSplit]:
    """The product on each unit that takes it. Raises `UsageError` where none does."""
    for unit in takers(machine.units, product):
        share = one_share(machine, unit, product, None, product.m)
        yield _split(machine, product, None, product.m, [share])


@lru_cache(maxsize=1 << 10)
def best_split(
    machine: UnitMachine, product: SparseProduct, axes: tuple[Axis, ...] = AXES, tiles: int = TILES
) -> TileSplit:
    """
    The split of the least time along one of the axes, or the best single unit where none is faster.

    Raises `UsageError` where no unit takes the product.
    """
    found = [*single_splits(machine, product)]
    found += [split_along(machine, product, axis, tiles) for axis in axes]
    return min(found, key=lambda split: (split.seconds, split.joules))


def split_along(machine: UnitMachine, product: SparseProduct, axis: Axis, tiles: int = TILES) -> TileSplit:
    """The split of an axis of the least time, and of these one that moves the least."""
    units, size = takers(machine.units, product), product.size(axis)
    tile = -(-size // tiles)
    tables = [_table(machine, unit, product, axis, tile) for unit in units]
    cycles = np.unique(np.concatenate([table.cycles.ravel() for table in tables]))
    cycles = cycles[np.isfinite(cycles)]
    low, high = 0, len(cycles) - 1  # the first limit of cycles whose bytes pass in its time, by halving
    while low < high:
        middle = (low + high) // 2
        enough = _least_bytes(tables, cycles[middle])[0] / machine.bytes_per_second <= cycles[middle] / machine.hertz
        low, high = (low, middle) if enough else (middle + 1, high)
    splits: list[TileSplit] = []
    for limit in cycles[max(0, low - 1) : low + 1]:
        least, dealt = _least_bytes(tables, limit)
        if np.isfinite(least):
            sizes = [count * tile + short * (size % tile) for count, short in dealt]
            shares = [
                one_share(machine, unit, product, axis, part) for unit, part in zip(units, sizes, strict=True) if part
            ]
            splits.append(_split(machine, product, axis, tile, shares))
    return min(splits, key=lambda split: (split.seconds, split.joules))


@dataclass(frozen=True)
class _Table:
    """Cycles and bytes of a unit by whether the smaller last tile is in its share, and by how many others are."""

    cycles: Numbers
    moved: Numbers


def _table(machine: UnitMachine, unit: SparseUnit, product: SparseProduct, axis: Axis, tile: int) -> _Table:
    full, rest = divmod(product.size(axis), tile)
    cycles, moved = np.full((2, full + 1), np.inf), np.full((2, full + 1), np.inf)
    cycles[0, 0] = moved[0, 0] = 0.0
    for short in range(2 if rest else 1):
        for count in range(full + 1):
            if count or short:
                share = one_share(machine, unit, product, axis, count * tile + short * rest)
                cycles[short, count], moved[short, count] = share.cycles, share.dram_bytes
    return _Table(cycles, moved)


def _least_bytes(tables: Sequence[_Table], limit: float) -> tuple[float, list[tuple[int, int]]]:
    """
    The fewest bytes in which all tiles are dealt to units that end within so many cycles, and how: for each unit the
    full tiles and whether it has the smaller one. Infinitely many where there is no way.
    """
    count = tables[0].cycles.shape[1]
    least = np.full((2, count), np.inf)
    least[0, 0] = 0.0
    ways: list[npt.NDArray[np.int64]] = []
    for table in tables:
        moved = np.where(table.cycles <= limit, table.moved, np.inf)
        plain, short = _joined(least[0], moved[0]), _joined(least[0], moved[1])
        before = _joined(least[1], moved[0])
        own = short[0] < before[0]
        least = np.stack([plain[0], np.where(own, short[0], before[0])])
        # the tiles of this unit, and behind them whether the smaller one is its own
        ways.append(np.stack([plain[1], np.where(own, short[1] + count, before[1])]))
    layer = int(bool(np.isfinite(tables[0].cycles[1]).any()))
    left, dealt = count - 1, list[tuple[int, int]]()
    total = float(least[layer, left])
    for way in reversed(ways):
        own, taken = divmod(int(way[layer, left]), count)
        dealt.append((taken, own))
        layer, left = layer - own, left - taken
    return total, dealt[::-1]


def _joined(least: Numbers, moved: Numbers) -> tuple[Numbers, npt.NDArray[np.int64]]:
    """The fewest bytes by the number of tiles that units so far and this one have, and how many this one has."""
    count = len(least)
    before = np.arange(count)[:, None] - np.arange(count)[None, :]
    sums = np.where(before >= 0, least[np.maximum(before, 0)] + moved[None, :], np.inf)
    chosen = sums.argmin(axis=1)
    return sums[np.arange(count), chosen], chosen


def _split(
    machine: UnitMachine, product: SparseProduct, axis: Axis | None, tile: int, shares: Sequence[UnitShare]
) -> TileSplit:
    ends = max(share.cycles for share in shares) / machine.hertz
    seconds = max(ends, sum(share.dram_bytes for share in shares) / machine.bytes_per_second)
    joules = sum(share.joules for share in shares) + machine.idle_w * seconds
    return TileSplit(product, axis, tile, tuple(shares), seconds, joules)
