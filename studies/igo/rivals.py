"""
Baselines that split the gain of the method: programs at their own best tiles, on one core with explicit residency.

    blocking     dX, then dW, each at its best tiles and residency; dY is read twice
    dY kept      the same, but dY is resident between the two where it fits, as with `keep-resident{what=pairs}`
    one nest     both gradients in one nest at its best order, tiles and residency, or dX, then dW if that is faster
    dY free      as blocking, but dW reads dY without traffic, which no program does
"""

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.programs.resident import best_resident_schedule
from npuc.compiler.analysis.schedule.search import best_schedule
from npuc.compiler.analysis.timing.double_buffer import pipeline
from npuc.studies.igo.explicit import ExplicitCosts
from npuc.studies.igo.products import DW, DX, Size, fused_nest, nest_of, widths_of

DY: frozenset[str] = frozenset(("dY",))
RIVALS = ("blocking", "dY kept", "one nest", "dY free")


@lru_cache(maxsize=4096)
def rival_times(size: Size, has_dx: bool, machine: Machine) -> Mapping[str, Fraction]:
    """The cycles of each baseline, forward and backward; a layer without dX takes the same in all."""
    costs = ExplicitCosts(machine)
    forward = costs.forward(size).time
    if not has_dx:
        return dict.fromkeys(RIVALS, forward + costs.weights(size).time)
    blocking = costs.sequential(size).time
    times = {
        "blocking": blocking,
        "dY kept": min(blocking, _kept(size, machine) or blocking),
        "one nest": min(blocking, costs.best(fused_nest(size)).time),
        "dY free": costs.best(nest_of(size, DX)).time + _weights_free(size, machine),
    }
    return {name: forward + time for name, time in times.items()}


def _kept(size: Size, machine: Machine) -> Fraction | None:
    """dX, then dW, which finds dY in SPM (`resident`); None where that does not fit."""
    dx, dw = nest_of(size, DX), nest_of(size, DW)
    stored, added = widths_of(dx, machine), widths_of(dw, machine)
    first = best_resident_schedule(dx, machine, "time", stored, frozenset[str](), DY, 0)
    second = best_resident_schedule(dw, machine, "time", added, DY, frozenset[str](), 0)
    if first is None or second is None:
        return None
    free = added.without(dw, DY)
    return pipeline(dx, first[0], machine, stored).time + pipeline(dw, second[0], machine, free).time


def _weights_free(size: Size, machine: Machine) -> Fraction:
    """dW with free reads of dY, of which a tile still takes capacity."""
    dw = nest_of(size, DW)
    free = widths_of(dw, machine).without(dw, DY)
    schedule = best_schedule(dw, machine, "time", free)
    return pipeline(dw, schedule, machine, free).time
