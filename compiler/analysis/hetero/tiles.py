"""
A product shared by units in whole tiles of one axis: the least time of all ways to deal them, exactly.

    split = best_split(machine, product)
    split.axis, split.sizes, split.seconds

An axis is cut into at most `TILES` equal tiles and a smaller last one. A unit's cycles and bytes are those of the
product of its share, whatever these are as a function of its size: reads that every share repeats, panels and spilled
sums are in them. The time is that of the last unit to end, or of all bytes over the machine's bandwidth, whichever is
longer: units do not each have the bandwidth for themselves. Where the sum is cut (k), each unit adds its part of C to
what is there, and moves it once more. `dealing.py` finds the ways to deal tiles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from math import inf
from typing import Literal, get_args

import numpy as np

from npuc.compiler.analysis.hetero.classes import CLASSES, FormatPair
from npuc.compiler.analysis.hetero.dealing import Dealing, tables_of
from npuc.compiler.analysis.hetero.product import Axis, SparseProduct
from npuc.compiler.analysis.hetero.unit import SparseUnit, UnitMachine, takers, unit_cost

TILES = 64
"""Tiles of an axis at most, where nothing else is asked for (our choice)."""
LIMITS = 16
"""So many limits of cycles are looked at for the least energy times delay, evenly among those that units may have."""
ROUNDING = 1e-9
"""By so much, relatively, a bound may be above what it is a bound of: cycles of tables are sums of floats."""
Goal = Literal["time", "energy", "edp"]
GOALS: tuple[Goal, ...] = get_args(Goal)


@dataclass(frozen=True)
class UnitShare:
    """
    What a unit has of a split: its part of the axis, cycles, bytes of DRAM, and energy without idle power in J; steps
    that its elements do, expected products with their deviation over masks, operations that cost the energy of a MAC,
    of the bytes those that are written, and the formats that it reads.
    """

    unit: SparseUnit
    size: int
    cycles: float
    dram_bytes: float
    joules: float
    steps: float = 0.0
    products: float = 0.0
    deviation: float = 0.0
    operations: float = 0.0
    written_bytes: float = 0.0
    formats: FormatPair | None = None


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

    def rank(self, goal: Goal) -> tuple[float, float]:
        """What is least of the best split: what the goal names, and then energy, or time."""
        first = {"time": self.seconds, "energy": self.joules, "edp": self.edp}[goal]
        return first, self.seconds if goal == "energy" else self.joules


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
        added = part.batch * entries
        cycles += added / unit.pes
        moved += part.batch * part.result_bytes(CLASSES[unit.kind].result)
    energy = cost.unit_pj + added * unit.mac_pj + moved * machine.dram_pj_per_byte
    return UnitShare(
        unit,
        size,
        cycles,
        moved,
        1e-12 * energy,
        steps=cost.work.steps + added,
        products=float(cost.work.multiplications),
        deviation=cost.work.deviation,
        operations=float(cost.work.multiplications) + cost.work.merges + added,
        written_bytes=cost.traffic.written,
        formats=cost.formats,
    )


def single_splits(machine: UnitMachine, product: SparseProduct) -> Iterator[TileSplit]:
    """The product on each unit that takes it. Raises `UsageError` where none does."""
    for unit in takers(machine.units, product):
        share = one_share(machine, unit, product, None, product.m)
        yield split_of(machine, product, None, product.m, [share])


@lru_cache(maxsize=1 << 12)
def best_split(
    machine: UnitMachine,
    product: SparseProduct,
    axes: tuple[Axis, ...] | None = None,
    tiles: int = TILES,
    goal: Goal = "time",
) -> TileSplit:
    """
    The split of the least time along one of the axes, by default all, or the best single unit where none is faster.

    The least energy is exact, too, unless units have idle power, by which the time counts; of energy times delay the
    least is looked for at `LIMITS` limits of cycles. Raises `UsageError` where no unit takes the product.
    """
    best = min(single_splits(machine, product), key=lambda split: split.rank(goal))
    if len(takers(machine.units, product)) == 1:
        return best
    for axis in product.axes if axes is None else axes:
        if goal == "time":
            found = _fastest(machine, product, axis, tiles, best.seconds)
        else:
            found = _cheapest(machine, product, axis, tiles, goal)
        best = min((one for one in (best, found) if one is not None), key=lambda split: split.rank(goal))
    return best


def split_along(machine: UnitMachine, product: SparseProduct, axis: Axis, tiles: int = TILES) -> TileSplit:
    """The split of an axis of the least time, and of these one that moves the least."""
    found = _fastest(machine, product, axis, tiles, inf)
    assert found is not None
    return found


def _fastest(machine: UnitMachine, product: SparseProduct, axis: Axis, tiles: int, below: float) -> TileSplit | None:
    """The split of an axis of the least time; None where there is none of so many seconds or less."""
    dealing = tables_of(machine, takers(machine.units, product), product, axis, tiles)
    limits = dealing.limits()
    low = dealing.first_enough(limits)
    below *= 1 + ROUNDING
    if limits[low] / machine.hertz > below:
        return None
    moved = [table.moved for table in dealing.tables]

    @cache
    def least(place: int) -> tuple[float, list[tuple[int, int]]]:
        return dealing.least(moved, float(limits[place]))

    def passes(place: int) -> bool:
        return bool(least(place)[0] / machine.bytes_per_second <= limits[place] / machine.hertz)

    first, high = low, len(limits) - 1
    if least(high)[0] / machine.bytes_per_second > below:
        return None
    step = 1  # the first limit of cycles whose bytes pass in its time: by steps that double, and then by halving
    while low + step <= high and not passes(low + step - 1):
        low, step = low + step, 2 * step
    high = min(high, low + step - 1)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if passes(middle) else (middle + 1, high)
    found = [least(at) for at in sorted({max(first, low - 1), low})]
    splits = [_dealt(machine, product, dealing, dealt) for sum_of_bytes, dealt in found if np.isfinite(sum_of_bytes)]
    return min(splits, key=lambda split: split.rank("time"))


def _cheapest(machine: UnitMachine, product: SparseProduct, axis: Axis, tiles: int, goal: Goal) -> TileSplit:
    """The split of an axis of the least energy, or of the least energy times delay among those of some limits."""
    dealing = tables_of(machine, takers(machine.units, product), product, axis, tiles)
    limits = dealing.limits()
    chosen = np.unique(np.linspace(dealing.first_enough(limits), len(limits) - 1, LIMITS).astype(int))
    if goal == "energy" and not machine.idle_w:
        chosen = chosen[-1:]
    energies = [table.joules for table in dealing.tables]
    ways = [dealing.least(energies, float(limits[at])) for at in chosen]
    splits = [_dealt(machine, product, dealing, dealt) for least, dealt in ways if np.isfinite(least)]
    return min(splits, key=lambda split: split.rank(goal))


def _dealt(
    machine: UnitMachine, product: SparseProduct, dealing: Dealing, dealt: Sequence[tuple[int, int]]
) -> TileSplit:
    """The split in which units have so many tiles, and the smaller one."""
    axis, tile, rest = dealing.axis, dealing.tile, dealing.rest
    sizes = zip(dealing.units, (count * tile + short * rest for count, short in dealt), strict=True)
    return split_of(
        machine, product, axis, tile, [one_share(machine, unit, product, axis, size) for unit, size in sizes if size]
    )


def split_of(
    machine: UnitMachine, product: SparseProduct, axis: Axis | None, tile: int, shares: Sequence[UnitShare]
) -> TileSplit:
    """A product in given shares: the time of the last unit, or of all bytes."""
    ends = max(share.cycles for share in shares) / machine.hertz
    seconds = max(ends, sum(share.dram_bytes for share in shares) / machine.bytes_per_second)
    joules = sum(share.joules for share in shares) + machine.idle_w * seconds
    return TileSplit(product, axis, tile, tuple(shares), seconds, joules)
