"""
What candidates of a schedule search cost, as arrays: ways to hold the tensors x steps of all groups.

All ways of all orders are priced at once: what an option of a tensor adds to a sum (room, bits) is a row of numbers,
one a step. Every number is whole and below 2^53, so that the sums are exact.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Literal, TypeVar

import numpy as np

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.elements import BYTE, Bits
from npuc.compiler.analysis.schedule.array_work import ArrayWork
from npuc.compiler.analysis.schedule.loop_orders import Ways
from npuc.compiler.analysis.schedule.residency_options import Role, holder
from npuc.compiler.analysis.schedule.space import Grid, Reals, groups_of
from npuc.dialects.npu.nest import Loop, Nest, Schedule, Tensor

Objective = Literal["time", "traffic", "energy", "edp"]
Values = TypeVar("Values", Grid, Reals)
AT_ONCE = 1 << 18
"""The most candidates that are priced at once."""


@dataclass(frozen=True, eq=False)
class GridSteps:
    """
    Steps of all groups, positions in the flat grid (`at`), where what takes the least room fits.

    `moved` and `ends` are those of each option there, `least` what no way is below (score).
    """

    at: Grid
    moved: Reals
    ends: Reals
    least: Reals


@dataclass(frozen=True, eq=False)
class Candidates:
    """
    Candidates with their prices: the numbers of their ways (`row`), and their steps (`at`).

    `score` is the estimate of what is minimised, `time` that in cycles, `bound` no more than the exact score, `moved`
    bits, `room` bytes of SPM.
    """

    row: Grid
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
    """The candidates of one nest on one machine."""

    def __init__(self, nest: Nest, machine: Machine, objective: Objective, widths: Bits, *, fine: bool):
        self.nest, self.machine, self.objective = nest, machine, objective
        self.groups = groups_of(nest, (machine.array.rows, machine.array.cols), fine=fine)
        self.shape = tuple(len(g.chain) for g in self.groups)
        self.widths = widths
        every = frozenset(nest.sizes)
        moved_by = [(t, every) for t in (*nest.ins, *nest.outs)]
        moved_by += [(s, o.dims) for o, s in zip(nest.outs, nest.starts, strict=True) if s is not None]
        held, rooms = widths.with_sums(nest), widths.occupied(nest)
        self.holders = [
            holder(replace(t, name=""), nest.dims, self.groups, among, w, _role(nest, t), held[t.name], rooms[t.name])
            for (t, among), w in zip(moved_by, widths.stored, strict=True)
        ]
        self.work = ArrayWork(nest, machine.array, self.groups, widths, energy=objective in ("energy", "edp"))
        self.maps: dict[tuple[int, ...], Grid] = {}

    def places(self, at: Grid) -> Places:
        """Steps, to read values there."""
        return Places(at, self.shape, self.maps)

    def tiles(self, at: Grid) -> Reals:
        """The number of tile operations at some steps."""
        return self.places(at).of(
            np.prod(np.broadcast_arrays(np.ones((1,) * len(self.shape)), *self.work.trips), axis=0)
        )

    def schedule(self, ways: Ways, row: int, at: int) -> Schedule:
        """The schedule of one of the ways and the steps `at`, which promises the SPM of the machine."""
        position = np.unravel_index(at, self.shape)
        loops: list[Loop] = []
        counts: list[int] = []
        for g in ways.orders[int(ways.order[row])]:
            chosen = self.groups[g].chain[int(position[g])]
            loops += chosen
            counts.append(len(chosen))
        keep: list[tuple[str, int]] = []
        for name, (end, inner) in zip(self.nest.tensors, ways.kept(row), strict=True):
            depth = sum(counts[end + 1 :]) + (min(inner, counts[end]) if end < len(counts) else 0)
            if depth:
                keep.append((name, depth))
        return Schedule(tuple(loops), tuple(keep), self.machine.spm_bytes)

    def steps(self, ways: Ways, budget: int) -> GridSteps:
        """The steps at which tensors that are held in the smallest room fit in `budget` bytes."""
        ends = (*ways.starts[1:], len(ways.options))
        room: Reals = np.zeros(self.shape)
        for start, end in zip(ways.starts, ends, strict=True):
            rooms = {id(option.room): option.room for option in ways.options[start:end]}
            room = room + reduce(np.minimum, rooms.values())
        at = np.flatnonzero(room.ravel() <= budget)
        place = self.places(at)
        moved, last = (
            np.stack(_table(place, [getattr(o, field) for o in ways.options])) for field in ("moved", "ends")
        )
        cycles, accesses, _ = self._work(ways, place)
        sent, unhidden = (np.minimum.reduceat(values, ways.starts, axis=0).sum(axis=0) for values in (moved, last))
        least = self._bound(cycles.min(axis=0), sent, unhidden, accesses.min(axis=0))
        return GridSteps(at, moved, last, least)

    def candidates(
        self, ways: Ways, steps: GridSteps, limit: float, budget: int, *, most: int | None = None
    ) -> Candidates:
        """
        The candidates that fit in `budget` bytes, with a bound of at most `limit`.

        With `most` only of so many steps, those of the least bounds.
        """
        near = np.flatnonzero(steps.least <= limit)
        if most is not None and len(near) > most:
            near = near[np.argpartition(steps.least[near], most)[:most]]
        place = self.places(steps.at[near])
        room, moved, ends = (
            np.stack(_table(place, [o.room for o in ways.options])),
            steps.moved[:, near],
            steps.ends[:, near],
        )
        cycles, accesses, numbers = self._work(ways, place)
        several = max(1, AT_ONCE // max(1, len(near)))
        rows: list[Grid] = []
        columns: list[Grid] = []
        prices: list[Reals] = []
        for first in range(0, len(ways.order), several):
            some = slice(first, first + several)
            which = numbers[ways.order[some]] if len(cycles) > 1 else slice(None)
            own = [ways.total(values, some) for values in (room, moved, ends)]
            bound = self._bound(cycles[which], own[1], own[2], accesses[which])
            found, there = np.nonzero((own[0] <= budget) & (bound <= limit))
            rows.append(found + first)
            columns.append(there)
            prices.append(np.stack([values[found, there] for values in (*own, bound)]))
        row, step = np.concatenate(rows), np.concatenate(columns)
        taken, sent, end, low = np.concatenate(prices, axis=1)
        which = numbers[ways.order[row]]
        time = self._time(ways, row, place, step, cycles[which, step], sent, end, moved)
        score = self._scale(time, sent, accesses[which, step])
        return Candidates(row, place.at[step], score, time, low, sent, taken)

    def _work(self, ways: Ways, place: Places) -> tuple[Reals, Reals, Grid]:
        """Cycles and bits of the array, a row for each that differs, and the number of the row of each order."""
        works = [self.work.of(order) for order in ways.orders]
        rows = {(id(cycles), id(accesses)): (cycles, accesses) for cycles, accesses in works}
        numbers = {key: number for number, key in enumerate(rows)}
        of_orders = np.array([numbers[id(cycles), id(accesses)] for cycles, accesses in works], dtype=np.int64)
        cycles, accesses = (np.stack(_table(place, column)) for column in zip(*rows.values(), strict=True))
        return cycles, accesses, of_orders

    def _time(
        self, ways: Ways, row: Grid, place: Places, step: Grid, cycles: Reals, sent: Reals, ends: Reals, moved: Reals
    ) -> Reals:
        """
        An estimate of the time of candidates: their ways, and their steps as numbers in `place`.

        Each moves `sent` bits in all; `moved` are those of each option at each step.
        """
        rate = float(BYTE * self.machine.bytes_per_cycle)
        if not self.machine.double_buffer:
            return cycles + sent / rate
        if self.objective == "traffic":
            return np.maximum(cycles + ends / rate, sent / rate)
        waited, last = self._exposed(ways, row, place, step, cycles, moved)
        # What no statement touches moves at any time, all else before the last tile or behind it.
        spare = sum(holder.spare for holder in self.holders)
        return np.maximum(np.maximum(cycles + waited + ends / rate, (sent - spare) / rate + last), sent / rate)

    def _exposed(
        self, ways: Ways, row: Grid, place: Places, step: Grid, work: Reals, moved: Reals
    ) -> tuple[Reals, Reals]:
        """
        An estimate of the cycles in which computation waits for loads that could not start early enough, and of those
        that follow the last load.

        Each place of the order has its loads, those of the blocks that a step there changes: of each tensor what its
        visits move on the average. A load may run while the operations before it compute whose own loads leave it room;
        what is longer than that is waited for.
        """
        room, rate = self.machine.spm_bits, float(BYTE * self.machine.bytes_per_cycle)
        options = ways.columns[row].T
        level = np.stack(_table(place, [option.level for option in ways.options]))[options, step]
        finest = level.max(axis=0)
        trips = np.stack(_table(place, self.work.trips))[np.array(ways.orders, dtype=np.int64)]
        # Of each order the steps down to each of its places.
        down = np.cumprod(np.concatenate([np.ones_like(trips[:, :1]), trips], axis=1), axis=1)
        steps = down[ways.order[row], :, step].T
        spare = np.array([option.spare for option in ways.options], dtype=np.float64)[options]
        block = (moved[options, step] - spare) / np.take_along_axis(steps, level, axis=0)
        stream = 1.0 + (block * (level == finest)).sum(axis=0)
        overhead = float(self.machine.array.op_overhead)
        between = (work - overhead) / steps[finest, np.arange(len(work))]
        waited = np.zeros(len(work))
        for depth in range(1, len(self.groups) + 1):
            size = (block * (level >= depth)).sum(axis=0)
            hidden = np.maximum(np.floor((room - size) / stream), 0.0) * between
            waited += (steps[depth] - steps[depth - 1]) * np.maximum(size / rate - hidden, 0.0)
        return waited, between + overhead

    def _bound(self, cycles: Reals, moved: Reals, ends: Reals, accesses: Reals) -> Reals:
        """What no schedule with these prices is below."""
        if self.objective == "traffic":
            return moved
        rate = float(BYTE * self.machine.bytes_per_cycle)
        if self.machine.double_buffer:
            time = np.maximum(cycles + ends / rate, moved / rate)
        else:
            time = cycles + moved / rate
        return self._scale(time, moved, accesses)

    def _scale(self, time: Reals, moved: Reals, accesses: Reals) -> Reals:
        """What is minimised, from times and bits."""
        if self.objective == "time":
            return time
        if self.objective == "traffic":
            return moved
        energy = self.machine.energy
        assert energy is not None, "the search refuses a machine without energies"
        spm, sent = (accesses + moved) / BYTE, moved / BYTE
        joules = 1e-12 * (
            self.nest.macs * energy.mac_pj + spm * energy.spm_pj_per_byte + sent * energy.dram_pj_per_byte
        )
        return joules if self.objective == "energy" else time * joules


def _role(nest: Nest, tensor: Tensor) -> Role:
    return "input" if tensor in nest.ins else "sum" if tensor in nest.outs else "start"


def _table(place: Places, values: Sequence[Values]) -> list[Values]:
    """Arrays over the grid at some steps: a row each; equal ones are read once."""
    known: dict[int, Values] = {}
    for one in values:
        if id(one) not in known:
            known[id(one)] = place.of(one)
    return [known[id(one)] for one in values]
