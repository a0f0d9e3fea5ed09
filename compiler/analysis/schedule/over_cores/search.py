"""
The search of a nest's schedule on a machine of several cores.

A nest is partitioned along one dimension of a group or along two, and the first part, the largest, is searched on a
core with its share of the DRAM channel (`core_search.py`). A nest may also use fewer cores, down to one. Partitions are
tried in the order of their lower bounds, until the bound exceeds the best score found, and a part is searched only as
far as it may be within that score. So few of many parts are searched to the end.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.elements import Bits
from npuc.compiler.analysis.schedule.candidates import FoundSchedule
from npuc.compiler.analysis.schedule.core_search import best_on_core
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.analysis.schedule.exact_cost import exact_cost, exact_costs
from npuc.compiler.analysis.schedule.grid.array_work import is_searched_edge, narrower_edge
from npuc.compiler.analysis.schedule.machine_space import MOST
from npuc.compiler.analysis.schedule.monotone import monotone_results
from npuc.compiler.analysis.schedule.near_ties import beating
from npuc.compiler.analysis.schedule.over_cores.near_partitions import NearPartitions
from npuc.compiler.analysis.schedule.over_cores.part_search import PartSearch
from npuc.compiler.analysis.schedule.over_cores.partitions import (
    CandidatePartition,
    candidates_by_bound,
    partitions_of_every_count,
    partitions_of_up_to,
    partitions_up_to,
)
from npuc.compiler.analysis.schedule.over_cores.whole_measure import WholeMeasure
from npuc.compiler.analysis.schedule.over_cores.whole_price import WholePrice
from npuc.compiler.core.errors import CapacityError
from npuc.compiler.core.options import DEFAULT_TOLERANCE
from npuc.dialects.npu.nest import Nest, Schedule


@lru_cache(maxsize=4096)
def least_over_cores(
    nest: Nest, machine: Machine, objective: Objective, widths: Bits, order: tuple[str, ...]
) -> Schedule:
    """The best schedule by the objective alone, no slower than with a narrower edge of the array."""
    narrower = None if objective in ("traffic", "energy") else narrower_edge(machine)
    search = PartSearch(nest, machine, objective, widths, order)
    if narrower is None:
        return _found(search)
    found = least_over_cores(nest, narrower, objective, widths, order)
    if is_searched_edge(machine.array):
        found = min(_found(search), found, key=lambda one: exact_cost(nest, one, machine, objective, widths))
    return found


def least_over_cores_within(
    nest: Nest, machine: Machine, objective: Objective, widths: Bits, order: tuple[str, ...], limit: float
) -> Schedule | None:
    """The result of `least_over_cores` on a machine of one edge; None where it costs more than `limit`."""
    return _best(PartSearch(nest, machine, objective, widths, order), limit)


QUICK = DEFAULT_TOLERANCE
"""From this tolerance on no search over cores is checked against a thorough one, which takes several times as long."""


@lru_cache(maxsize=4096)
def near_over_cores(
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
    The best schedule by the next measure among those near the best score: of each partition that may score so little,
    the one with the best schedule of its first part by the next measure.

    With `monotone` and a tolerance below that of `QUICK` the score is at most `1 + tolerance` times that of a monotone
    search without tolerance, exactly.
    """
    chosen = near_over_cores_within(nest, machine, objective, widths, order, tolerance, MOST)
    assert chosen is not None, "there is no limit"
    if not monotone or tolerance >= QUICK:
        return chosen
    # The search was quick: what is so much better that this is not near it has to be looked for.
    limit = beating(exact_costs(nest, chosen, machine, widths), objective, tolerance)
    better = monotone_over_cores_within(nest, machine, objective, widths, order, limit)
    found = None if better is None else _near(nest, machine, objective, widths, order, tolerance, better)
    return found or chosen


@lru_cache(maxsize=4096)
def near_over_cores_within(
    nest: Nest,
    machine: Machine,
    objective: Objective,
    widths: Bits,
    order: tuple[str, ...],
    tolerance: float,
    limit: float,
) -> Schedule | None:
    """The result of a quick `near_over_cores`; on a machine of one edge None where it costs more than `limit`."""
    search = PartSearch(nest, machine, objective, widths, order)
    narrower = None if objective in ("traffic", "energy") else narrower_edge(machine)
    if narrower is None:
        return NearPartitions(search, tolerance, limit=limit).best()
    given = least_over_cores(nest, narrower, objective, widths, order)
    return NearPartitions(search, tolerance, given, only_given=not is_searched_edge(machine.array)).best()


