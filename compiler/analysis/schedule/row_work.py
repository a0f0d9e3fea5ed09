"""
What a row-stationary array does at every combination of steps of a schedule search: cycles, and bits between it and the
SPM.

Bits are exact. Cycles are those of the busiest resource, by which the mapping is chosen, and so no more than exact ones
(`analysis/machine/row_choice.py`); they do not depend on the order of loops.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import TypeAlias

import numpy as np

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.row_choice import busiest, choices, moved_words, row_stationary
from npuc.compiler.analysis.machine.row_factors import (
    Factors,
    image_factors,
    row_factors,
    share_factors,
    tap_factors,
)
from npuc.compiler.analysis.machine.row_roles import Window, roles_of
from npuc.compiler.analysis.nest.blocks import lengths, touched
from npuc.compiler.analysis.nest.elements import Bits
from npuc.compiler.analysis.schedule.space import DimGroup, Grid, Reals, along
from npuc.dialects.npu.nest import Nest, Statement

Tiles: TypeAlias = tuple[tuple[int, int], ...]
ONE: Tiles = ((1, 1),)


class RowWork:
    """The work for one nest."""

    def __init__(self, nest: Nest, array: Array, groups: tuple[DimGroup, ...], widths: Bits):
        self.nest, self.array, self.groups = nest, array, groups
        self.trips = [along(g.trips, n, len(groups)).astype(np.float64) for n, g in enumerate(groups)]
        self.width = widths.with_sums(nest)
        parts = [self._statement(statement) for statement in nest.statements]
        self.cycles: Reals = sum((cycles for cycles, _ in parts), np.zeros((1,) * len(groups)))
        self.accesses: Reals = sum((bits for _, bits in parts), np.zeros((1,) * len(groups)))

    def of(self, order: tuple[int, ...]) -> tuple[Reals, Reals]:
        """Cycles and bits of the array; the same in all orders of loops."""
        return self.cycles, self.accesses

    def _statement(self, statement: Statement) -> tuple[Reals, Reals]:
        own = replace(row_stationary(self.array), mappings=())
        roles = roles_of(self.nest, statement)
        known: dict[object, tuple[Grid, ...]] = {}

        def table(
            key: object, dims: tuple[str, ...], value: Callable[[list[Tiles]], tuple[int, ...]]
        ) -> tuple[Grid, ...]:
            if key not in known:
                known[key] = self._table(dims, value)
            return known[key]

        images = table("images", roles.images, lambda tiles: image_factors(tuple(tiles)))
        batch, _ = table("batch", roles.batch, lambda tiles: image_factors(tuple(tiles)))
        best: tuple[Grid, Grid, Grid] | None = None
        for mapping in choices(self.nest, statement, self.array):
            most = mapping
            factors = Factors(
                *table(
                    ("rows", most.rows, most.strip),
                    _dims(roles.rows),
                    lambda tiles, m=most: row_factors(roles.rows, *_both(tiles), m.rows, m.strip),
                ),
                *table("taps", _dims(roles.taps), lambda tiles, m=most: tap_factors(roles.taps, *_both(tiles), m.taps)),
                *images,
                *table(
                    ("filters", most.filter_sets),
                    roles.filters,
                    lambda tiles, m=most: share_factors(tuple(tiles), m.filter_sets, m.filters)[:3],
                ),
                *table(
                    ("channels", most.channel_sets),
                    roles.channels,
                    lambda tiles, m=most: share_factors(tuple(tiles), m.channel_sets, m.channels),
                ),
                batch,
            )
            cycles, words = busiest(factors, own), moved_words(factors)
            bits = self.width[roles.ifmap] * factors.inputs + self.width[roles.out] * 2 * factors.sums
            if best is None:
                best = cycles, words, bits
                weights = factors.weights
                continue
            better = (cycles < best[0]) | ((cycles == best[0]) & (words < best[1]))
            best = np.where(better, cycles, best[0]), np.where(better, words, best[1]), np.where(better, bits, best[2])
        assert best is not None, "there is always a mapping"
        first = self.width[roles.out] * touched(self.nest.tensors[roles.out], self.nest.sizes)
        accesses = best[2] + self.width[roles.filter] * weights - first
        return best[0].astype(np.float64), accesses.astype(np.float64)

    def _table(self, dims: tuple[str, ...], value: Callable[[list[Tiles]], tuple[int, ...]]) -> tuple[Grid, ...]:
        """Values of the tiles of some dimensions, with an axis for every group, computed once for equal tiles."""
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
        return tuple(large[..., number] for number in range(large.shape[-1]))


def _dims(window: Window | None) -> tuple[str, ...]:
    return () if window is None else (window.position, window.tap)


def _both(tiles: list[Tiles]) -> tuple[Tiles, Tiles]:
    """The tiles of positions and taps of a window; one of each without a window."""
    return (tiles[0], tiles[1]) if tiles else (ONE, ONE)
