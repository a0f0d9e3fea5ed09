"""
What a row-stationary array does at every combination of steps of a schedule search: cycles, and bits between it and the
SPM.

Bits are exact. Cycles are those of the busiest resource, by which the mapping is chosen, and so no more than exact ones
(`analysis/machine/row_choice.py`); they do not depend on the order of loops.
"""

from collections.abc import Callable
from functools import lru_cache
from itertools import product
from typing import TypeAlias

import numpy as np

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.compute import compute
from npuc.compiler.analysis.machine.row_choice import busiest, choices, moved_words, row_stationary
from npuc.compiler.analysis.machine.row_factors import (
    Factors,
    image_factors,
    row_factors,
    share_factors,
    tap_factors,
)
from npuc.compiler.analysis.machine.row_roles import RowRoles, Window, roles_of
from npuc.compiler.analysis.machine.row_stationary import PassMapping
from npuc.compiler.analysis.nest.blocks import lengths, touched
from npuc.compiler.analysis.nest.elements import Bits, real
from npuc.compiler.analysis.schedule.grid.space import DimGroup, Grid, Reals, along
from npuc.dialects.npu.nest import Nest, Schedule, Statement

Tiles: TypeAlias = tuple[tuple[int, int], ...]
ONE: Tiles = ((1, 1),)


@lru_cache(maxsize=128)
def row_work(nest: Nest, array: Array, groups: tuple[DimGroup, ...], widths: Bits) -> "RowWork":
    """The work for one nest, which all its searches share, whatever their SPM, channel and orders."""
    return RowWork(nest, array, groups, widths)


class RowWork:
    """The work for one nest. Its cycles are a lower bound."""

    def __init__(self, nest: Nest, array: Array, groups: tuple[DimGroup, ...], widths: Bits):
        self.nest, self.array, self.groups = nest, array, groups
        self.trips = [along(g.trips, n, len(groups)).astype(np.float64) for n, g in enumerate(groups)]
        self.width = {name: real(width) for name, width in widths.with_sums(nest).items()}
        self.cycles: Reals = np.zeros((1,) * len(groups))
        self.accesses: Reals = self.cycles
        self._exact: dict[int, int] = {}
        for statement in nest.statements:
            cycles, bits = self._statement(statement)
            self.cycles, self.accesses = self.cycles + cycles, self.accesses + bits

    def of(self, order: tuple[int, ...]) -> tuple[Reals, Reals]:
        """Cycles and bits of the array; the same in all orders of loops."""
        return self.cycles, self.accesses

    def least(self, order: tuple[int, ...]) -> Reals:
        """A lower bound of the cycles, as those of `of` are."""
        return self.cycles

    def exact(self, at: Grid, schedule: Callable[[int], Schedule]) -> Reals:
        """
        The exact cycles of candidates at these positions of the grid, whose tiles alone decide; `schedule` gives that
        of a candidate by its number.
        """
        kinds, first, which = np.unique(at, return_index=True, return_inverse=True)
        for kind, number in zip(map(int, kinds), map(int, first), strict=True):
            if kind not in self._exact:
                self._exact[kind] = compute(self.nest, schedule(number), self.array).cycles
        return np.array([self._exact[int(kind)] for kind in kinds], dtype=np.float64)[which]

    def _statement(self, statement: Statement) -> tuple[Grid, Reals]:
        own = row_stationary(self.array)
        roles = roles_of(self.nest, statement)
        tables = _Tables(self.groups, roles)
        inputs, filters, sums = (self.width[name] for name in (roles.ifmap, roles.filter, roles.out))
        # The first sums of all are not taken back.
        first = sums * touched(self.nest.tensors[roles.out], self.nest.sizes)

        def costs(mapping: PassMapping) -> tuple[Grid, Grid, Reals]:
            found = tables.factors(mapping)
            bits: Reals = inputs * found.inputs + filters * found.weights + 2.0 * sums * found.sums - first
            return busiest(found, own), moved_words(found), bits

        best, *others = map(costs, choices(self.nest, statement, self.array))
        for other in others:
            better = (other[0] < best[0]) | ((other[0] == best[0]) & (other[1] < best[1]))
            best = (
                np.where(better, other[0], best[0]),
                np.where(better, other[1], best[1]),
                np.where(better, other[2], best[2]),
            )
        return best[0], best[2]


class _Tables:
    """The factors of one statement at every combination of steps, with an axis for every group."""

    def __init__(self, groups: tuple[DimGroup, ...], roles: RowRoles):
        self.groups, self.roles = groups, roles
        self.known: dict[object, list[Grid]] = {}

    def factors(self, mapping: PassMapping) -> Factors[Grid]:
        """The factors under a mapping."""
        roles, m = self.roles, mapping
        found = [
            *self._of(
                ("rows", m.rows, m.strip),
                _dims(roles.rows),
                lambda tiles: row_factors(roles.rows, *_both(tiles), m.rows, m.strip),
            ),
            *self._of("taps", _dims(roles.taps), lambda tiles: tap_factors(roles.taps, *_both(tiles), m.taps)),
            *self._of("images", roles.images, lambda tiles: image_factors(tuple(tiles))),
            *self._of(
                ("filters", m.filter_sets),
                roles.filters,
                lambda tiles: share_factors(tuple(tiles), m.filter_sets, m.filters)[:3],
            ),
            *self._of(
                ("channels", m.channel_sets),
                roles.channels,
                lambda tiles: share_factors(tuple(tiles), m.channel_sets, m.channels),
            ),
            self._of("batch", roles.batch, lambda tiles: image_factors(tuple(tiles)))[0],
        ]
        return Factors(*found, passes=roles.passes)

    def _of(self, key: object, dims: tuple[str, ...], value: Callable[[list[Tiles]], tuple[int, ...]]) -> list[Grid]:
        """Values of the tiles of some dimensions, computed once for equal tiles; `key` tells the values apart."""
        if key not in self.known:
            self.known[key] = self._table(dims, value)
        return self.known[key]

    def _table(self, dims: tuple[str, ...], value: Callable[[list[Tiles]], tuple[int, ...]]) -> list[Grid]:
        kinds: list[list[dict[str, Tiles]]] = []
        which: list[Grid] = []
        for group in self.groups:
            own = {d: n for d, n in zip(group.dims, group.sizes, strict=True) if d in dims}
            steps = [group.steps(position) for position in range(len(group.tilings))] if own else [dict[str, int]()]
            tiles = [tuple((d, lengths(n, (step[d],) if d in step else ())) for d, n in own.items()) for step in steps]
            unique = {one: number for number, one in enumerate(dict.fromkeys(tiles))}
            kinds.append([dict(one) for one in unique])
            which.append(np.array([unique[one] for one in tiles], dtype=np.int64))
        entries: list[tuple[int, ...]] = []
        for combination in product(*kinds):
            found: dict[str, Tiles] = {}
            for part in combination:
                found |= part
            entries.append(value([found[d] for d in dims]))
        small = np.array(entries, dtype=np.int64).reshape(*(len(k) for k in kinds), len(entries[0]))
        large = small[np.ix_(*which)]
        return [large[..., number] for number in range(large.shape[-1])]


def _dims(window: Window | None) -> tuple[str, ...]:
    return () if window is None else (window.position, window.tap)


def _both(tiles: list[Tiles]) -> tuple[Tiles, Tiles]:
    """The tiles of positions and taps of a window; one of each without a window."""
    return (tiles[0], tiles[1]) if tiles else (ONE, ONE)