def _near(
    nest: Nest,
    machine: Machine,
    objective: Objective,
    widths: Bits,
    order: tuple[str, ...],
    tolerance: float,
    given: Schedule,
) -> Schedule | None:
    """The best schedule by the next measure among those near a given one, the best by the objective."""
    search = PartSearch(nest, machine, objective, widths, order)
    return NearPartitions(search, tolerance, given, only_given=True).best()


@lru_cache(maxsize=4096)
def monotone_over_cores(
    nest: Nest, machine: Machine, objective: Objective, widths: Bits, order: tuple[str, ...]
) -> Schedule:
    """The best schedule on a machine of several cores, so thoroughly that more is no worse (`monotone.py`)."""
    found = monotone_over_cores_within(nest, machine, objective, widths, order, MOST)
    # The whole nest on one core fits wherever a part does not, or nothing does.
    return found or best_on_core(nest, machine.core(1), objective, widths, order, monotone=True)


def _found(search: PartSearch) -> Schedule:
    """The best schedule of all partitions; raises `CapacityError` where nothing fits."""
    found = _best(search)
    assert found is not None, "there is no limit"
    return found


def monotone_over_cores_within(
    nest: Nest, machine: Machine, objective: Objective, widths: Bits, order: tuple[str, ...], limit: float
) -> Schedule | None:
    """The result of `monotone_over_cores`; None where it costs more than `limit`, or none fits."""
    search = PartSearch(nest, machine, objective, widths, order)
    if objective == "edp" or (objective == "time" and search.is_shared):
        return _best(search, limit, monotone=True)
    least: tuple[float, ...] = (limit, MOST)
    chosen: tuple[CandidatePartition, Schedule] | None = None
    for candidate in candidates_by_bound(nest, machine, objective, widths, lambda: least[0], partitions_of_up_to):
        if candidate.bound >= least[0] and chosen is not None:
            continue
        for found in _results(search, candidate, least[0]):
            cost = found.score, found.moved, candidate.bound, candidate.number
            if cost < least:
                least, chosen = cost, (candidate, found.schedule)
    if chosen is None or objective == "time":
        return None if chosen is None else chosen[1]
    # Of equal traffic or energy that of the part's own search, which looks at the time of those.
    candidate, schedule = chosen
    inner = best_on_core(*search.part(candidate), objective, widths, order)
    own = WholeMeasure(search, candidate).of(inner)
    return own.schedule if own.score == least[0] else schedule


def _results(search: PartSearch, candidate: CandidatePartition, limit: float) -> Iterator[FoundSchedule]:
    """The nest with a partition and schedules of its first part that may be the best, but for what exceeds `limit`."""
    if search.objective != "time":
        yield from WholeMeasure(search, candidate).results(limit)
        return
    part, core = search.part(candidate)
    price, tried = WholePrice(search, candidate), search.without(candidate, limit)
    for found in monotone_results(part, core, search.objective, search.widths, search.order, price, limit, tried):
        yield replace(found, schedule=search.whole(candidate, found.schedule))


def _best(search: PartSearch, limit: float = MOST, *, monotone: bool = False) -> Schedule | None:
    """
    The best schedule of all partitions; None where it costs more than `limit`. `monotone` in the number of cores.

    Raises `CapacityError` where nothing fits.
    """
    best: tuple[float, float, float, int] | None = None
    chosen: Schedule | None = None
    refusal: CapacityError | None = None
    nest, machine, objective, widths = search.nest, search.machine, search.objective, search.widths
    partitions = partitions_of_every_count if monotone else partitions_up_to
    for candidate in candidates_by_bound(
        nest, machine, objective, widths, lambda: limit if best is None else best[0], partitions, search.least
    ):
        if best is not None and candidate.bound >= best[0]:
            continue
        try:
            if monotone:
                found = search.on_every_edge(candidate)
            else:
                within = search.within(candidate, limit if best is None else best[0])
                found = [] if within is None else [within[0]]
        except CapacityError as e:
            refusal = refusal or e
            continue
        for schedule in found:
            cost = (*exact_cost(nest, schedule, machine, objective, widths), candidate.bound, candidate.number)
            if cost[0] <= limit and (best is None or cost < best):
                best, chosen = cost, schedule
    if chosen is None and limit == MOST:
        assert refusal is not None, "the whole nest on one core is among the partitions"
        raise refusal
    return chosen
