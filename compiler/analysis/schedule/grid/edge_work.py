"""
Waits of fold groups for the array's edge at every combination of tilings of a schedule search
(`analysis/machine/edge.py`).

A group waits for its neighbour's transfer S. Summed over a sequence, this equals the waits of all groups for their own
transfers: where the streamed extent T differs between two neighbours, it cycles through the same values while S does
not change, so that the sum has the same terms in another order, except for one at the ends:

    sum over neighbours of max(0, S - T)  =  sum over groups g of max(0, S_g - T_g)  -  max(0, S - T) of the two ends

With several statements neighbours are folds of different statements, and the sum is a lower bound. So is the value
taken where some tile operations belong to longer groups and others, of several folds, do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache, reduce
from math import prod
from operator import mul
from typing import Literal

import numpy as np

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.edge import is_forward
from npuc.compiler.analysis.machine.stationary import GroupPlacement, members, placement
from npuc.compiler.analysis.schedule.grid.space import DimGroup, Grid, Reals, along, total
from npuc.dialects.npu.gemm import GemmView, gemm_view
from npuc.dialects.npu.nest import Nest
from npuc.dialects.products import Passes, whole_cycles

Term = Literal["folds", "end", "single"]
"""
The wait of a tile that streams T: of all its row folds, of the one at the end next to its neighbour, or of its single
fold (0 for tiles of several folds).
"""


@lru_cache(maxsize=512)
def edge_work(nest: Nest, array: Array, groups: tuple[DimGroup, ...]) -> EdgeWork:
    """The waits of one nest, which all its searches share, whatever their SPM, channel and orders."""
    return EdgeWork(nest, array, groups)


class EdgeWork:
    """The waits of one nest on an array whose groups of folds overlap."""

    def __init__(self, nest: Nest, array: Array, groups: tuple[DimGroup, ...]):
        self.nest, self.array, self.groups = nest, array, groups
        self.trips = [along(g.trips, n, len(groups)).astype(np.float64) for n, g in enumerate(groups)]
        self.none: Reals = np.zeros((1,) * len(groups))
        self.known: dict[frozenset[int], tuple[Reals, Reals]] = {}

    def of(self, order: tuple[int, ...]) -> Reals:
        """The waits under an order of the groups of dimensions; equal results are one object."""
        return self._waits(order)[0]

    def least(self, order: tuple[int, ...]) -> Reals:
        """A closer lower bound of the waits, where every tile operation belongs to a longer group."""
        return self._waits(order)[1]

    def _waits(self, order: tuple[int, ...]) -> tuple[Reals, Reals]:
        if not self.array.most_shift:
            return self.none, self.none
        statement, *others = self.nest.statements
        if others:
            return self._several_statements, self._several_statements
        inside = self.inside(order)
        if inside not in self.known:
            view, place = gemm_view(self.nest, statement), placement(statement, self.array)
            self.known[inside] = self._single_statement(view, place, inside)
        return self.known[inside]

    @cached_property
    def flows(self) -> Grid | None:
        """1 where no fold is shorter than its own transfer, so that none waits; None of several statements."""
        statement, *others = self.nest.statements
        if others:
            return None
        view, place = gemm_view(self.nest, statement), placement(statement, self.array)
        rows, streamed = (self._numbers(members(view, group)) for group in (place.rows, place.streamed))
        return (self._pair(rows, streamed, "folds", place.passes) == 0).astype(np.int64)

    @cached_property
    def streamed(self) -> tuple[int, ...]:
        """The groups of dimensions that the only statement streams; none of several statements."""
        statement, *others = self.nest.statements
        if others:
            return ()
        view, place = gemm_view(self.nest, statement), placement(statement, self.array)
        return self._numbers(members(view, place.streamed))

    def inside(self, order: tuple[int, ...]) -> frozenset[int]:
        """The groups of dimensions nested in the streamed one, for one statement."""
        if len(self.streamed) != 1:
            return frozenset(order)
        return frozenset(order[order.index(self.streamed[0]) + 1 :])

    def streams_last(self, order: tuple[int, ...], trips: Sequence[int]) -> bool:
        """
        Whether the innermost of the loops with several trips is that of the streamed group.

        Nothing else in an order changes the waits at any edge, where the groups have so many trips.
        """
        several = any(trips[group] > 1 for group in self.streamed)
        return several and all(trips[group] == 1 for group in self.inside(order))

    @cached_property
    def _several_statements(self) -> Reals:
        """The waits of several statements, none of which continues a group."""
        parts = [(gemm_view(self.nest, s), placement(s, self.array)) for s in self.nest.statements]
        if not is_forward(self.array):
            parts.reverse()
        found = self.none
        for (view, place), (after, its_place) in zip(parts, [*parts[1:], parts[0]], strict=True):
            rows, streamed = (self._numbers(members(view, group)) for group in (place.rows, place.streamed))
            beside = self._numbers(members(after, its_place.rows))
            found = found + self._folds(view, place) * self._pair(rows, streamed, "folds", place.passes)
            found = found - self._every(rows, streamed, place.passes) + self._every(beside, streamed, place.passes)
        (first, its_place), (last, place) = parts[0], parts[-1]
        ends = self._ends(members(first, its_place.rows), self._last(members(last, place.streamed), place.passes))
        return np.maximum(found - ends, 0.0)

    def _single_statement(self, view: GemmView, place: GroupPlacement, inside: frozenset[int]) -> tuple[Reals, Reals]:
        """
        The waits of one statement, where the groups of dimensions `inside` are nested in the streamed one, and a closer
        lower bound of them.
        """
        dims = members(view, place.streamed)
        rows, streamed = self._numbers(members(view, place.rows)), self._numbers(dims)
        found = self._folds(view, place) * self._pair(rows, streamed, "folds", place.passes)
        ends = self._ends(members(view, place.rows), self._last(dims, place.passes))
        joins = reduce(mul, (self.trips[g] == 1 for g in inside), self._steps(streamed) > 1)
        if not joins.any():
            waits = np.maximum(found - ends, 0.0)
            if len(streamed) > 1:  # tiles of some streamed groups may be one with their neighbours, of others not
                waits = np.where(self._steps(streamed) > 1, 0.0, waits)
            return waits, waits
        # Where nothing inside changes the stationary tile, tiles of a single fold stream all of it as one group.
        single, on_cols = self._count(view.batch, 1), self._count(members(view, place.cols), self.array.cols)
        whole = self._shaped(streamed, _all_cycles(self._of(streamed), place.passes))
        joined = self._joined(rows, whole)
        less = single * on_cols * (self._pair(rows, streamed, "single", place.passes) - joined)
        alike = single * on_cols * self._count(members(view, place.rows), self.array.rows)
        tiles = reduce(mul, (self.trips[g] for g in range(len(self.groups)) if g not in streamed), self.none + 1)
        # Beside tiles of several folds, each may find its neighbour's crossing hidden.
        hidden = np.where(alike < tiles, alike * self.array.most_shift, 0.0)
        waits = np.maximum(found - np.where(joins, less + hidden, 0.0) - ends, 0.0)
        # Where all tiles are alike, groups at both ends stream all of it, too.
        own = self._ends(members(view, place.rows), whole)
        return waits, np.where(joins & (alike == tiles), np.maximum(found - less - own, 0.0), waits)

    def _folds(self, view: GemmView, place: GroupPlacement) -> Reals:
        """How often the row folds of a tile run: once per element of the batch and column fold."""
        columns = self._numbers(members(view, place.cols))
        batch = self._numbers(view.batch)
        width = self.array.cols
        return self._shaped(batch, _sizes(self._of(batch))) * self._shaped(columns, _folds(self._of(columns), width))

    def _every(self, rows: tuple[int, ...], streamed: tuple[int, ...], passes: Passes) -> Reals:
        """The waits of all tile operations for the fold at the end of these rows."""
        others = (self.trips[g] for g in range(len(self.groups)) if g not in (*rows, *streamed))
        return reduce(mul, others, self._pair(rows, streamed, "end", passes))

    def _pair(self, rows: tuple[int, ...], streamed: tuple[int, ...], term: Term, passes: Passes) -> Reals:
        """The sum of a term over the joint tiles of two roles."""
        both = tuple(sorted({*rows, *streamed}))
        return self._shaped(both, _pair(self._of(both), self._of(rows), self._of(streamed), term, self.array, passes))

    def _joined(self, rows: tuple[int, ...], whole: Reals) -> Reals:
        """The waits of groups that stream `whole` cycles each, one for each tile that fits the array's rows."""
        found = self.none
        for cycles in np.unique(whole):
            own = self._shaped(rows, _alone_on_rows(self._of(rows), int(cycles), self.array))
            found = found + np.where(whole == cycles, own, 0.0)
        return found

    def _last(self, streamed: tuple[str, ...], passes: Passes) -> Grid:
        """The cycles that the group at the end streams, which is one tile."""
        return whole_cycles(passes, self._end(streamed, last=is_forward(self.array)))

    def _ends(self, rows: tuple[str, ...], streams: Grid | Reals) -> Reals:
        """
        The wait of the group at one end, which streams so many cycles, for the transfer at the other end, for which no
        group waits.
        """
        forward = is_forward(self.array)
        tall = self._end(rows, last=not forward)
        if forward:
            crossing = np.minimum(tall, self.array.rows)
        else:
            crossing = (tall - 1) % self.array.rows + 1
        return np.maximum(self.array.shift(crossing) - streams, 0).astype(np.float64)

    def _end(self, dims: tuple[str, ...], *, last: bool) -> Grid:
        """The size of the first or last tile of a role."""
        found: Grid = np.ones((1,) * len(self.groups), dtype=np.int64)
        for g in self._numbers(dims):
            found = found * self._shaped((g,), _end(self.groups[g], last)).astype(np.int64)
        return found

    def _count(self, dims: tuple[str, ...], most: int) -> Reals:
        """The number of tiles of a role of size at most `most`."""
        numbers = self._numbers(dims)
        return self._shaped(numbers, _count(self._of(numbers), most))

    def _steps(self, numbers: tuple[int, ...]) -> Reals:
        return reduce(mul, (self.trips[g] for g in numbers), self.none + 1)

    def _numbers(self, dims: tuple[str, ...]) -> tuple[int, ...]:
        """The groups of these dimensions."""
        return tuple(n for n, g in enumerate(self.groups) if set(g.dims) <= set(dims))

    def _of(self, numbers: Sequence[int]) -> tuple[DimGroup, ...]:
        return tuple(self.groups[n] for n in numbers)

    def _shaped(self, numbers: Sequence[int], values: Grid | Reals) -> Reals:
        """Values over the positions of some groups, with an axis for every group."""
        shape = [len(g.tilings) if n in numbers else 1 for n, g in enumerate(self.groups)]
        return values.reshape(shape).astype(np.float64)


