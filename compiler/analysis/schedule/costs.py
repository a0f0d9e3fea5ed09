"""
The cost of the candidates of a schedule search, as arrays: residency choices x tilings of all groups.

All residency choices of all loop orders are costed at once: the contribution of a tensor's residency option to a sum
(SPM bytes, what moves) is a row of numbers, one per combination of tilings. Every number is an integer below 2^53, so
that the sums are exact: widths that are fractions of a bit are counted in the parts of a bit of which they are whole
numbers, up to `MOST_PARTS`. Finer ones are the nearest floats, and sums of them are exact to 1e-12 or so.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, reduce
from math import inf
from operator import add
from typing import Literal

import numpy as np

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.stationary import carried_passes
from npuc.compiler.analysis.nest.bounds import lower_bound_bits
from npuc.compiler.analysis.nest.elements import BYTE, Bits
from npuc.compiler.analysis.schedule.array_work import ArrayWork, EveryEdge, array_work, every_edge
from npuc.compiler.analysis.schedule.grid_places import GridSteps, Places, least_of, values_at
from npuc.compiler.analysis.schedule.least_needs import Candidates
from npuc.compiler.analysis.schedule.loop_orders import RefetchedLoads, ResidencyChoices
from npuc.compiler.analysis.schedule.residency_options import ALONE, Beside, Role, residency_options
from npuc.compiler.analysis.schedule.row_work import RowWork, row_work
from npuc.compiler.analysis.schedule.space import Grid, Reals, groups_of
from npuc.dialects.npu.nest import Loop, Nest, Schedule, Tensor

Objective = Literal["time", "traffic", "energy", "edp"]
MOST_PARTS = 1 << 20
"""The most parts of a bit that are counted: what a nest moves, some 2^30 bits, stays below 2^53 of them."""
AT_ONCE = 1 << 18
"""The largest number of candidates that are costed at once."""


class CandidateCosts:
    """
    Costs the candidates of one nest on one machine.

    With `every_edge` their needs are the array's cycles with each edge that a search distinguishes, not its own alone,
    but for the narrowest edge, with which the cycles of others only decide between equal needs. Without `rest` what no
    statement touches of an output does not count.
    """

    def __init__(
        self,
        nest: Nest,
        machine: Machine,
        objective: Objective,
        widths: Bits,
        *,
        fine: bool,
        every_edge: bool = False,
        rest: bool = True,
    ):
        self.nest, self.machine = nest, machine
        self.objective: Objective = objective
        self.groups = groups_of(nest, (machine.array.rows, machine.array.cols), fine=fine)
        self.shape = tuple(len(g.tilings) for g in self.groups)
        self.widths = widths
        every = frozenset(nest.sizes)
        moved_by = [(t, every) for t in (*nest.ins, *nest.outs)]
        moved_by += [(s, o.dims) for o, s in zip(nest.outs, nest.starts, strict=True) if s is not None]
        self.parts = widths.parts if widths.parts <= MOST_PARTS else 1
        self.counted = counted = widths.times(self.parts)
        held, rooms = counted.with_sums(nest), widths.occupied(nest)
        self.residencies = [
            residency_options(
                replace(t, name=""), nest.dims, self.groups, among, w, _role(nest, t), held[t.name], rooms[t.name], rest
            )
            for (t, among), w in zip(moved_by, counted.stored, strict=True)
        ]
        if machine.array.row_stationary is None:
            energy = machine.energy is not None
            self.work = array_work(nest, machine.array, self.groups, counted, energy=energy)
        else:
            self.work = row_work(nest, machine.array, self.groups, counted)
        self.maps: dict[tuple[int, ...], Grid] = {}
        self.every_edge = every_edge and machine.array.grouped

    @cached_property
    def edges(self) -> EveryEdge:
        """The array's cycles with each edge that a search distinguishes."""
        work = self.work
        assert isinstance(work, ArrayWork), "only arrays whose folds form groups wait at their edge"
        return every_edge(self.nest, self.machine.array, self.groups, work)

    @cached_property
    def untouched(self) -> float:
        """The parts of bits of elements that no statement touches, which move at any time."""
        return sum(residency.untouched for residency in self.residencies)

    @property
    def tick(self) -> float:
        """All exact times are whole multiples of so many cycles."""
        return 1 / (self.machine.channel_bits.numerator * self.widths.parts)

    @property
    def rate(self) -> float:
        """The parts of a bit that the channel carries in a cycle."""
        return float(BYTE * self.machine.bytes_per_cycle * self.parts)

    @property
    def ties_by_edge(self) -> bool:
        """Whether the cycles with other edges decide between candidates of equal needs."""
        return self.every_edge and self.machine.array.edge_elements == 1

    def places(self, at: Grid) -> Places:
        """The positions `at` of the grid, to read values there."""
        return Places(at, self.shape, self.maps)

    def schedule(self, choices: ResidencyChoices, row: int, at: int) -> Schedule:
        """The schedule of a row of the residency choices at position `at`; it promises the machine's SPM."""
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
        return Schedule(tuple(loops), tuple(keep), self.machine.spm_bytes)

    def least(self, orders: Sequence[tuple[int, ...]], budget: int, beside: Beside = ALONE) -> float:
        """
        A lower bound of the score of all candidates in `budget` bytes on a core `beside` others, by the array's work
        and what nothing hides; `inf` where none fits. It needs no residency choices, which take longer.
        """
        fits = self._smallest_room() <= budget
        outside = sum(residency.outside for residency in self.residencies)
        once = self.parts * lower_bound_bits(self.nest, self.machine.spm_bytes, self.widths) - outside
        moved = np.full((1,) * len(self.shape), float(once))
        cycles, moved, exposed, accesses = self._least_work(orders, moved)
        for name, residency in zip(self.nest.tensors, self.residencies, strict=True):
            final, partial = residency.once
            if name in beside.resumed:
                exposed, moved = exposed + residency.resumed, moved + partial
            if name in beside.spared:
                exposed, moved = exposed - residency.smallest[1], moved - final
        faster = float(beside.faster)
        bound = self._bound(cycles, moved / faster, exposed / faster, accesses)
        return float(np.min(np.broadcast_to(bound, self.shape), where=np.broadcast_to(fits, self.shape), initial=inf))

    def steps(self, choices: ResidencyChoices, budget: int) -> GridSteps:
        """The positions at which the residency options of the smallest footprint fit in `budget` bytes."""
        moved: Reals = np.zeros((1,) * len(self.shape))
        for start, end in zip(choices.starts, (*choices.starts[1:], len(choices.options)), strict=True):
            traffics = {id(option.traffic): option.traffic for option in choices.options[start:end]}
            moved = moved + reduce(np.minimum, traffics.values())
        bound = np.broadcast_to(self._bound(*self._least_work(choices.orders, moved)), self.shape)
        at = np.flatnonzero(np.broadcast_to(self._smallest_room() <= budget, self.shape))
        return GridSteps(at, bound.ravel()[at])

    def _smallest_room(self) -> Reals:
        """The bytes of SPM of the smallest blocks of all tensors, at every position of the grid."""
        return reduce(add, (residency.smallest[0] for residency in self.residencies))

    def _least_work(self, orders: Sequence[tuple[int, ...]], moved: Reals) -> tuple[Reals, Reals, Reals, Reals]:
        """
        The arguments of `_bound` at every position of the grid, over all orders and residency options: array cycles,
        the bits `moved`, exposed bits and SPM accesses.
        """
        cycles, accesses = least_of([self.work.least(order) for order in orders]), np.zeros((1,) * len(self.shape))
        if self.objective in ("energy", "edp"):
            accesses = least_of([self.work.of(order)[1] for order in orders])
        exposed = reduce(add, (residency.smallest[1] for residency in self.residencies))
        return cycles, moved, exposed, accesses

    def candidates(
        self, choices: ResidencyChoices, steps: GridSteps, limit: float, budget: int, *, most: int | None = None
    ) -> Candidates:
        """
        The candidates that fit in `budget` bytes, with a bound of at most `limit`.

        With `most` only of so many steps, those of the least bounds.
        """
        near = np.flatnonzero(steps.lower_bound <= limit)
        if most is not None and len(near) > most:
            near = near[np.argpartition(steps.lower_bound[near], most)[:most]]
        place = self.places(steps.at[near])
        of_options = zip(*((option.room, option.traffic, option.exposed) for option in choices.options), strict=True)
        room, moved, ends = (np.stack(values_at(place, values)) for values in of_options)
        cycles, accesses, numbers = self._work(self.work, choices, place)
        several = max(1, AT_ONCE // max(1, len(near)))
        rows: list[Grid] = []
        columns: list[Grid] = []
        costs: list[Reals] = []
        for first in range(0, len(choices.order), several):
            some = slice(first, first + several)
            which = numbers[choices.order[some]] if len(cycles) > 1 else slice(None)
            own = [choices.total(values, some) for values in (room, moved, ends)]
            bound = self._bound(cycles[which], own[1], own[2], accesses[which])
            found, there = np.nonzero((own[0] <= budget) & (bound <= limit))
            rows.append(found + first)
            columns.append(there)
            costs.append(np.stack([values[found, there] for values in (*own, bound)]))
        row, step = np.concatenate(rows), np.concatenate(columns)
        taken, sent, end, low = np.concatenate(costs, axis=1)
        worked, accessed = (values[numbers[choices.order[row]], step] for values in (cycles, accesses))
        if isinstance(self.work, RowWork) and self.objective in ("time", "edp"):
            # The table has bounds, as what is exact takes long: those left are few.
            at = place.at[step]
            worked = self.work.exact(at, lambda n: self.schedule(choices, int(row[n]), int(at[n])))
            low = self._bound(worked, sent, end, accessed)
            left = np.flatnonzero(low <= limit)
            row, step = row[left], step[left]
            taken, sent, end, low, worked, accessed = (
                values[left] for values in (taken, sent, end, low, worked, accessed)
            )
        time, uneven = self._time(choices, row, place, step, worked, sent, end, moved)
        score, joules = self._scale(time, sent, accessed), self._joules(sent, accessed)
        at, joule = place.at[step], [joules] if self.objective in ("energy", "edp") else []

        def on_edges(some: Grid) -> Reals:
            return self.edges.of(choices.orders, choices.order[row[some]], at[some], self.places)

        def needs(some: Grid) -> Reals:
            every = self.every_edge and not self.ties_by_edge
            works = on_edges(some) if every else [worked[some]]
            others = (values[some] for values in (taken, sent, end, uneven, *joule))
            return np.stack([*others, *works], dtype=np.float64)

        def floor(number: int) -> float:
            channel, known = self.machine.channel_bits * self.parts, int(worked[number])
            last, transfer = int(end[number]) / channel, int(sent[number]) / channel
            return float(max(known + last, transfer) if self.machine.double_buffer else known + transfer)

        # Where cycles are a lower bound, only those of equal tiles compare.
        kinds = at if isinstance(self.work, ArrayWork) and self.work.bounds_cycles else None
        bits = sent / self.parts
        return Candidates(row, at, score, time, low, bits, taken, joules, needs, kinds, on_edges, floor)

    def _work(self, work: ArrayWork | RowWork, choices: ResidencyChoices, place: Places) -> tuple[Reals, Reals, Grid]:
        """
        Array cycles and SPM accesses in bits, a row for each distinct pair, and the row number of each loop order.
        """
        works = [work.of(order) for order in choices.orders]
        rows = {(id(cycles), id(accesses)): (cycles, accesses) for cycles, accesses in works}
        numbers = {key: number for number, key in enumerate(rows)}
        of_orders = np.array([numbers[id(cycles), id(accesses)] for cycles, accesses in works], dtype=np.int64)
        cycles, accesses = (np.stack(values_at(place, column)) for column in zip(*rows.values(), strict=True))
        return cycles, accesses, of_orders

    def _time(
        self,
        choices: ResidencyChoices,
        row: Grid,
        place: Places,
        step: Grid,
        cycles: Reals,
        sent: Reals,
        ends: Reals,
        moved: Reals,
    ) -> tuple[Reals, Reals]:
        """
        An estimate of the time of candidates, given their rows and their positions as numbers into `place`, and how
        uneven their loads are, where that matters.

        Each candidate moves `sent` bits in all; `moved` is the traffic of each residency option at each position.
        """
        rate = self.rate
        if not self.machine.double_buffer:
            return cycles + sent / rate, np.zeros_like(sent)
        room, overhead = self.machine.spm_bits * self.parts, float(self.machine.array.op_overhead)
        loads = RefetchedLoads(choices, row, place, step, self.work.trips, moved)
        waited, last, uneven = loads.exposed(cycles, overhead, room, rate, float(self.parts))
        # Elements that no statement touches move at any time, all others before or after the last tile.
        time = np.maximum(cycles + waited + ends / rate, (sent - self.untouched) / rate + last)
        return np.maximum(time, sent / rate), uneven

    def _bound(self, cycles: Reals, moved: Reals, ends: Reals, accesses: Reals) -> Reals:
        """A lower bound of the exact score of schedules with these costs."""
        if self.objective == "traffic":
            return moved / self.parts
        rate = self.rate
        if self.machine.double_buffer:
            time = np.maximum(cycles + ends / rate, moved / rate)
        else:
            time = cycles + moved / rate
        return self._scale(time, moved, accesses)

    def _scale(self, time: Reals, moved: Reals, accesses: Reals) -> Reals:
        """The objective, from cycles and parts of bits."""
        if self.objective == "time":
            return time
        if self.objective == "traffic":
            return moved / self.parts
        joules = self._joules(moved, accesses)
        return joules if self.objective == "energy" else time * joules

    def _joules(self, moved: Reals, accesses: Reals) -> Reals:
        """The energy, from parts of bits; 0 where the machine does not say it."""
        energy = self.machine.energy
        if energy is None:
            return np.zeros_like(moved)
        byte = BYTE * self.parts
        spm, sent = (accesses + moved) / byte, moved / byte
        macs = float(carried_passes((self.nest,), self.machine.array)) * energy.mac_pj
        return 1e-12 * (macs + spm * energy.spm_pj_per_byte + sent * energy.dram_pj_per_byte)


def _role(nest: Nest, tensor: Tensor) -> Role:
    return "input" if tensor in nest.ins else "sum" if tensor in nest.outs else "start"
