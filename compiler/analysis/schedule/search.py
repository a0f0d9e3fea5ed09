"""
The search for a nest's schedule: loop order, tile sizes and residency of tensors.

It takes the best of the coarse candidates (`candidates.py`), in which no dimension is tiled twice, and if that is not
near the lower bound the best of the fine candidates. Where traffic dominates, the schedule of the least traffic
(`least_traffic.py`) is tried as well.

On several cores a nest is partitioned along one dimension of a group or along two, and the first part, the largest, is
searched as above on a core with its share of the DRAM channel. Partitions are tried in the order of their lower bounds,
until the bound exceeds the best score found, so that few of many are searched. A nest may also use fewer cores, down
to one.

What is tried on a machine is tried on one with more SPM, a faster channel or a wider edge as well, so that more is not
worse: the candidates that are timed are chosen by what they need, not by the machine (`candidates.py`).
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from npuc.compiler.analysis.machine.compute import compute, cycles_lower_bound
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.bounds import lower_bound_bits
from npuc.compiler.analysis.nest.cores import core_count, first_part
from npuc.compiler.analysis.nest.elements import BYTE, Bits, footprint_bytes, uniform_widths
from npuc.compiler.analysis.schedule.array_work import is_searched_edge, narrower_edge
from npuc.compiler.analysis.schedule.candidates import MOST, FoundSchedule, best_candidate, near_candidates
from npuc.compiler.analysis.schedule.core_partitions import candidates_by_bound
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.analysis.schedule.exact_cost import exact_cost, exact_costs
from npuc.compiler.analysis.schedule.least_traffic import least_traffic
from npuc.compiler.analysis.schedule.monotone import monotone_results
from npuc.compiler.analysis.schedule.near_ties import best_of
from npuc.compiler.core.errors import CapacityError, UsageError
from npuc.dialects.npu.nest import Loop, Nest, Schedule

OBJECTIVES: tuple[Objective, ...] = ("time", "traffic", "energy", "edp")
NEAR = 1.1
"""
Coarse candidates within this factor of the lower bound are taken for a large nest; otherwise fine ones are tried too.
"""
SMALL_NEST = 1 << 22
"""Up to so many MACs a nest is small, and its fine candidates are always tried."""
BOUND_BY_MEMORY = 0.9
"""The share of the time taken by transfers from which on the least traffic is tried."""


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
    more than the best by the objective, as a fraction. With `monotone`, and no tolerance, the search is as thorough as
    is needed for a machine with more SPM, a faster channel or a wider edge to be no worse, exactly (`monotone.py`).

    Without `widths` all tensors have elements of `machine.element_bytes`, or 4 bytes. With `order` only schedules whose
    groups of dimensions come in the order of these dimensions are considered, other groups inside and batch outside.
    Raises `CapacityError` when not even tiles of one element fit, and `UsageError` when the objective needs energies
    that the machine does not have.
    """
    if objective in ("energy", "edp") and machine.energy is None:
        raise UsageError(
            f"the objective {objective} needs energy.mac_pj, energy.spm_pj_per_byte and energy.dram_pj_per_byte",
            hint="add them to the hardware description",
        )
    if widths is None:
        widths = uniform_widths(nest, machine)
    if tolerance:
        return near_schedule(nest, machine, objective, widths, order, tolerance)
    if monotone and machine.cores == 1:
        return best_on_core(nest, machine, objective, widths, order, monotone=True)
    if monotone:
        return _over_cores(nest, machine, objective, widths, order, 0.0, monotone=True)
    return least_schedule(nest, machine, objective, widths, order, 0.0)