@lru_cache(maxsize=4096)
def _sizes(groups: tuple[DimGroup, ...]) -> Grid:
    """The sum of the sizes of all joint tiles."""
    return total(groups, lambda size: size)


@lru_cache(maxsize=4096)
def _all_cycles(groups: tuple[DimGroup, ...], passes: Passes) -> Grid:
    """The cycles that all joint tiles stream, one after another."""
    return total(groups, lambda size: whole_cycles(passes, size))


@lru_cache(maxsize=4096)
def _folds(groups: tuple[DimGroup, ...], width: int) -> Grid:
    """How many times `width` all joint tiles take, each rounded up."""
    return total(groups, lambda size: -(-size // width))


@lru_cache(maxsize=4096)
def _count(groups: tuple[DimGroup, ...], most: int) -> Grid:
    """The number of joint tiles of size at most `most`."""
    return total(groups, lambda size: size <= most)


@lru_cache(maxsize=4096)
def _tiles(group: DimGroup) -> tuple[Grid, Grid]:
    """The sizes of the tiles at each position of a group, and how many have each; padded with none of size 1."""
    most = max(map(len, group.tiles))
    sizes, counts = np.ones((len(group.tilings), most), np.int64), np.zeros((len(group.tilings), most), np.int64)
    for position, tiles in enumerate(group.tiles):
        sizes[position, : len(tiles)], counts[position, : len(tiles)] = list(tiles), list(tiles.values())
    return sizes, counts


@lru_cache(maxsize=4096)
def _end(group: DimGroup, last: bool) -> Grid:
    """The size of the first or last tile at each position of a group."""
    found: list[int] = []
    for position in range(len(group.tilings)):
        steps = group.steps(position)
        pairs = ((size, steps.get(dim, size)) for dim, size in zip(group.dims, group.sizes, strict=True))
        found.append(prod((size - 1) % step + 1 if last else step for size, step in pairs))
    return np.array(found, dtype=np.int64)


@lru_cache(maxsize=4096)
def _pair(
    both: tuple[DimGroup, ...],
    rows: tuple[DimGroup, ...],
    streamed: tuple[DimGroup, ...],
    term: Term,
    array: Array,
    passes: Passes,
) -> Reals:
    """The sum of a term over the tiles at every tiling of some groups, an axis each, of a product of so many passes."""
    tall = long = weight = np.ones((1,) * (2 * len(both)), dtype=np.int64)
    for n, group in enumerate(both):
        shape = [1] * (2 * len(both))
        sizes, counts = _tiles(group)
        shape[2 * n : 2 * n + 2] = sizes.shape
        weight = weight * counts.reshape(shape)
        if group in rows:
            tall = tall * sizes.reshape(shape)
        if group in streamed:
            long = long * sizes.reshape(shape)
    waits = weight * _term(tall, whole_cycles(passes, long), term, array)
    return waits.sum(axis=tuple(range(1, 2 * len(both), 2))).astype(np.float64)


def _term(tall: Grid, long: Grid, term: Term, array: Array) -> Grid:
    """The wait of a tile of `tall` rows that streams `long` cycles."""
    high = -(-tall // array.rows)
    rest = np.maximum(array.shift(tall - (high - 1) * array.rows) - long, 0)
    if term == "single":
        return np.where(high == 1, rest, 0)
    full = np.maximum(array.shift(np.minimum(tall, array.rows)) - long, 0)
    if term == "end":
        return full if is_forward(array) else rest
    return (high - 1) * full + rest


@lru_cache(maxsize=4096)
def _alone_on_rows(rows: tuple[DimGroup, ...], streamed: int, array: Array) -> Grid:
    """The waits of groups that stream `streamed` cycles each, one for each tile that fits the array's rows."""
    return total(rows, lambda size: max(0, array.shift(size) - streamed) if size <= array.rows else 0)
