"""A lower bound of what a search on one core finds for a part of a nest, at a fraction of the effort to find it."""

from functools import lru_cache
from math import inf

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.elements import Bits
from npuc.compiler.analysis.schedule.array_work import times_every_edge
from npuc.compiler.analysis.schedule.candidates import space_of
from npuc.compiler.analysis.schedule.exact_cost import exact_cost
from npuc.compiler.analysis.schedule.least_traffic import least_traffic
from npuc.dialects.npu.nest import Nest


@lru_cache(maxsize=4096)
def part_floor(part: Nest, core: Machine, widths: Bits, order: tuple[str, ...], resumed: frozenset[str]) -> float:
    """
    A lower bound of the time of the schedules that `core_search.py` finds for a part.

    These are candidates, of which the array's work and the first load and last store that nothing hides are known at
    every tiling, and the schedules of the least traffic. It holds for a core of such a part that goes on with sums of
    another one, which are `resumed`.
    """
    every_edge = times_every_edge(core.array)
    spaces = (space_of(part, core, "time", widths, order, fine, every_edge, True) for fine in (False, True))
    floor = min(space.least_resuming(resumed) for space in spaces)
    if order or core.policy == "lru":
        return floor
    for edge in (1, max(core.array.rows, core.array.cols)):
        schedule = least_traffic(part, core.spm_bytes, widths, inf, edge)
        if schedule is not None:
            floor = min(floor, exact_cost(part, schedule, core, "time", widths)[0])
    return floor
