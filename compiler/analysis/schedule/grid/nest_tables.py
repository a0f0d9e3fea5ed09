"""
What the candidates of one nest cost on any machine with one array: the search of another SPM or channel shares it.

SPM bytes, traffic, exposed bits and array cycles of a candidate depend on its loop order, tilings and residency options
alone. A search looks at few positions of the grid of tilings, and those with a little more SPM or bandwidth at mostly
the same ones, so that a position is looked up once and kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property, lru_cache, reduce
from operator import add
from typing import TYPE_CHECKING

import numpy as np

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.nest.elements import Bits
from npuc.compiler.analysis.schedule.grid.array_work import ArrayWork, EveryEdge, array_work, every_edge
from npuc.compiler.analysis.schedule.grid.loop_orders import ResidencyChoices, all_choices
from npuc.compiler.analysis.schedule.grid.places import Places, least_of, values_at
from npuc.compiler.analysis.schedule.grid.residency_options import Role, residency_options
from npuc.compiler.analysis.schedule.grid.space import Grid, Order, Reals, groups_of
from npuc.compiler.core.frozen import frozen
from npuc.dialects.npu.nest import Loop, Nest, Schedule, Tensor

if TYPE_CHECKING:
    from npuc.compiler.analysis.schedule.grid.row_work import RowWork

MOST_PARTS = 1 << 20
"""The most parts of a bit that are counted: what a nest moves, some 2^30 bits, stays below 2^53 of them."""
MOST_KEPT = 1 << 16
"""The most positions times residency options that are kept of one nest."""


@lru_cache(maxsize=32)
def nest_tables(nest: Nest, array: Array, widths: Bits, fine: bool, rest: bool, energy: bool) -> NestTables:
    """The tables of a nest on an array, which searches share, whatever their SPM and channel."""
    return NestTables(nest, array, widths, fine=fine, rest=rest, energy=energy)


class NestTables:
    """
    The tilings of all groups of dimensions of a nest and the residency options of its tensors, coarse or `fine`.

    Without `rest` what no statement touches of an output does not count. SPM accesses are needed with `energy` only.
    """

    def __init__(self, nest: Nest, array: Array, widths: Bits, *, fine: bool, rest: bool, energy: bool):
        self.nest, self.array, self.widths = nest, array, widths
        self.groups = groups_of(nest, (array.rows, array.cols), fine=fine)
        self.shape = tuple(len(g.tilings) for g in self.groups)
        every = frozenset(nest.sizes)
        moved_by = [(t, every) for t in (*nest.ins, *nest.outs)]
        moved_by += [(s, o.dims) for o, s in zip(nest.outs, nest.starts, strict=True) if s is not None]
        self.parts = widths.parts if widths.parts <= MOST_PARTS else 1
        counted = widths.times(self.parts)
        held, rooms = counted.with_sums(nest), widths.occupied(nest)
        self.residencies = [
            residency_options(
                replace(t, name=""), nest.dims, self.groups, among, w, _role(nest, t), held[t.name], rooms[t.name], rest
            )
            for (t, among), w in zip(moved_by, counted.stored, strict=True)
        ]
        self.rows: RowWork | None = None
        """The work of a row-stationary array, whose exact cycles take long."""
        if array.row_stationary is None:
            self.work = array_work(nest, array, self.groups, counted, energy=energy)
        else:
            from npuc.compiler.analysis.schedule.grid.row_work import row_work

            self.work = self.rows = row_work(nest, array, self.groups, counted)
        self.maps: dict[tuple[int, ...], Grid] = {}
        self._options: dict[tuple[str, ...], OptionTables] = {}
        self._least_cycles: dict[tuple[Order, ...], Reals] = {}
        self._least_accesses: dict[tuple[Order, ...], Reals] = {}

    @cached_property
    def edges(self) -> EveryEdge:
        """The array's cycles with each edge that a search distinguishes."""
        assert isinstance(self.work, ArrayWork), "only arrays whose folds form groups wait at their edge"
        return every_edge(self.nest, self.array, self.groups, self.work)

    @cached_property
    def untouched(self) -> float:
        """The parts of bits of elements that no statement touches, which move at any time."""
        return sum(residency.untouched for residency in self.residencies)

    @cached_property
    def smallest_room(self) -> Reals:
        """The bytes of SPM of the smallest blocks of all tensors, at every position of the grid."""
        return reduce(add, (residency.smallest[0] for residency in self.residencies))

    @cached_property
    def smallest_ends(self) -> Reals:
        """The exposed bits of the smallest blocks of all tensors, at every position of the grid."""
        return reduce(add, (residency.smallest[1] for residency in self.residencies))

    def least_cycles(self, orders: tuple[Order, ...]) -> Reals:
        """A lower bound of the array's cycles in any of these orders, at every position of the grid."""
        if orders not in self._least_cycles:
            self._least_cycles[orders] = least_of([self.work.least(order) for order in orders])
        return self._least_cycles[orders]

    def least_accesses(self, orders: tuple[Order, ...]) -> Reals:
        """The least SPM accesses of the array in any of these orders, at every position of the grid."""
        if orders not in self._least_accesses:
            self._least_accesses[orders] = least_of([self.work.of(order)[1] for order in orders])
        return self._least_accesses[orders]

    def options(self, wanted: tuple[str, ...]) -> OptionTables:
        """The residency choices in all loop orders with the `wanted` dimensions in that order, and what they cost."""
        if wanted not in self._options:
            choices = all_choices(self.nest, self.widths, self.groups, self.residencies, wanted)
            self._options[wanted] = OptionTables(self, choices)
        return self._options[wanted]

    def places(self, at: Grid) -> Places:
        """The positions `at` of the grid, to read values there."""
        return Places(at, self.shape, self.maps)

    def schedule(self, choices: ResidencyChoices, row: int, at: int, spm_bytes: int) -> Schedule:
        """The schedule of a row of the residency choices at position `at`; it promises so many bytes of SPM."""
        position = np.unravel_index(at, self.shape)
        loops: list[Loop] = []
        counts: list[int] = []
        for g in choices.orders[int(choices.order[row])]:
            chosen = self.groups[g].tilings[int(position[g])]
            loops += chosen
            counts.append(len(chosen))
        keep: list[tuple[str, int]] = []
        for name, (end, inner) in zip(self.nest.tensors, choices.keeps(row), strict=True):
            depth = sum(counts[end + 1 :]) + (min(inner, counts[end]) if end < len(counts) else 0)
            if depth:
                keep.append((name, depth))
        return Schedule(tuple(loops), tuple(keep), spm_bytes)


