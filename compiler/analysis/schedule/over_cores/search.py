"""
The search of a nest's schedule on a machine of several cores.

A nest is partitioned along one dimension of a group or along two, and the first part, the largest, is searched on a
core with its share of the DRAM channel (`core_search.py`). A nest may also use fewer cores, down to one. Partitions are
tried in the order of their lower bounds, until the bound exceeds the best score found, and a part is searched only as
far as it may be within that score. So few of many parts are searched to the end.
"""

from functools import lru_cache

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.elements import Bits
from npuc.compiler.analysis.schedule.array_work import is_searched_edge, narrower_edge
from npuc.compiler.analysis.schedule.candidates import MOST
from npuc.compiler.analysis.schedule.core_search import best_on_core
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.analysis.schedule.exact_cost import exact_cost
from npuc.compiler.analysis.schedule.monotone import monotone_results
from npuc.compiler.analysis.schedule.over_cores.near_partitions import NearPartitions
from npuc.compiler.analysis.schedule.over_cores.part_search import PartSearch
from npuc.compiler.analysis.schedule.over_cores.partitions import (
    candidates_by_bound,
    partitions_of_every_count,
    partitions_of_up_to,
    partitions_up_to,
)
from npuc.compiler.analysis.schedule.over_cores.whole_price import WholePrice
from npuc.compiler.core.errors import CapacityError
from npuc.dialects.npu.nest import Nest, Schedule


@lru_cache(maxsize=4096)
def least_over_cores(
    nest: Nest, machine: Machine, objective: Objective, widths: Bits, order: tuple[str, ...]
) -> Schedule:
    """The best schedule by the objective alone, no slower than with a narrower edge of the array."""
    narrower = None if objective in ("traffic", "energy") else narrower_edge(machine)
    search = PartSearch(nest, machine, objective, widths, order)
    if narrower is None:
        return _best(search)
    found = least_over_cores(nest, narrower, objective, widths, order)
    if is_searched_edge(machine.array):
        found = min(_best(search), found, key=lambda one: exact_cost(nest, one, machine, objective, widths))
    return found


@lru_cache(maxsize=4096)
def near_over_cores(
    nest: Nest, machine: Machine, objective: Objective, widths: Bits, order: tuple[str, ...], tolerance: float
) -> Schedule:
    """
    The best schedule by the next measure among those near the best score: of each partition that may score so little,
    the one with the best schedule of its first part by the next measure.
    """
    search = PartSearch(nest, machine, objective, widths, order)
    narrower = None if objective in ("traffic", "energy") else narrower_edge(machine)
    if narrower is None:
        return NearPartitions(search, tolerance).best()
    given = least_over_cores(nest, narrower, objective, widths, order)
    return NearPartitions(search, tolerance, given, only_given=not is_searched_edge(machine.array)).best()


@lru_cache(maxsize=4096)
def monotone_over_cores(
    nest: Nest, machine: Machine, objective: Objective, widths: Bits, order: tuple[str, ...]
) -> Schedule:
    """The best schedule on a machine of several cores, so thoroughly that more is no worse (`monotone.py`)."""
    search = PartSearch(nest, machine, objective, widths, order)
    if objective != "time" or search.is_shared:
        return _best(search, monotone=True)
    least: tuple[float, ...] = (MOST,)
    chosen: Schedule | None = None
    for candidate in candidates_by_bound(
        nest, machine, objective, widths, lambda: least[0], partitions_of_up_to(nest, machine.cores)
    ):
        if candidate.bound >= least[0]:
            continue
        part, core = search.part(candidate)
        price = WholePrice(search, candidate)
        for found in monotone_results(part, core, objective, widths, order, price, least[0]):
            cost = found.score, found.moved, candidate.bound, candidate.number
            if cost < least:
                least, chosen = cost, search.whole(candidate, found.schedule)
    # The whole nest on one core fits wherever a part does not, or nothing does.
    return chosen or best_on_core(nest, machine.core(1), objective, widths, order, monotone=True)


def _best(search: PartSearch, *, monotone: bool = False) -> Schedule:
    """The best schedule of all partitions; `monotone` in the number of cores."""
    best: tuple[float, float, float, int] | None = None
    chosen = Schedule()
    refusal: CapacityError | None = None
    nest, machine, objective, widths = search.nest, search.machine, search.objective, search.widths
    partitions = (partitions_of_every_count if monotone else partitions_up_to)(nest, machine.cores)
    for candidate in candidates_by_bound(
        nest, machine, objective, widths, lambda: MOST if best is None else best[0], partitions
    ):
        if best is not None and candidate.bound >= best[0]:
            continue
        try:
            if monotone:
                found = search.on_every_edge(candidate)
            else:
                within = search.within(candidate, MOST if best is None else best[0])
                found = [] if within is None else [within[0]]
        except CapacityError as e:
            refusal = refusal or e
            continue
        for schedule in found:
            cost = (*exact_cost(nest, schedule, machine, objective, widths), candidate.bound, candidate.number)
            if best is None or cost < best:
                best, chosen = cost, schedule
    if best is None:
        assert refusal is not None, "the whole nest on one core is among the partitions"
        raise refusal
    return chosen
