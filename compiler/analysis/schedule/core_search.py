"""
The search of a nest's schedule on one core.

It takes the best of the coarse candidates (`candidates.py`), in which no dimension is tiled twice, and if that is not
near the lower bound the best of the fine candidates. Where traffic dominates, the schedule of the least traffic
(`least_traffic.py`) is tried as well.

What is tried on a machine is tried on one with more SPM, a faster channel or a wider edge as well, so that more is not
worse: the candidates that are timed are chosen by what they need, not by the machine (`candidates.py`).
"""

from collections.abc import Iterator
from functools import lru_cache

from npuc.compiler.analysis.machine.compute import compute, cycles_lower_bound
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.bounds import lower_bound_bits
from npuc.compiler.analysis.nest.elements import BYTE, Bits, footprint_bytes
from npuc.compiler.analysis.schedule.candidates import FoundSchedule, best_candidate, near_candidates
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.analysis.schedule.exact_cost import ExactCost, exact_cost, exact_costs
from npuc.compiler.analysis.schedule.floors.plain import least_cost
from npuc.compiler.analysis.schedule.grid.array_work import is_searched_edge, narrower_edge, times_every_edge
from npuc.compiler.analysis.schedule.least_traffic import least_traffic
from npuc.compiler.analysis.schedule.machine_space import MOST
from npuc.compiler.analysis.schedule.monotone import Tilings, best_within, monotone_results
from npuc.compiler.analysis.schedule.near_ties import beating, best_of, near_limit
from npuc.compiler.core.errors import CapacityError
from npuc.dialects.npu.nest import Loop, Nest, Schedule

NEAR = 1.1
"""
Coarse candidates within this factor of the lower bound are taken for a large nest; otherwise fine ones are tried too.
"""
SMALL_NEST = 1 << 22
"""Up to so many MACs a nest is small, and its fine candidates are always tried."""
BOUND_BY_MEMORY = 0.9
"""The share of the time taken by transfers from which on the least traffic is tried."""


@lru_cache(maxsize=4096)
def least_on_core(nest: Nest, machine: Machine, objective: Objective, widths: Bits, order: tuple[str, ...]) -> Schedule:
    """The best schedule on one core by the objective alone, no slower than with a narrower edge of the array."""
    narrower = None if objective in ("traffic", "energy") else narrower_edge(machine)
    if narrower is None:
        return best_on_core(nest, machine, objective, widths, order)
    # The search is heuristic: a wider edge makes no schedule slower, and must not make the result slower either.
    found = least_on_core(nest, narrower, objective, widths, order)
    if is_searched_edge(machine.array):
        own = best_on_core(nest, machine, objective, widths, order)
        found = min(own, found, key=lambda schedule: exact_cost(nest, schedule, machine, objective, widths))
    return found


@lru_cache(maxsize=4096)
def near_on_core(
    nest: Nest,
    machine: Machine,
    objective: Objective,
    widths: Bits,
    order: tuple[str, ...],
    tolerance: float,
    *,
    monotone: bool = False,
) -> Schedule:
    """
    The best schedule on one core by the next measure among those near the best score.

    With `monotone` the score is at most `1 + tolerance` times that of a monotone search without tolerance, exactly.
    """
    search = core_search(nest, machine, objective, widths, order, False)

    def cost(schedule: Schedule) -> ExactCost:
        return exact_costs(nest, schedule, machine, widths)

    def near(best: Schedule) -> Schedule:
        most = near_limit(cost(best).reported(objective), objective, tolerance)
        found: list[Schedule] = []
        for fine in (False, True):
            found = found or list(
                near_candidates(nest, machine, objective, widths, order, most, fine=fine, every_edge=search.every_edge)
            )
        return best_of([best, *found], cost, objective, tolerance)

    chosen = near(least_on_core(nest, machine, objective, widths, order))
    if not monotone:
        return chosen
    # The search was quick: what is so much better that this is not near it has to be looked for.
    limit = beating(cost(chosen), objective, tolerance)
    better = monotone_on_core_within(nest, machine, objective, widths, order, limit)
    return chosen if better is None else near(better)


def monotone_on_core_within(
    nest: Nest, machine: Machine, objective: Objective, widths: Bits, order: tuple[str, ...], limit: float
) -> Schedule | None:
    """The best schedule of a monotone search, without what a quick one has tried; None where it costs above `limit`."""
    tried = core_search(nest, machine, objective, widths, order, False).without(limit)
    found = best_within(monotone_results(nest, machine, objective, widths, order, limit=limit, tried=tried), limit)
    return None if found is None else found.schedule


def best_on_core(
    nest: Nest,
    machine: Machine,
    objective: Objective,
    widths: Bits,
    order: tuple[str, ...],
    *,
    monotone: bool = False,
) -> Schedule:
    """
    The best schedule on one core with the machine's own edge.

    Raises `CapacityError` where not even the smallest tiles fit.
    """
    found = core_search(nest, machine, objective, widths, order, monotone).within(MOST)
    if found is not None:
        return found.schedule
    raise CapacityError(
        f"the smallest tiles need {footprint_bytes(nest, finest(nest), widths):,} bytes of SPM "
        f"({len(nest.tensors)} blocks), a schedule may use {machine.spm_bytes:,}"
    )


def finest(nest: Nest) -> Schedule:
    """The schedule whose blocks are the smallest."""
    return Schedule(tuple(Loop(dim, 1) for dim in nest.sizes))


