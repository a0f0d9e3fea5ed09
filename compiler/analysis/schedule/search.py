"""
The search for a nest's schedule: loop order, tile sizes and residency of tensors, on one core (`core_search.py`) or
over several (`over_cores/`).
"""

from dataclasses import replace
from functools import lru_cache

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.elements import Bits, uniform_widths
from npuc.compiler.analysis.schedule.core_search import (
    best_on_core,
    core_search,
    least_on_core,
    near_on_core,
)
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.analysis.schedule.grid.array_work import narrower_edge
from npuc.compiler.analysis.schedule.machine_space import MOST
from npuc.compiler.core.cache.searches import kept
from npuc.compiler.core.errors import UsageError
from npuc.dialects.npu.nest import LevelKeep, Loop, Nest, Schedule

OBJECTIVES: tuple[Objective, ...] = ("time", "traffic", "energy", "edp")


@lru_cache(maxsize=64)
def _for_contractions(machine: Machine) -> Machine:
    """A machine without what contractions do not use, so that machines that differ in it alone share their searches."""
    return replace(machine, lanes=1)


def best_schedule(
    nest: Nest,
    machine: Machine,
    objective: Objective = "time",
    widths: Bits | None = None,
    order: tuple[str, ...] = (),
    tolerance: float = 0.0,
    *,
    monotone: bool = False,
) -> Schedule:
    """
    The best schedule found for a nest on a machine; its `spm` is the number of bytes that a schedule may use there.

    With a `tolerance` it is the best by the next measure (`near_ties.py`) among those found that score up to that much
    more than the best by the objective, as a fraction. With `monotone` the best is that of a search as thorough as is
    needed for a machine with more SPM, a faster channel or a wider edge to be no worse, exactly (`monotone.py`).

    On a machine of several levels it also has the best depths in each (`over_levels`).

    Without `widths` all tensors have elements of `machine.element_bytes`, or 4 bytes. With `order` only schedules whose
    groups of dimensions come in the order of these dimensions are considered, other groups inside and batch outside.
    Raises `CapacityError` when not even tiles of one element fit, and `UsageError` when the objective needs energies
    that the machine does not have.
    """
    _check_energies(machine, objective)
    if widths is None:
        widths = uniform_widths(nest, machine)
    return searched_schedule(nest, _for_contractions(machine), objective, widths, order, tolerance, monotone)


@lru_cache(maxsize=4096)
@kept("schedules", Schedule, Loop, LevelKeep)
def searched_schedule(
    nest: Nest,
    machine: Machine,
    objective: Objective,
    widths: Bits,
    order: tuple[str, ...],
    tolerance: float,
    monotone: bool,
) -> Schedule:
    """The schedule of the search that a machine asks for."""
    if machine.levels:
        return _best_over_levels(nest, machine, objective, widths, order, tolerance, monotone)
    if machine.cores == 1:
        if tolerance:
            return near_on_core(nest, machine, objective, widths, order, tolerance, monotone=monotone)
        if monotone:
            return best_on_core(nest, machine, objective, widths, order, monotone=True)
        return least_on_core(nest, machine, objective, widths, order)
    from npuc.compiler.analysis.schedule.over_cores import search as over_cores

    if tolerance:
        return over_cores.near_over_cores(nest, machine, objective, widths, order, tolerance, monotone=monotone)
    if monotone:
        return over_cores.monotone_over_cores(nest, machine, objective, widths, order)
    return over_cores.least_over_cores(nest, machine, objective, widths, order)


def _check_energies(machine: Machine, objective: Objective) -> None:
    if objective in ("energy", "edp") and machine.energy is None:
        raise UsageError(
            f"the objective {objective} needs energy.mac_pj, energy.spm_pj_per_byte and energy.dram_pj_per_byte",
            hint="add them to the hardware description",
        )


def best_schedule_within(
    nest: Nest,
    machine: Machine,
    objective: Objective,
    widths: Bits,
    order: tuple[str, ...] = (),
    tolerance: float = 0.0,
    limit: float = MOST,
    *,
    monotone: bool = False,
) -> Schedule | None:
    """
    The result of `best_schedule`; None only where it costs more than `limit`, mostly at less effort than to find it.

    Raises `CapacityError` where it does not fit, but where a lower bound says before that it costs more.
    """
    _check_energies(machine, objective)
    own = _for_contractions(machine)
    edges = objective not in ("traffic", "energy") and narrower_edge(own) is not None
    # The best with another edge, or of a thorough search, may cost less than a quick one finds.
    if limit >= MOST or own.levels or edges or (tolerance and monotone):
        return best_schedule(nest, machine, objective, widths, order, tolerance, monotone=monotone)
    if own.cores > 1:
        from npuc.compiler.analysis.schedule.over_cores import search as over_cores

        if tolerance:
            return over_cores.near_over_cores_within(nest, own, objective, widths, order, tolerance, limit)
        if monotone:
            return over_cores.monotone_over_cores_within(nest, own, objective, widths, order, limit)
        return over_cores.least_over_cores_within(nest, own, objective, widths, order, limit)
    found = core_search(nest, own, objective, widths, order, monotone).within(limit)
    if found is None or not tolerance:
        return None if found is None else found.schedule
    return near_on_core(nest, own, objective, widths, order, tolerance)


@lru_cache(maxsize=4096)
def _best_over_levels(
    nest: Nest,
    machine: Machine,
    objective: Objective,
    widths: Bits,
    order: tuple[str, ...],
    tolerance: float,
    monotone: bool,
) -> Schedule:
    """The best schedule found on a machine of several levels, whose loops come from searches on one of them each."""

    def one_level(nest: Nest, machine: Machine) -> Schedule:
        return best_schedule(nest, machine, objective, widths, order, tolerance, monotone=monotone)

    from npuc.compiler.analysis.schedule.over_levels.search import best_over_levels

    return best_over_levels(nest, machine, objective, widths, tolerance, one_level, nested=not order)
