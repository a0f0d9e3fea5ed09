"""
The cost of the candidates of a schedule search, as arrays: residency choices x tilings of all groups.

All residency choices of all loop orders are costed at once: the contribution of a tensor's residency option to a sum
(SPM bytes, what moves) is a row of numbers, one per combination of tilings. Every number is an integer below 2^53, so
that the sums are exact: widths that are fractions of a bit are counted in the parts of a bit of which they are whole
numbers, up to `MOST_PARTS`. Finer ones are the nearest floats, and sums of them are exact to 1e-12 or so.
"""

from collections.abc import Sequence
from math import inf
from typing import Literal

import numpy as np

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.stationary import carried_passes
from npuc.compiler.analysis.nest.bounds import lower_bound_bits
from npuc.compiler.analysis.nest.elements import BYTE, Bits
from npuc.compiler.analysis.schedule.grid.array_work import ArrayWork
from npuc.compiler.analysis.schedule.grid.loop_orders import ResidencyChoices
from npuc.compiler.analysis.schedule.grid.nest_tables import OptionTables, nest_tables
from npuc.compiler.analysis.schedule.grid.places import GridSteps
from npuc.compiler.analysis.schedule.grid.refetched_loads import RefetchedLoads
from npuc.compiler.analysis.schedule.grid.residency_options import ALONE, Beside
from npuc.compiler.analysis.schedule.grid.space import Grid, Order, Reals
from npuc.compiler.analysis.schedule.least_needs import Candidates
from npuc.dialects.npu.nest import Nest, Schedule

