"""
What candidates of a schedule search cost, as arrays: ways to hold the tensors x steps of all groups.

All ways of an order are priced at once: what a way adds to a sum (room, bytes) is a row of numbers, one a step, and
the ways are the rows of a matrix of zeros and ones. Every number is whole and below 2^53, so that the sums are exact.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeAlias, TypeVar

import numpy as np

from npuc.compiler.analysis.holding import Option, Role, holder
from npuc.compiler.analysis.machine import Machine
from npuc.compiler.analysis.space import Grid, Reals, groups_of
from npuc.compiler.analysis.work import Work
from npuc.dialects.npu.nest import Loop, Nest, Schedule, Tensor

Objective = Literal["time", "traffic", "energy", "edp"]
Way: TypeAlias = tuple[int, ...]
"""Of each tensor, the number of its option."""
Values = TypeVar("Values", Grid, Reals)
AT_ONCE = 1 << 18
"""The most candidates that are priced at once."""


@dataclass(frozen=True)
class Order:
    """
    An order of the groups, and every way to hold the tensors in it.

    `options` are those of each tensor, `ways` a choice of each. `at` are the steps in question, positions in the flat
    grid, and `least` what no way is below there (score).
    """

    order: tuple[int, ...]
    options: tuple[tuple[Option, ...], ...]
    ways: tuple[Way, ...]
    at: Grid
    least: Reals

    @cached_property
    def columns(self) -> Grid:
        """The options that a way takes, numbered over all tensors: a row a way, a column a tensor."""
        starts = np.cumsum([0, *(len(own) for own in self.options)])[:-1]
        return np.array(self.ways) + starts

    @cached_property
    def matrix(self) -> Reals:
        """1 where a way takes an option: a row a way, a column an option of any tensor."""
        matrix = np.zeros((len(self.ways), sum(len(own) for own in self.options)))
        np.put_along_axis(matrix, self.columns, 1.0, axis=1)
        return matrix


@dataclass(frozen=True)
class Choice:
    """
    Candidates of one order with their prices: the numbers of their ways, and their steps (`at`).

    `score` is the estimate of what is minimised, `time` that in cycles, `bound` no more than the exact score, `moved`
    bytes, `room` elements of SPM.
    """

    order: Order
    way: Grid
    at: Grid
    score: Reals
    time: Reals
    bound: Reals
    moved: Reals
    room: Reals


class Places:
    """Steps `at`, positions in a flat grid, to read values there; `maps` are the positions in smaller arrays."""

    def __init__(self, at: Grid, shape: tuple[int, ...], maps: dict[tuple[int, ...], Grid]):
        self.at, self.shape, self.maps = at, shape, maps
        self.known: dict[tuple[int, ...], Grid] = {}

    def of(self, values: Values) -> Values:
        """The values there; an axis of size 1 holds for all of its positions."""
        found = self.known.get(values.shape)
        if found is None:
            if values.shape not in self.maps:
                numbers = np.arange(values.size).reshape(values.shape)
                self.maps[values.shape] = np.broadcast_to(numbers, self.shape).ravel()
            found = self.known[values.shape] = self.maps[values.shape][self.at]
        return values.ravel()[found]


class Prices:
    """The candidates of one nest on one machine; `widths` are bytes an element in the order of `nest.tensors`."""

    def __init__(self, nest: Nest, machine: Machine, objective: Objective, widths: tuple[int, ...], *, fine: bool):
        self.nest, self.machine, self.objective = nest, machine, objective
        self.groups = groups_of(nest, (machine.array.rows, machine.array.cols), fine=fine)
        self.shape = tuple(len(g.chain) for g in self.groups)
        self.widths = widths
        every = frozenset(nest.sizes)
        moved_by = [(t, every) for t in (*nest.ins, *nest.outs)]
        moved_by += [(s, o.dims) for o, s in zip(nest.outs, nest.starts, strict=True) if s is not None]
        self.names = [t.name for t, _ in moved_by]
        self.holders = [
            holder(replace(t, name=""), nest.dims, self.groups, among, w, _role(nest, t))
            for (t, among), w in zip(moved_by, widths, strict=True)
        ]
        self.work = Work(nest, machine.array, self.groups, widths)
        self.maps: dict[tuple[int, ...], Grid] = {}

    def places(self, at: Grid) -> Places:
        """Steps, to read values there."""
        return Places(at, self.shape, self.maps)

    def tiles(self, at: Grid) -> Reals:
        """The number of tile operations at some steps."""
        return self.places(at).of(
            np.prod(np.broadcast_arrays(np.ones((1,) * len(self.shape)), *self.work.trips), axis=0)
        )

    def schedule(self, order: Order, way: int, at: int, spm: int) -> Schedule:
        """The schedule of an order, one of its ways and the steps `at`."""
        position = np.unravel_index(at, self.shape)
        loops: list[Loop] = []
        counts: list[int] = []
        for g in order.order:
            chosen = self.groups[g].chain[int(position[g])]
            loops += chosen
            counts.append(len(chosen))
        keep: list[tuple[str, int]] = []
        for name, options, number in zip(self.names, order.options, order.ways[way], strict=True):
            end, inner = options[number].kept
            depth = sum(counts[end + 1 :]) + (min(inner, counts[end]) if end < len(counts) else 0)
            if depth:
                keep.append((name, depth))
        return Schedule(tuple(loops), tuple(keep), spm)

    def order(
        self, order: tuple[int, ...], options: Sequence[tuple[Option, ...]], ways: Sequence[Way], budget: int
    ) -> Order:
        """An order with the steps at which tensors that are held in the smallest room fit in `budget` elements."""
        room, moved, ends = (_least(options, field, self.shape) for field in ("room", "moved", "ends"))
        at = np.flatnonzero(room <= budget)
        cycles, accesses = self.work.of(order)
        place = self.places(at)
        least = self._bound(place.of(cycles), moved[at], ends[at], place.of(accesses))
        return Order(order, tuple(options), tuple(ways), at, least)

    def choices(self, order: Order, limit: float, budget: int, *, most: int | None = None) -> Iterator[Choice]:
        """
        The prices of candidates that fit in `budget` elements, with a bound of at most `limit`; at most a choice for
        each `AT_ONCE` candidates. With `most` only of so many steps, those of the least bounds.
        """
        near = np.flatnonzero(order.least <= limit)
        if most is not None and len(near) > most:
            near = near[np.argpartition(order.least[near], most)[:most]]
        at = order.at[near]
        if not len(at):
            return
        place = self.places(at)
        several = max(1, AT_ONCE // len(at))
        options = [option for own in order.options for option in own]
        room, moved, ends = (
            np.stack([place.of(values) for values in group])
            for group in ([o.room for o in options], [o.moved for o in options], [o.ends for o in options])
        )
        cycles, accesses = (place.of(values) for values in self.work.of(order.order))
        for first in range(0, len(order.ways), several):
            rows = order.matrix[first : first + several]
            own = rows @ room, rows @ moved, rows @ ends
            bound = self._bound(cycles, own[1], own[2], accesses)
            way, step = np.nonzero((own[0] <= budget) & (bound <= limit))
            if len(way):
                taken, sent, end, low = (values[way, step] for values in (*own, bound))
                way = way + first
                time = self._time(order, way, place, step, cycles[step], sent, end)
                score = self._scale(time, sent, accesses[step])
                yield Choice(order, way, at[step], score, time, low, sent, taken)

    def _time(
        self, order: Order, way: Grid, place: Places, step: Grid, cycles: Reals, moved: Reals, ends: Reals
    ) -> Reals:
        """An estimate of the time of candidates: their ways, and their steps as numbers in `place`."""
        rate = float(self.machine.bytes_per_cycle)
        if not self.machine.double_buffer:
            return cycles + moved / rate
        if self.objective != "traffic":
            ends = np.maximum(ends, self._exposed(order, way, place, step, cycles) * rate)
        return np.maximum(cycles + ends / rate, moved / rate)

    def _bound(self, cycles: Reals, moved: Reals, ends: Reals, accesses: Reals) -> Reals:
        """What no schedule with these prices is below."""
        if self.objective == "traffic":
            return moved
        rate = float(self.machine.bytes_per_cycle)
        if self.machine.double_buffer:
            time = np.maximum(cycles + ends / rate, moved / rate)
        else:
            time = cycles + moved / rate
        return self._scale(time, moved, accesses)

    def _scale(self, time: Reals, moved: Reals, accesses: Reals) -> Reals:
        """What is minimised, from times and bytes."""
        if self.objective == "time":
            return time
        if self.objective == "traffic":
            return moved
        energy = self.machine.energy
        assert energy is not None, "the search refuses a machine without energies"
        spm = accesses + moved
        joules = 1e-12 * (
            self.nest.macs * energy.mac_pj + spm * energy.spm_pj_per_byte + moved * energy.dram_pj_per_byte
        )
        return joules if self.objective == "energy" else time * joules

    def _exposed(self, order: Order, way: Grid, place: Places, step: Grid, work: Reals) -> Reals:
        """
        An estimate of the cycles in which computation waits for loads that could not start early enough.

        Each place of the order has its loads, those of the blocks that a step there changes. A load may run while the
        operations before it compute whose own loads leave it room; what is longer than that is waited for.
        """
        room, rate = self.machine.spm_bytes, float(self.machine.bytes_per_cycle)
        options = [option for own in order.options for option in own]
        which = order.columns[way].T, step
        block = np.stack([place.of(o.block) for o in options])[which]
        level = np.stack([place.of(o.level) for o in options])[which]
        finest = level.max(axis=0)
        steps: list[Reals] = [np.ones(len(work))]
        for g in order.order:
            steps.append(steps[-1] * place.of(self.work.trips[g])[step])
        stream = 1.0 + (block * (level == finest)).sum(axis=0)
        between = work / np.choose(finest, steps)
        waited = np.zeros(len(work))
        for depth in range(1, len(order.order) + 1):
            size = (block * (level >= depth)).sum(axis=0)
            hidden = np.maximum(np.floor((room - size) / stream), 0.0) * between
            waited += (steps[depth] - steps[depth - 1]) * np.maximum(size / rate - hidden, 0.0)
        return waited


def _role(nest: Nest, tensor: Tensor) -> Role:
    return "input" if tensor in nest.ins else "sum" if tensor in nest.outs else "start"


def _least(
    options: Sequence[tuple[Option, ...]], field: Literal["room", "moved", "ends"], shape: tuple[int, ...]
) -> Reals:
    """The sum over tensors of the least that any option takes, at all steps (flat)."""
    total: Reals = np.zeros(shape)
    for own in options:
        values: list[Reals] = [getattr(option, field) for option in own]
        least = values[0]
        for more in values[1:]:
            least = np.minimum(least, more)
        total = total + least
    return total.ravel()