@lru_cache(maxsize=4096)
def least_schedule(
    nest: Nest, machine: Machine, objective: Objective, widths: Bits, order: tuple[str, ...], tolerance: float
) -> Schedule:
    """
    The best schedule by the objective alone.

    With a `tolerance`, in which `near_schedule` looks next, that of each part over cores is found beside the part's
    best, while its candidates are at hand.
    """

    def search(nest: Nest, machine: Machine, objective: Objective, widths: Bits, order: tuple[str, ...]) -> Schedule:
        if machine.cores == 1:
            return best_on_core(nest, machine, objective, widths, order)
        return _over_cores(nest, machine, objective, widths, order, tolerance)

    narrower = None if objective in ("traffic", "energy") else narrower_edge(machine)
    if narrower is None:
        return search(nest, machine, objective, widths, order)
    # The search is heuristic: a wider edge makes no schedule slower, and must not make the result slower either.
    found = least_schedule(nest, narrower, objective, widths, order, 0.0)
    if is_searched_edge(machine.array):
        own = search(nest, machine, objective, widths, order)
        found = min(own, found, key=lambda schedule: exact_cost(nest, schedule, machine, objective, widths))
    return found


@lru_cache(maxsize=4096)
def near_schedule(
    nest: Nest, machine: Machine, objective: Objective, widths: Bits, order: tuple[str, ...], tolerance: float
) -> Schedule:
    """The best by the next measure among the schedules near the best score."""
    beside = 0.0 if machine.cores == 1 else tolerance
    best = least_schedule(nest, machine, objective, widths, order, beside)
    most = exact_cost(nest, best, machine, objective, widths)[0] * (1 + tolerance)
    if machine.cores == 1:
        near = list(near_candidates(nest, machine, objective, widths, order, most, fine=False))
        near = near or list(near_candidates(nest, machine, objective, widths, order, most, fine=True))
    else:
        near = list(_near_over_cores(nest, machine, objective, widths, order, tolerance, most))
    return best_of([best, *near], lambda one: exact_costs(nest, one, machine, widths), objective, tolerance)


def _near_over_cores(
    nest: Nest,
    machine: Machine,
    objective: Objective,
    widths: Bits,
    order: tuple[str, ...],
    tolerance: float,
    most: float,
) -> Iterator[Schedule]:
    """Of each partition that may score up to `most`, the schedule with the best part by the next measure."""
    candidates = candidates_by_bound(nest, machine, objective, widths, lambda: most)
    for candidate in sorted(candidates, key=lambda candidate: candidate.number):
        part, core = _part(nest, machine, candidate.loops)
        try:
            inner = best_schedule(part, core, objective, widths, order, tolerance)
        except CapacityError:
            continue
        yield Schedule((*candidate.loops, *inner.loops), inner.keep, inner.spm)


def _part(nest: Nest, machine: Machine, loops: tuple[Loop, ...]) -> tuple[Nest, Machine]:
    """The first, largest part of a partition, and a core with its share of the channel."""
    partition = Schedule(loops)
    return first_part(nest, partition), machine.core(core_count(nest, partition))


@lru_cache(maxsize=4096)
def _over_cores(
    nest: Nest,
    machine: Machine,
    objective: Objective,
    widths: Bits,
    order: tuple[str, ...],
    tolerance: float,
    *,
    monotone: bool = False,
) -> Schedule:
    """The best schedule on a machine of several cores; `monotone` in their number (`monotone.py`)."""
    best: tuple[float, float, float, int] | None = None
    chosen = Schedule()
    refusal: CapacityError | None = None
    for candidate in candidates_by_bound(
        nest, machine, objective, widths, lambda: MOST if best is None else best[0], every_count=monotone
    ):
        if best is not None and candidate.bound >= best[0]:
            continue
        part, core = _part(nest, replace(machine, cores=candidate.cores), candidate.loops)
        try:
            if monotone:
                found = _on_every_edge(part, core, objective, widths, order, alone=candidate.cores == 1)
            else:
                found = [best_on_core(part, core, objective, widths, order)]
            if tolerance:
                near_schedule(part, core, objective, widths, order, tolerance)
        except CapacityError as e:
            refusal = refusal or e
            continue
        for inner in found:
            schedule = Schedule((*candidate.loops, *inner.loops), inner.keep, inner.spm)
            cost = (*exact_cost(nest, schedule, machine, objective, widths), candidate.bound, candidate.number)
            if best is None or cost < best:
                best, chosen = cost, schedule
    if best is None:
        assert refusal is not None, "the whole nest on one core is among the partitions"
        raise refusal
    return chosen


