"""
Near ties over cores: among the partitions that score almost as little as the best, the best by the next measure.

The result is that of a search of every partition that may score so little. Most are left out by two lower bounds. A
partition whose objective may be at most `tolerance` below the best score found, but not the best by the next measure,
can only lower the score that counts as near; it is searched only where that could change the result.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from npuc.compiler.analysis.schedule.candidates import ROUNDING
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.analysis.schedule.exact_cost import ExactCost, exact_costs
from npuc.compiler.analysis.schedule.machine_space import MOST
from npuc.compiler.analysis.schedule.near_ties import NEXT, near_limit, next_measures
from npuc.compiler.analysis.schedule.over_cores.part_search import PartSearch
from npuc.compiler.analysis.schedule.over_cores.partition_bounds import PartitionBounds
from npuc.compiler.analysis.schedule.over_cores.partitions import (
    CandidatePartition,
    candidates_by_bound,
    partitions_up_to,
)
from npuc.compiler.core.errors import CapacityError
from npuc.dialects.npu.nest import Schedule

BEST = -1
"""The place of the best schedule by the objective, before those of the partitions."""


@dataclass(frozen=True)
class NearOption:
    """A schedule that may be the result, and what it costs; `place` orders equal ones."""

    schedule: Schedule
    cost: ExactCost
    place: int


class NearPartitions:
    """
    The search of near ties over cores with a `tolerance`, a fraction of the least score.

    A schedule may be `given`; with `only_given` no other one counts as the best by the objective. A result that costs
    more than `limit` is not needed: what is known to cost so much counts as found, but cannot be the result.
    """

    def __init__(
        self,
        search: PartSearch,
        tolerance: float,
        given: Schedule | None = None,
        *,
        only_given: bool = False,
        limit: float = MOST,
    ):
        self.search, self.tolerance, self.only_given, self.limit = search, tolerance, only_given, limit
        self.best_option = None if given is None else NearOption(given, self._cost(given), BEST)
        self.best_rank: tuple[float, ...] = (MOST,)
        if self.best_option is not None:
            self.best_rank = self._score(self.best_option.cost), self.best_option.cost.moved, MOST
        self.near: list[NearOption] = []
        self.least = limit if self.best_option is None else min(limit, self._score(self.best_option.cost))
        """The least score found, or the limit."""
        self.waiting: list[CandidatePartition] = []
        self.searched: set[int] = set()
        self.refusal: CapacityError | None = None
        known = search.machine.energy is not None
        measures: list[Objective] = [one for one in NEXT[search.objective] if one != "energy" or known]
        self.next_bounds = PartitionBounds(search.nest, search.machine, measures[0], search.widths)
        self.known_bounds: dict[int, float] = {}

    def best(self) -> Schedule | None:
        """The result, None where it costs more than the limit; raises `CapacityError` where nothing fits."""
        search = self.search
        kind = search.nest, search.machine, search.objective, search.widths
        for candidate in candidates_by_bound(*kind, lambda: self._near(self.least), partitions_up_to, search.least):
            if self._near(candidate.least) < self.least:
                self._search(candidate)
            else:
                self.waiting.append(candidate)
        while True:
            chosen = self._chosen() if self.near or self.best_option is not None else None
            if chosen is None and self.limit == MOST:
                assert self.refusal is not None, "the whole nest on one core is among the partitions"
                raise self.refusal
            other = self._undecided(chosen)
            if other is None:
                return None if chosen is None or self._score(chosen.cost) > self.limit else chosen.schedule
            self.waiting.remove(other)
            self._search(other)

    def _near(self, least: float) -> float:
        """The largest score that is near this one."""
        if least == MOST:
            return MOST
        exact = Fraction(least)
        return near_limit(
            Fraction(ceil(exact)) if self.search.objective == "time" else exact, self.search.objective, self.tolerance
        )

    def _search(self, candidate: CandidatePartition) -> None:
        """Search a partition as far as it may be the best; then, when it comes again, for near ties."""
        search = self.search
        if not self.only_given and candidate.number not in self.searched:
            self.searched.add(candidate.number)
            limit = self._near(self.least)
            try:
                found = search.within(candidate, limit)
            except CapacityError as e:
                self.refusal = self.refusal or e
                return
            if found is None:
                return
            schedule, candidate = found
            cost = self._cost(schedule)
            rank = self._score(cost), cost.moved, candidate.bound, candidate.number
            if self.best_option is None or rank < self.best_rank:
                self.best_option, self.best_rank = NearOption(schedule, cost, BEST), rank
                self.least = min(self.least, rank[0])
            self.waiting.append(candidate)
            return
        near = search.near(candidate, self.tolerance)
        if near is not None:
            self.near.append(NearOption(near, self._cost(near), candidate.number))
            self.least = min(self.least, self._score(self.near[-1].cost))

    def _chosen(self) -> NearOption:
        """The best option by the next measures of those near the least score."""
        options = self.near
        if self.best_option is not None and all(one.schedule != self.best_option.schedule for one in options):
            options = [self.best_option, *options]
        scores = [option.cost.reported(self.search.objective) for option in options]
        most = min(scores) * (1 + Fraction(self.tolerance))
        near = [option for option, score in zip(options, scores, strict=True) if score <= most]
        return min(near, key=lambda one: (*self._measures(one), self._score(one.cost), one.place))

    def _undecided(self, chosen: NearOption | None) -> CandidatePartition | None:
        """A partition that has to be searched before an option is the result, or none is; None if there is none."""
        limit = ROUNDING * self._near(self.least)
        self.waiting = [one for one in self.waiting if one.least <= limit]
        if not self.waiting:
            return None
        lowest = min(self.waiting, key=lambda one: one.least)
        if chosen is None:
            return lowest
        score = self._score(chosen.cost)
        if chosen.place == BEST:
            own = next((one for one in self.waiting if one.number == self.best_rank[-1]), None)
            if own is not None or lowest.least <= score:
                return own or lowest
        # Whatever the partitions that are left score, the option has to be near the least.
        if score > self._near(min(self.least, lowest.least)):
            return lowest
        first = min(self.waiting, key=self._next_bound)
        return first if self._next_bound(first) <= ROUNDING * self._measures(chosen)[0] else None

    def _next_bound(self, candidate: CandidatePartition) -> float:
        """A lower bound of the first of the next measures over the schedules of a partition."""
        if candidate.number not in self.known_bounds:
            bounds, loops = self.next_bounds, candidate.loops
            self.known_bounds[candidate.number] = max(bounds.of_elements(loops), bounds.of_busiest(loops))
        return self.known_bounds[candidate.number]

    def _cost(self, schedule: Schedule) -> ExactCost:
        return exact_costs(self.search.nest, schedule, self.search.machine, self.search.widths)

    def _score(self, cost: ExactCost) -> float:
        return cost.score(self.search.objective)

    def _measures(self, option: NearOption) -> tuple[float, ...]:
        return next_measures(option.cost, self.search.objective)