@frozen(eq=False)
class OptionsAt:
    """
    What the residency options, of SPM `room`, traffic `moved`, exposed bits `ends` and `levels` of refetching, a row
    each, cost at some positions; `cycles` and `accesses` of the array, a row for each distinct pair; and the `visits`
    at each level of each order, one order after another.
    """

    room: Reals
    moved: Reals
    ends: Reals
    levels: Grid
    cycles: Reals
    accesses: Reals
    visits: Reals

    def of(self, columns: Grid) -> OptionsAt:
        """Those at some of the positions."""
        values = self.room, self.moved, self.ends, self.cycles, self.accesses, self.visits
        room, moved, ends, cycles, accesses, visits = (np.take(one, columns, axis=1) for one in values)
        return OptionsAt(room, moved, ends, np.take(self.levels, columns, axis=1), cycles, accesses, visits)

    def beside(self, other: OptionsAt) -> OptionsAt:
        """Those at the positions of both, one after the other."""
        pairs = (
            (self.room, other.room),
            (self.moved, other.moved),
            (self.ends, other.ends),
            (self.cycles, other.cycles),
            (self.accesses, other.accesses),
            (self.visits, other.visits),
        )
        room, moved, ends, cycles, accesses, visits = (np.concatenate(both, axis=1) for both in pairs)
        levels = np.concatenate((self.levels, other.levels), axis=1)
        return OptionsAt(room, moved, ends, levels, cycles, accesses, visits)


class OptionTables:
    """The residency choices of a nest, and what their options cost at the positions that were asked for."""

    def __init__(self, nest: NestTables, choices: ResidencyChoices):
        self.choices = choices
        # Not the nest's tables themselves, which hold this: cycles stay until they are searched for.
        self.shape, self._maps, self._trips = nest.shape, nest.maps, nest.work.trips
        works = [nest.work.of(order) for order in choices.orders]
        pairs = {(id(cycles), id(accesses)): (cycles, accesses) for cycles, accesses in works}
        numbers = {key: number for number, key in enumerate(pairs)}
        self._works = tuple(pairs.values())
        self.works = np.array([numbers[id(cycles), id(accesses)] for cycles, accesses in works], dtype=np.int64)
        """The number of each loop order's row of cycles and accesses."""
        self.best: dict[str, tuple[int, int]] = {}
        """The row and the position of what was found last, by objective."""
        self._columns: Grid = np.full(int(np.prod(nest.shape)), -1)
        self._known: OptionsAt | None = None

    @cached_property
    def untouched(self) -> Reals:
        """The parts of bits of elements that no statement touches, of each option."""
        return np.array([option.untouched for option in self.choices.options], dtype=np.float64)

    @cached_property
    def least_moved(self) -> Reals:
        """The least traffic of all residency options, at every position of the grid."""
        starts, options = self.choices.starts, self.choices.options
        moved: Reals = np.zeros((1,) * len(self.shape))
        for start, end in zip(starts, (*starts[1:], len(options)), strict=True):
            traffics = {id(option.traffic): option.traffic for option in options[start:end]}
            moved = moved + reduce(np.minimum, traffics.values())
        return moved

    def at(self, positions: Grid) -> OptionsAt:
        """What the options cost at these positions of the grid."""
        most, columns = MOST_KEPT // len(self.choices.options), self._columns[positions]
        missing = positions[columns < 0]
        if self._known is not None and not len(missing):
            return self._known.of(columns)
        if len(positions) > most:
            return self._found(positions)
        if self._known is None or self._known.room.shape[1] + len(missing) > most:
            self._columns[:] = -1
            self._known = self._found(positions)
            self._columns[positions] = np.arange(len(positions))
            return self._known
        kept = self._known.room.shape[1]
        self._known = self._known.beside(self._found(missing))
        self._columns[missing] = np.arange(kept, kept + len(missing))
        return self._known.of(self._columns[positions])

    def _found(self, positions: Grid) -> OptionsAt:
        place, options = Places(positions, self.shape, self._maps), self.choices.options

        def rows(values: Iterable[Reals]) -> Reals:
            return np.stack(values_at(place, list(values)))

        trips = rows(self._trips)[np.array(self.choices.orders, dtype=np.int64)]
        visits = np.cumprod(np.concatenate([np.ones_like(trips[:, :1]), trips], axis=1), axis=1, dtype=np.float64)
        return OptionsAt(
            rows(option.room for option in options),
            rows(option.traffic for option in options),
            rows(option.exposed for option in options),
            np.stack(values_at(place, [option.refetch_level for option in options])),
            rows(cycles for cycles, _ in self._works),
            rows(accesses for _, accesses in self._works),
            visits.reshape(visits.shape[0] * visits.shape[1], len(positions)),
        )


def _role(nest: Nest, tensor: Tensor) -> Role:
    return "input" if tensor in nest.ins else "sum" if tensor in nest.outs else "start"