Objective = Literal["time", "traffic", "energy", "edp"]
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
        self.nest, self.machine, self.widths = nest, machine, widths
        self.objective: Objective = objective
        self.tables = nest_tables(nest, machine.array, widths, fine, rest, machine.energy is not None)
        self.every_edge = every_edge and machine.array.grouped

    @property
    def tick(self) -> float:
        """All exact times are whole multiples of so many cycles."""
        return 1 / (self.machine.channel_bits.numerator * self.widths.parts)

    @property
    def rate(self) -> float:
        """The parts of a bit that the channel carries in a cycle."""
        return float(BYTE * self.machine.bytes_per_cycle * self.tables.parts)

    @property
    def ties_by_edge(self) -> bool:
        """Whether the cycles with other edges decide between candidates of equal needs."""
        return self.every_edge and self.machine.array.edge_elements == 1

    def schedule(self, choices: ResidencyChoices, row: int, at: int) -> Schedule:
        """The schedule of a row of the residency choices at position `at` of the grid, with the machine's SPM."""
        return self.tables.schedule(choices, row, at, self.machine.spm_bytes)

    def least(self, orders: Sequence[tuple[int, ...]], budget: int, beside: Beside = ALONE) -> float:
        """
        A lower bound of the score of all candidates in `budget` bytes on a core `beside` others, by the array's work
        and what nothing hides; `inf` where none fits. It needs no residency choices, which take longer.
        """
        tables = self.tables
        outside = sum(residency.outside for residency in tables.residencies)
        once = tables.parts * lower_bound_bits(self.nest, self.machine.spm_bytes, self.widths) - outside
        moved = np.full((1,) * len(tables.shape), float(once))
        cycles, exposed, accesses = self._least_work(tuple(orders))
        for name, residency in zip(self.nest.tensors, tables.residencies, strict=True):
            final, partial = residency.once
            if name in beside.resumed:
                exposed, moved = exposed + residency.resumed, moved + partial
            if name in beside.spared:
                exposed, moved = exposed - residency.smallest[1], moved - final
        faster = float(beside.faster)
        bound = self._bound(cycles, moved / faster, exposed / faster, accesses)
        fits = np.broadcast_to(tables.smallest_room <= budget, tables.shape)
        return float(np.min(np.broadcast_to(bound, tables.shape), where=fits, initial=inf))

    def steps(self, options: OptionTables, budget: int) -> GridSteps:
        """The positions at which the residency options of the smallest footprint fit in `budget` bytes."""
        tables = self.tables
        cycles, exposed, accesses = self._least_work(options.choices.orders)
        bound = np.broadcast_to(self._bound(cycles, options.least_moved, exposed, accesses), tables.shape)
        at = np.flatnonzero(np.broadcast_to(tables.smallest_room <= budget, tables.shape))
        return GridSteps(at, bound.ravel()[at])

    def _least_work(self, orders: tuple[Order, ...]) -> tuple[Reals, Reals, Reals]:
        """
        Array cycles, exposed bits and SPM accesses, at least, at every position of the grid, over all orders and
        residency options.
        """
        tables, accesses = self.tables, np.zeros((1,) * len(self.tables.shape))
        if self.objective in ("energy", "edp"):
            accesses = tables.least_accesses(orders)
        return tables.least_cycles(orders), tables.smallest_ends, accesses

    def candidates(
        self, options: OptionTables, steps: GridSteps, limit: float, budget: int, *, most: int | None = None
    ) -> Candidates:
        """
        The candidates that fit in `budget` bytes, with a bound of at most `limit`.

        With `most` only of so many steps, those of the least bounds.
        """
        choices, tables = options.choices, self.tables
        near = np.flatnonzero(steps.lower_bound <= limit)
        if most is not None and len(near) > most:
            near = near[np.argpartition(steps.lower_bound[near], most)[:most]]
        positions = steps.at[near]
        found = options.at(positions)
        several = max(1, AT_ONCE // max(1, len(near)))
        rows: list[Grid] = []
        columns: list[Grid] = []
        costs: list[Reals] = []
        for first in range(0, len(choices.order), several):
            some = slice(first, first + several)
            which = options.works[choices.order[some]] if len(found.cycles) > 1 else slice(None)
            own = [choices.total(values, some) for values in (found.room, found.moved, found.ends)]
            bound = self._bound(found.cycles[which], own[1], own[2], found.accesses[which])
            row, step = np.nonzero((own[0] <= budget) & (bound <= limit))
            rows.append(row + first)
            columns.append(step)
            costs.append(np.stack([values[row, step] for values in (*own, bound)]))
        row, step = np.concatenate(rows), np.concatenate(columns)
        taken, sent, end, low = np.concatenate(costs, axis=1)
        work = options.works[choices.order[row]]
        worked, accessed = found.cycles[work, step], found.accesses[work, step]
        if tables.rows is not None and self.objective in ("time", "edp"):
            # The table has bounds, as what is exact takes long: those left are few.
            at = positions[step]
            worked = tables.rows.exact(at, lambda n: self.schedule(choices, int(row[n]), int(at[n])))
            low = self._bound(worked, sent, end, accessed)
            left = np.flatnonzero(low <= limit)
            row, step = row[left], step[left]
            taken, sent, end, low, worked, accessed = (
                values[left] for values in (taken, sent, end, low, worked, accessed)
            )
        time, uneven = self._time(RefetchedLoads(options, found, row, step), worked, sent, end)
        score, joules = self._scale(time, sent, accessed), self._joules(sent, accessed)
        at, joule = positions[step], [joules] if self.objective in ("energy", "edp") else []

        def on_edges(some: Grid) -> Reals:
            return tables.edges.of(choices.orders, choices.order[row[some]], at[some], tables.places)

        def needs(some: Grid) -> Reals:
            every = self.every_edge and not self.ties_by_edge
            works = on_edges(some) if every else [worked[some]]
            others = (values[some] for values in (taken, sent, end, uneven, *joule))
            return np.stack([*others, *works], dtype=np.float64)

        def floor(number: int) -> float:
            channel, known = self.machine.channel_bits * tables.parts, int(worked[number])
            last, transfer = int(end[number]) / channel, int(sent[number]) / channel
            return float(max(known + last, transfer) if self.machine.double_buffer else known + transfer)

        # Where cycles are a lower bound, only those of equal tiles compare.
        kinds = at if isinstance(tables.work, ArrayWork) and tables.work.bounds_cycles else None
        bits = sent / tables.parts
        return Candidates(row, at, score, time, low, bits, taken, joules, needs, kinds, on_edges, floor)

    def _time(self, loads: RefetchedLoads, cycles: Reals, sent: Reals, ends: Reals) -> tuple[Reals, Reals]:
        """
        An estimate of the time of candidates, each of which moves `sent` bits in all, and how uneven their loads are,
        where that matters.
        """
        rate, parts = self.rate, self.tables.parts
        if not self.machine.double_buffer:
            return cycles + sent / rate, np.zeros_like(sent)
        room, overhead = self.machine.spm_bits * parts, float(self.machine.array.op_overhead)
        waited, last, uneven = loads.exposed(cycles, overhead, room, rate, float(parts))
        # Elements that no statement touches move at any time, all others before or after the last tile.
        time = np.maximum(cycles + waited + ends / rate, (sent - self.tables.untouched) / rate + last)
        return np.maximum(time, sent / rate), uneven

    def _bound(self, cycles: Reals, moved: Reals, ends: Reals, accesses: Reals) -> Reals:
        """A lower bound of the exact score of schedules with these costs."""
        if self.objective == "traffic":
            return moved / self.tables.parts
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
            return moved / self.tables.parts
        joules = self._joules(moved, accesses)
        return joules if self.objective == "energy" else time * joules

    def _joules(self, moved: Reals, accesses: Reals) -> Reals:
        """The energy, from parts of bits; 0 where the machine does not say it."""
        energy = self.machine.energy
        if energy is None:
            return np.zeros_like(moved)
        byte = BYTE * self.tables.parts
        spm, sent = (accesses + moved) / byte, moved / byte
        macs = float(carried_passes((self.nest,), self.machine.array)) * energy.mac_pj
        return 1e-12 * (macs + spm * energy.spm_pj_per_byte + sent * energy.dram_pj_per_byte)
