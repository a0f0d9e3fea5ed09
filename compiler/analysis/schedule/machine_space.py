"""The candidates of a nest on one machine, with what is known of their costs."""

from functools import cached_property, lru_cache
from math import ceil
from sys import float_info
from typing import Protocol

import numpy as np

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.elements import Bits
from npuc.compiler.analysis.schedule.costs import CandidateCosts, Objective
from npuc.compiler.analysis.schedule.exact_cost import exact_cost
from npuc.compiler.analysis.schedule.floors.last_tile import cycles_with, last_cycles, once
from npuc.compiler.analysis.schedule.grid.loop_orders import loop_orders
from npuc.compiler.analysis.schedule.grid.nest_tables import OptionTables
from npuc.compiler.analysis.schedule.grid.places import GridSteps
from npuc.compiler.analysis.schedule.grid.residency_options import ALONE, Beside
from npuc.compiler.analysis.schedule.least_needs import Candidates
from npuc.dialects.npu.nest import Nest, Schedule

WITH_NEAR = 1.005
"""Candidates with a bound above what is asked for by up to this factor are costed with them."""
MOST = float_info.max


class Price(Protocol):
    """
    What decides about the times of schedules of a nest, which may be part of what is priced.

    No schedule of the nest takes longer by itself than its price.
    """

    @property
    def counts_rest(self) -> bool:
        """Whether elements of the nest's outputs that no statement touches count."""
        ...

    def of(self, schedule: Schedule, limit: float) -> tuple[float, float]:
        """The time with a schedule of the nest, and the bits that move; above `limit` a lower bound of the time."""
        ...


class Space:
    """The candidates of a nest, and those that were costed last."""

    def __init__(self, costs: CandidateCosts, order: tuple[str, ...]):
        self.costs, self.order, self.budget = costs, order, costs.machine.spm_bytes
        self._known: tuple[float, Candidates] | None = None
        self._priced: dict[tuple[int, int], tuple[Schedule, float, float]] = {}

    @cached_property
    def least(self) -> float:
        """A lower bound of the score of all candidates; `inf` where none fits."""
        return self.least_beside(ALONE)

    def least_beside(self, beside: Beside) -> float:
        """The bound for a core beside others."""
        tables = self.costs.tables
        orders = loop_orders(tables.nest, tables.groups, tables.residencies, self.order)
        return self.costs.least(orders, self.budget, beside)

    @cached_property
    def options(self) -> OptionTables:
        """The residency choices in all loop orders, and what they cost."""
        return self.costs.tables.options(self.order)

    @cached_property
    def steps(self) -> GridSteps:
        """The positions of the grid where candidates may fit."""
        return self.costs.steps(self.options, self.budget)

    def priced(
        self, found: Candidates, number: int, price: Price | None, limit: float
    ) -> tuple[Schedule, float, float]:
        """A candidate, its exact score, and the bits that move; of a price above `limit` a lower bound."""
        if price is not None:
            schedule = self.schedule(found, number)
            return schedule, *price.of(schedule, limit)
        return self._priced_at(int(found.row[number]), int(found.at[number]))

    def _priced_at(self, row: int, at: int) -> tuple[Schedule, float, float]:
        costs, key = self.costs, (row, at)
        if key not in self._priced:
            schedule = costs.schedule(self.options.choices, row, at)
            cost = exact_cost(costs.nest, schedule, costs.machine, costs.objective, costs.widths)
            self._priced[key] = schedule, *cost
        return self._priced[key]

    def best_before(self) -> float | None:
        """The exact score of what a search with another SPM or channel has found last; None where it does not fit."""
        place = self.options.best.get(self.costs.objective)
        if place is None:
            return None
        row, at = place
        room = self.options.at(np.array([at])).room[self.options.choices.columns[row], 0].sum()
        return self._priced_at(row, at)[1] if room <= self.budget else None

    def remember(self, found: Candidates, number: int) -> None:
        """Note the best candidate, which may be good with another SPM or channel, too."""
        self.options.best[self.costs.objective] = int(found.row[number]), int(found.at[number])

    def schedule(self, found: Candidates, number: int) -> Schedule:
        """The schedule of a candidate."""
        return self.costs.schedule(self.options.choices, int(found.row[number]), int(found.at[number]))

    def ending(self, found: Candidates, number: int) -> float:
        """The least time of a candidate by its loads and its last tile operation, which takes longer than its floor."""
        costs, machine, tables = self.costs, self.costs.machine, self.costs.tables
        if not machine.double_buffer:
            return 0.0
        cycles = last_cycles(costs.nest, self.schedule(found, number), machine.array) + once(machine.array)
        return cycles_with(cycles, int(found.moved[number]) - ceil(tables.untouched / tables.parts), machine)

    def candidates(self, most: float, *, probed: int | None = None) -> Candidates:
        """The candidates with a bound of at most `most`, or more; of so many positions if they are `probed`."""
        if probed is not None:
            return self.costs.candidates(self.options, self.steps, most, self.budget, most=probed)
        if self._known is None or self._known[0] < most:
            # What is asked for next are those near the best.
            most = min(WITH_NEAR * most, MOST)
            self._known = most, self.costs.candidates(self.options, self.steps, most, self.budget)
        return self._known[1]


@lru_cache(maxsize=32)
def space_of(
    nest: Nest,
    machine: Machine,
    objective: Objective,
    widths: Bits,
    order: tuple[str, ...],
    fine: bool,
    every_edge: bool,
    rest: bool,
) -> Space:
    """The candidates of a nest that may fit, before any is costed."""
    costs = CandidateCosts(nest, machine, objective, widths, fine=fine, every_edge=every_edge, rest=rest)
    return Space(costs, order)
