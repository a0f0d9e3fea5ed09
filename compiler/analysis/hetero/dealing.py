"""
The ways to deal the tiles of an axis to units, by tables of what each unit takes for so many of them.

    dealing = tables_of(machine, units, product, "n", 64)
    dealing.least([table.moved for table in dealing.tables], limit)    # the fewest bytes within so many cycles, and how
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from npuc.compiler.analysis.hetero.product import Axis, SparseProduct
from npuc.compiler.analysis.hetero.tables import Numbers, ShareTable, share_table
from npuc.compiler.analysis.hetero.unit import SparseUnit, UnitMachine


@dataclass(frozen=True)
class Dealing:
    """
    An axis in tiles of `tile`, and a last one of `rest`, which may be none.

    A table has two rows, for shares without and with the smaller tile, and an entry for each number of others in it;
    what does not exist is infinite.
    """

    axis: Axis
    tile: int
    rest: int
    units: tuple[SparseUnit, ...]
    tables: tuple[ShareTable, ...]

    def limits(self) -> Numbers:
        """All cycles that a share may take, in order."""
        cycles = np.unique(np.concatenate([table.cycles.ravel() for table in self.tables]))
        return cycles[np.isfinite(cycles)]

    def first_enough(self, limits: Numbers) -> int:
        """The place of the first limit within which units may have all tiles, as far as each alone can tell."""
        count = self.tables[0].cycles.shape[1]
        most = np.zeros(len(limits), dtype=np.int64)
        for table in self.tables:
            # the most tiles within a limit: cycles need not grow with tiles, so that it is of the least of more tiles
            least = np.minimum.accumulate(table.cycles.min(axis=0)[::-1])[::-1]
            most += np.searchsorted(least, limits, side="right") - 1
        return int(np.argmax(most >= count - 1))

    def least(self, weights: Sequence[Numbers], limit: float) -> tuple[float, list[tuple[int, int]]]:
        """
        The least sum of weights in which all tiles are dealt to units that end within so many cycles, and how: for each
        unit the full tiles and whether it has the smaller one. Infinite where there is no way.
        """
        count = self.tables[0].cycles.shape[1]
        if not self.rest:
            return self._least_of_equal(weights, limit)
        least = np.full((2, count), np.inf)
        least[0, 0] = 0.0
        ways: list[npt.NDArray[np.int64]] = []
        for table, weight in zip(self.tables, weights, strict=True):
            own = np.where(table.cycles <= limit, weight, np.inf)
            plain = _joined(least[0], own[0])
            short, before = _joined(least[0], own[1]), _joined(least[1], own[0])
            has_short = short[0] < before[0]
            least = np.stack([plain[0], np.where(has_short, short[0], before[0])])
            # the tiles of this unit, and behind them whether the smaller one is its own
            ways.append(np.stack([plain[1], np.where(has_short, short[1] + count, before[1])]))
        return self._followed(ways, least)

    def _least_of_equal(self, weights: Sequence[Numbers], limit: float) -> tuple[float, list[tuple[int, int]]]:
        """The same where all tiles are equal."""
        least = np.full(self.tables[0].cycles.shape[1], np.inf)
        least[0] = 0.0
        ways: list[npt.NDArray[np.int64]] = []
        for table, weight in zip(self.tables, weights, strict=True):
            least, way = _joined(least, np.where(table.cycles[0] <= limit, weight[0], np.inf))
            ways.append(way)
        left, dealt = len(least) - 1, list[tuple[int, int]]()
        for way in reversed(ways):
            dealt.append((int(way[left]), 0))
            left -= dealt[-1][0]
        return float(least[-1]), dealt[::-1]

    def _followed(self, ways: Sequence[npt.NDArray[np.int64]], least: Numbers) -> tuple[float, list[tuple[int, int]]]:
        """The shares behind the least sum of all tiles, from the last unit to the first."""
        count = least.shape[1]
        layer, left, dealt = int(self.rest > 0), count - 1, list[tuple[int, int]]()
        total = float(least[layer, left])
        for way in reversed(ways):
            own, taken = divmod(int(way[layer, left]), count)
            dealt.append((taken, own))
            layer, left = layer - own, left - taken
        return total, dealt[::-1]


def tables_of(
    machine: UnitMachine, units: tuple[SparseUnit, ...], product: SparseProduct, axis: Axis, tiles: int
) -> Dealing:
    """The tables of units for an axis in at most so many tiles."""
    tile = -(-product.size(axis) // tiles)
    full, rest = divmod(product.size(axis), tile)
    sizes = np.arange(full + 1) * tile
    if rest:
        sizes = np.concatenate([sizes, sizes + rest])
    return Dealing(axis, tile, rest, units, tuple(_table(machine, unit, product, axis, sizes, full) for unit in units))


def _table(
    machine: UnitMachine,
    unit: SparseUnit,
    product: SparseProduct,
    axis: Axis,
    sizes: npt.NDArray[np.int64],
    full: int,
) -> ShareTable:
    """The table of a unit; the first size is none at all."""
    found = share_table(machine, unit, product, axis, sizes[1:])

    def shaped(values: Numbers) -> Numbers:
        rows = np.full((2, full + 1), np.inf)
        rows.reshape(-1)[: len(sizes)] = np.concatenate([[0.0], values])
        return rows

    return ShareTable(shaped(found.cycles), shaped(found.moved), shaped(found.joules))


@lru_cache(maxsize=64)
def _places(count: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """How many tiles other units have where so many are dealt and so many are of this one, and where that is none."""
    before = np.arange(count)[:, None] - np.arange(count)[None, :]
    return np.maximum(before, 0), before < 0


def _joined(least: Numbers, own: Numbers) -> tuple[Numbers, npt.NDArray[np.int64]]:
    """The least sum by the number of tiles that units so far and this one have, and how many this one has."""
    places, outside = _places(len(least))
    sums = least[places] + own[None, :]
    sums[outside] = np.inf
    chosen = sums.argmin(axis=1)
    return sums[np.arange(len(least)), chosen], chosen