class CoreSearch:
    """A search on one core, as far as it was needed. `monotone`: as thorough as `monotone.py` says."""

    def __init__(
        self, nest: Nest, machine: Machine, objective: Objective, widths: Bits, order: tuple[str, ...], monotone: bool
    ):
        self.nest, self.machine, self.widths, self.order = nest, machine, widths, order
        self.objective: Objective = objective
        self.monotone = monotone
        self._best: FoundSchedule | None = None
        self._above = float("-inf")
        # So that a monotone search takes the same candidates.
        self.every_edge = times_every_edge(machine.array)
        self._has_tried_fine = False

    def within(self, limit: float) -> FoundSchedule | None:
        """
        The best schedule if it costs at most `limit`; otherwise None, mostly at less effort than to find it.

        A limit changes nothing else: it is the schedule that a search without limit finds.
        """
        if self._best is None and limit > self._above:
            found = self._found(limit)
            if found is None or found.score > limit:
                self._above = limit
            else:
                self._best = found
        return None if self._best is None or self._best.score > limit else self._best

    def without(self, score: float) -> tuple[Tilings, ...]:
        """The tilings of which a monotone search would find no schedule of at most this score, as far as is known."""
        known = score <= self._above if self._best is None else score < self._best.score
        if not known or not self.every_edge:
            return ()
        return ("coarse", "fine") if self._has_tried_fine else ("coarse",)

    def _found(self, limit: float) -> FoundSchedule | None:
        """
        The best of the best coarse candidate, the best fine one and the least traffic, as far as each may be the best;
        None, or one above `limit`, where all that may be the result cost more.
        """
        if self.monotone:
            return best_within(monotone_results(self.nest, self.machine, self.objective, self.widths, self.order))
        search = self.nest, self.machine, self.objective, self.widths, self.order
        near = 1.0 if self.objective == "traffic" or self.nest.macs <= SMALL_NEST else NEAR
        # A coarse candidate may cost more than `limit`, and yet be the result.
        enough = near * self._lower_bound()
        coarse = best_candidate(*search, fine=False, limit=max(limit, enough), every_edge=self.every_edge)
        if coarse is not None and coarse.score <= enough:
            return coarse
        # Fine candidates only where they can beat the coarse ones.
        most = limit if coarse is None else min(limit, coarse.score)
        fine = best_candidate(*search, fine=True, limit=most, every_edge=self.every_edge)
        self._has_tried_fine = True
        best = best_within(found for found in (coarse, fine) if found is not None)
        if limit < MOST and (best is None or best.score > limit):
            return self._found(MOST) if self._may_move_less(limit) else None
        return best_within(self._least_traffic(best) if best is None else (best, *self._least_traffic(best)))

    def _least_traffic(self, best: FoundSchedule | None) -> Iterator[FoundSchedule]:
        """Schedules of less traffic than the best so far, where that may help, in tiles of any size and the array's."""
        machine, objective = self.machine, self.objective
        if not self._has_least_traffic or (
            objective == "time"
            and best is not None
            and best.moved < BOUND_BY_MEMORY * BYTE * machine.bytes_per_cycle * best.score
        ):
            return
        limit = MOST if best is None else best.moved
        for schedule in self._moving_less(limit, 1 if objective == "traffic" else 2):
            # With very small tiles computation alone may take longer, and such schedules take long to time.
            if (
                objective == "time"
                and best is not None
                and (
                    compute(self.nest, schedule, machine.array).cycles >= best.score
                    # Of equal scores that with less traffic wins, so that a bound leaves out what exceeds it.
                    or least_cost(self.nest, schedule, machine, objective, self.widths, best.score) > best.score
                )
            ):
                continue
            yield FoundSchedule(schedule, *exact_cost(self.nest, schedule, machine, objective, self.widths))

    def _may_move_less(self, limit: float) -> bool:
        """Whether a schedule of the least traffic costs at most `limit`, where no candidate does."""
        if not self._has_least_traffic:
            return False
        if self.objective != "time":
            return True
        machine = self.machine
        return any(
            compute(self.nest, schedule, machine.array).cycles <= limit
            and exact_cost(self.nest, schedule, machine, self.objective, self.widths)[0] <= limit
            for schedule in self._moving_less(BYTE * float(machine.bytes_per_cycle) * limit, 2)
        )

    @property
    def _has_least_traffic(self) -> bool:
        """Whether schedules of the least traffic are results."""
        return not self.order and self.machine.policy != "lru" and self.objective != "edp"

    def _moving_less(self, limit: float, kinds: int) -> Iterator[Schedule]:
        """Schedules of the least traffic below `limit` bits: in tiles of any size, and in those of the array."""
        array = self.machine.array
        for least in (1, max(array.rows, array.cols))[:kinds]:
            schedule = least_traffic(self.nest, self.machine.spm_bytes, self.widths, limit, least)
            if schedule is not None:
                yield schedule

    def _lower_bound(self) -> float:
        """A lower bound of the objective over all schedules; 0 where none is known."""
        nest, machine = self.nest, self.machine
        if self.objective not in ("time", "traffic"):
            return 0.0
        least = lower_bound_bits(nest, machine.spm_bytes, self.widths)
        if self.objective == "traffic":
            return float(least)
        return max(float(cycles_lower_bound((nest,), machine.array)), float(least / (BYTE * machine.bytes_per_cycle)))


@lru_cache(maxsize=4096)
def core_search(
    nest: Nest, machine: Machine, objective: Objective, widths: Bits, order: tuple[str, ...], monotone: bool
) -> CoreSearch:
    """The search of a nest on one core, with what it has found so far."""
    return CoreSearch(nest, machine, objective, widths, order, monotone)
