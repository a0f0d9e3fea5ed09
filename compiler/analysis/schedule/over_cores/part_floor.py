"""
A lower bound of what a search on one core finds for a part of a nest, at a fraction of the effort to find it.

A core beside others (`Beside`) may take less than it would alone. A transfer that serves several cores is billed to
each in equal shares, so that its channel is at most as many times faster; sums that pass on chip are neither stored nor
read, and only the first core reads the start of a sum.
"""

from dataclasses import replace
from functools import lru_cache
from math import inf

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.blocks import touched
from npuc.compiler.analysis.nest.elements import Bits, Width
from npuc.compiler.analysis.schedule.exact_cost import exact_cost
from npuc.compiler.analysis.schedule.grid.array_work import times_every_edge
from npuc.compiler.analysis.schedule.grid.residency_options import Beside
from npuc.compiler.analysis.schedule.least_traffic import least_traffic
from npuc.compiler.analysis.schedule.machine_space import space_of
from npuc.dialects.npu.nest import Nest


@lru_cache(maxsize=4096)
def part_floor(
    part: Nest, core: Machine, widths: Bits, order: tuple[str, ...], beside: Beside, known: float = 0.0
) -> float:
    """
    A lower bound of the time of the schedules that `core_search.py` finds for a part, on a core `beside` others; any
    number up to `known`, at less effort, where it is no more than that.

    These are candidates, of which the array's work and the first load and last store that nothing hides are known at
    every tiling, and the schedules of the least traffic.
    """
    every_edge = times_every_edge(core.array)
    floor = inf
    for fine in (False, True):
        floor = min(floor, space_of(part, core, "time", widths, order, fine, every_edge, True).least_beside(beside))
        if floor <= known:
            return floor
    if order or core.policy == "lru":
        return floor
    fastest = replace(core, bytes_per_cycle=core.bytes_per_cycle * beside.faster)
    spared = spared_bits(part, widths, beside) / fastest.channel_bits
    for edge in (1, max(core.array.rows, core.array.cols)):
        schedule = least_traffic(part, core.spm_bytes, widths, inf, edge)
        if schedule is not None:
            floor = min(floor, exact_cost(part, schedule, fastest, "time", widths)[0] - float(spared))
        if floor <= known:
            return floor
    return floor


def spared_bits(part: Nest, widths: Bits, beside: Beside) -> Width:
    """The bits that a core moves at least less beside others than alone, on top of what transfers serve several."""
    stored = widths.by_name(part)
    return sum(stored[name] * touched(part.tensors[name], part.sizes) for name in beside.spared)