def _on_every_edge(
    part: Nest, core: Machine, objective: Objective, widths: Bits, order: tuple[str, ...], *, alone: bool
) -> list[Schedule]:
    """The best schedules of a part with the core's edge and with each narrower one; as on one core if it is `alone`."""
    if alone:
        return [best_on_core(part, core, objective, widths, order, monotone=True)]
    cores = [core]
    while objective in ("time", "edp") and (narrower := narrower_edge(cores[-1])) is not None:
        cores.append(narrower)
    searched = [one for one in cores if is_searched_edge(one.array)] or [core]
    return [best_on_core(part, one, objective, widths, order) for one in searched]


@lru_cache(maxsize=4096)
def best_on_core(
    nest: Nest,
    machine: Machine,
    objective: Objective,
    widths: Bits,
    order: tuple[str, ...],
    *,
    monotone: bool = False,
) -> Schedule:
    """The best schedule on one core."""
    results = monotone_results if monotone else _results
    found = min(results(nest, machine, objective, widths, order), key=lambda f: (f.score, f.moved), default=None)
    if found is not None:
        return found.schedule
    finest = Schedule(tuple(Loop(dim, 1) for dim in nest.sizes))
    raise CapacityError(
        f"the smallest tiles need {footprint_bytes(nest, finest, widths):,} bytes of SPM "
        f"({len(nest.tensors)} blocks), a schedule may use {machine.spm_bytes:,}"
    )


def _results(
    nest: Nest, machine: Machine, objective: Objective, widths: Bits, order: tuple[str, ...]
) -> Iterator[FoundSchedule]:
    """The best coarse candidate, the best fine one and the least traffic, as far as each may be the best."""
    coarse = best_candidate(nest, machine, objective, widths, order, fine=False)
    near = 1.0 if objective == "traffic" or nest.macs <= SMALL_NEST else NEAR
    if coarse is not None:
        yield coarse
        if coarse.score <= near * _lower_bound(nest, machine, objective, widths):
            return
    # Fine candidates only where they can beat the coarse ones.
    limit = MOST if coarse is None else coarse.score
    fine = best_candidate(nest, machine, objective, widths, order, fine=True, limit=limit)
    if fine is not None:
        yield fine
    best = min((f for f in (coarse, fine) if f is not None), key=lambda f: (f.score, f.moved), default=None)
    if not order and machine.policy != "lru":
        yield from _least_traffic_results(nest, machine, objective, widths, best)


def _least_traffic_results(
    nest: Nest, machine: Machine, objective: Objective, widths: Bits, best: FoundSchedule | None
) -> Iterator[FoundSchedule]:
    """Schedules of less traffic than the best so far, where that may help, in tiles of any size and of the array's."""
    if objective == "edp":
        return
    if (
        objective == "time"
        and best is not None
        and best.moved < BOUND_BY_MEMORY * BYTE * machine.bytes_per_cycle * best.score
    ):
        return
    limit = MOST if best is None else best.moved
    edge = max(machine.array.rows, machine.array.cols)
    for least in (1,) if objective == "traffic" else (1, edge):
        schedule = least_traffic(nest, machine.spm_bytes, widths, limit, least)
        # With very small tiles computation alone may take longer, and such schedules take long to time.
        if schedule is None or (
            objective == "time" and best is not None and compute(nest, schedule, machine.array).cycles >= best.score
        ):
            continue
        yield FoundSchedule(schedule, *exact_cost(nest, schedule, machine, objective, widths))


def _lower_bound(nest: Nest, machine: Machine, objective: Objective, widths: Bits) -> float:
    """A lower bound of the objective over all schedules; 0 where none is known."""
    if objective not in ("time", "traffic"):
        return 0.0
    least = lower_bound_bits(nest, machine.spm_bytes, widths)
    if objective == "traffic":
        return float(least)
    return max(float(cycles_lower_bound((nest,), machine.array)), float(least / (BYTE * machine.bytes_per_cycle)))
