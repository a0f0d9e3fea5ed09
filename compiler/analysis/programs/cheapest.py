"""
The cheapest program for contractions that share an operand: sequential, round-robin, or as one nest.

    sequential    each at its own best schedule, with the whole SPM
    zip           round-robin, one tile operation of each (`interleave_search.py`)
    fused         one nest of all statements, in the best order, and in that of the published rule

All are costed by the exact models, with the numbers that the backend `cycle` reports, and the cheapest is taken; of
equal ones the one with less traffic, then the one that changes the least. So the result costs no more than any of them.
`rearrange{rule=best}` compares programs of its own by the same costs.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import ceil, inf
from typing import Literal

from npuc.compiler.analysis.machine.compute import cycles_lower_bound
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.stationary import has_one_stationary_tile
from npuc.compiler.analysis.nest.bounds import lower_bound_bits
from npuc.compiler.analysis.nest.elements import BYTE, Bits, Width
from npuc.compiler.analysis.programs.interleave_search import InterleaveProblem, best_round_robin
from npuc.compiler.analysis.programs.joint_bounds import joint_certificate
from npuc.compiler.analysis.programs.published_order import published_order
from npuc.compiler.analysis.programs.reported_costs import (
    ReportedCost,
    pool_cost,
    round_robin_cost,
    scheduled_cost,
    total,
)
from npuc.compiler.analysis.schedule.candidates import ROUNDING
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.analysis.schedule.machine_space import MOST
from npuc.compiler.analysis.schedule.near_ties import best_of
from npuc.compiler.analysis.schedule.search import best_schedule_within
from npuc.compiler.core.cache.searches import kept
from npuc.compiler.core.errors import CapacityError
from npuc.compiler.core.frozen import frozen
from npuc.dialects.npu.footprint import footprint
from npuc.dialects.npu.nest import LevelKeep, Loop, Nest, Schedule
from npuc.dialects.npu.shared import RoundRobin

Kind = Literal["sequential", "zip", "fused"]
GRADIENTS = {"dX", "dW"}
"""The results of a fused nest for which the published rule has an order."""


@frozen
class CostedProgram:
    """
    How contractions run, the schedule of each (of the one nest if fused), what that costs, and of one nest the order
    that was asked for.
    """

    kind: Kind
    schedules: tuple[Schedule, ...]
    cost: ReportedCost
    order: tuple[str, ...] = ()


@frozen
class FusedNest:
    """The one nest of all statements, with the bits of an element of each of its tensors."""

    nest: Nest
    widths: Bits


@lru_cache(maxsize=1024)
@kept("schedules", CostedProgram, ReportedCost, Schedule, Loop, LevelKeep)
def best_program(
    problem: InterleaveProblem,
    own: tuple[Schedule, ...],
    fused: FusedNest | None,
    objective: Objective = "time",
    tolerance: float = 0.0,
    strict: tuple[Schedule, ...] = (),
) -> CostedProgram:
    """
    The cheapest program; `own` are the schedules of the nests by themselves, `fused` is None if they cannot be one.

    With a `tolerance` it is the best by the next measure (`near_ties.py`) among the programs near the cheapest that
    cost no more than any of those that -O0, -O1 and -O2 take with this tolerance; `strict` are then the schedules of
    the nests by themselves with none. Raises `UsageError` when the objective needs energies that the machine does not
    say.
    """
    found = [sequential_program(problem, strict or own)]
    orders = [] if fused is None else _fused_orders(fused.nest)
    for order in orders:
        worth = _worth(found, problem.machine, objective, tolerance)
        found += _fused(fused, problem.machine, objective, order, 0.0, worth, monotone=tolerance == 0)
    least = cheapest(found, objective).cost.score(objective)
    if _round_robin_floor(problem, objective) <= least * (1 + tolerance):
        found += _round_robin(problem, objective, least * (1 + tolerance), 0.0)
    if tolerance == 0:
        return cheapest(found, objective)
    # What bounds rule out is none of those that are near, nor a limit to them. What the searches above found does not
    # rule out much: in the rooms of round-robin nests, and in an order, one with a tolerance may find what costs less.
    # In a pool of tiles the search does not know the best schedules.
    most = cheapest(found, objective).cost.score(objective) * (1 + tolerance)
    most = inf if problem.machine.policy == "lru" else most
    near = [sequential_program(problem, own)]
    limits = near[:]
    if _round_robin_floor(problem, objective) <= most:
        limits += _round_robin(problem, objective, inf, tolerance)
    for order in orders:
        least = min(
            (one.cost.score(objective) for one in found if one.kind == "fused" and one.order == order), default=inf
        )
        if least <= most or (order and _fused_floor(fused, problem.machine, objective) <= most):
            worth = _worth([*near, *found], problem.machine, objective, tolerance)
            again = _fused(fused, problem.machine, objective, order, tolerance, worth, monotone=bool(order))
            near += again
            limits += again if order else []
    near += limits[1:]
    return cheapest([*near, *found], objective, tolerance, [one.cost.reported(objective) for one in limits])


def cheapest(
    programs: Sequence[CostedProgram], objective: Objective, tolerance: float = 0.0, limits: Sequence[Fraction] = ()
) -> CostedProgram:
    """
    The program that costs least; of equal ones that with less traffic, then the first.

    With a `tolerance` the best by the next measure among those near the cheapest, within `limits`. Raises `UsageError`
    when the objective needs energies that the machine does not say.
    """
    return best_of(programs, lambda program: program.cost, objective, tolerance, limits)


def sequential_program(problem: InterleaveProblem, own: tuple[Schedule, ...]) -> CostedProgram:
    """The nests one after another, each with its own schedule."""
    machine = problem.machine
    if machine.policy == "lru":
        together = RoundRobin(problem.nests, own, problem.values)
        return CostedProgram("sequential", own, pool_cost(together, machine, problem.widths, "sequential"))
    may_find = problem.may_find or (True,) * len(own)
    costs = [
        scheduled_cost(nest, schedule, machine, widths, tile_loaded=may and _may_find(nest, schedule, machine))
        for nest, schedule, widths, may in zip(problem.nests, own, problem.widths, may_find, strict=True)
    ]
    return CostedProgram("sequential", own, total(costs))


def _may_find(nest: Nest, schedule: Schedule, machine: Machine) -> bool:
    """
    Whether an in-place array may have the tile of an operation already, where the one before may have left it.

    It is taken to have it, so that no program looks cheaper than this one that is not.
    """
    array = machine.array
    in_place = array.dataflow == "in-place" and machine.transpose != "explicit"
    return in_place and has_one_stationary_tile(nest, schedule, array)


def _fused_orders(nest: Nest) -> list[tuple[str, ...]]:
    """The orders in which one nest is tried: any, and that of the published rule."""
    rule = published_order(nest) if {out.name for out in nest.outs} == GRADIENTS else None
    return [()] if rule is None else [(), rule]


def _fused(
    fused: FusedNest | None,
    machine: Machine,
    objective: Objective,
    order: tuple[str, ...],
    tolerance: float,
    limit: float,
    *,
    monotone: bool = False,
) -> list[CostedProgram]:
    """The nest in this order; empty where none fits, or where it is known to cost more than `limit`."""
    if fused is None:
        return []
    nest, widths = fused.nest, fused.widths
    try:
        schedule = best_schedule_within(nest, machine, objective, widths, order, tolerance, limit, monotone=monotone)
    except CapacityError:
        return []
    return [] if schedule is None else [replace(fused_program(fused, schedule, machine), order=order)]


def _worth(programs: Sequence[CostedProgram], machine: Machine, objective: Objective, tolerance: float) -> float:
    """
    What another program costs at most that may be the result beside these: no more than near the cheapest of them. A
    report rounds cycles up, a search does not. In a pool of tiles a search does not know what its schedule costs.
    """
    if machine.policy == "lru":
        return MOST
    least = min(program.cost.reported(objective) for program in programs)
    return ROUNDING * float(least * (1 + Fraction(tolerance)))


def fused_program(fused: FusedNest, schedule: Schedule, machine: Machine) -> CostedProgram:
    """One nest with a schedule."""
    nest, widths = fused.nest, fused.widths
    if machine.policy == "lru":
        together = RoundRobin((nest,), (schedule,), (tuple(range(len(nest.ins))),))
        cost = pool_cost(together, machine, (widths,), "sequential")
    else:
        cost = scheduled_cost(nest, schedule, machine, widths)
    return CostedProgram("fused", (schedule,), cost)


def _round_robin(
    problem: InterleaveProblem, objective: Objective, below: float, tolerance: float
) -> list[CostedProgram]:
    """The round-robin nests, where they may cost no more than `below`."""
    try:
        schedules = best_round_robin(problem, objective, below, tolerance)
    except CapacityError:
        return []
    return [] if schedules is None else [round_robin_program(problem, schedules)]


def round_robin_program(problem: InterleaveProblem, schedules: tuple[Schedule, ...]) -> CostedProgram:
    """Round-robin nests with schedules."""
    together = RoundRobin(problem.nests, schedules, problem.values)
    if problem.machine.policy == "lru":
        cost = pool_cost(together, problem.machine, problem.widths, "round-robin")
    else:
        cost = round_robin_cost(together, problem.machine, problem.widths)
    return CostedProgram("zip", schedules, cost)


def _round_robin_floor(problem: InterleaveProblem, objective: Objective) -> float:
    """What round-robin nests cost at least: 0 where no bound is known."""
    machine = problem.machine
    if objective not in ("time", "traffic") or machine.policy == "lru" or machine.array.skips_reloads:
        return 0.0
    moved = _round_robin_bits(problem)
    if objective == "traffic":
        return float(moved)
    return max(cycles_lower_bound(problem.nests, machine.array), ceil(moved / machine.channel_bits))


def _fused_floor(fused: FusedNest | None, machine: Machine, objective: Objective) -> float:
    """What one nest costs at least, whatever its schedule: 0 where no bound is known."""
    if fused is None or objective not in ("time", "traffic") or machine.policy == "lru" or machine.array.skips_reloads:
        return 0.0
    moved = lower_bound_bits(fused.nest, machine.spm_bytes, fused.widths)
    if objective == "traffic":
        return moved
    return max(cycles_lower_bound((fused.nest,), machine.array), ceil(moved / machine.channel_bits))


def _round_robin_bits(problem: InterleaveProblem) -> Width:
    """The bits that round-robin nests move at least: those of each alone, less the inputs that fit SPM as a whole."""
    spm, pairs = problem.machine.spm_bytes, list(zip(problem.nests, problem.widths, strict=True))
    apart: Width = sum(lower_bound_bits(nest, spm, own) for nest, own in pairs)
    seen: set[int] = set()
    for number, (nest, own) in enumerate(pairs):
        whole = footprint(nest, Schedule())
        for tensor, value in zip(nest.ins, problem.values[number], strict=True):
            width = own.by_name(nest)[tensor.name]
            if value in seen and width * whole[tensor.name] < problem.machine.spm_bits:
                apart -= width * tensor.elements
            seen.add(value)
    return max(apart, joint_certificate(problem.nests, problem.values, spm, problem.widths, 0).bound * BYTE)
