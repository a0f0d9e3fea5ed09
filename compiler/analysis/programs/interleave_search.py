"""
Schedules for nests that run round-robin in one SPM.

Each nest gets a part of the SPM: what its smallest tiles need, and an equal share of the rest. In that part it has the
best schedule of its own (`analysis/schedule/search.py`). This is tried with no shared block, with each of the
inputs that several nests may keep whole, and with all of them: such an input takes its room once, and the nests are
searched as if it took a single element and no traffic. In turn with others, a nest finds no tile in the array and waits
at its edge between short folds, which its own search does not see: with the best of these choices it is searched again
for an array that pays for every fold, so that folds are fewer and longer. The cheapest by the exact models wins. It is
a heuristic: the parts are not searched.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from math import inf

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.stationary import carried_passes
from npuc.compiler.analysis.nest.elements import BYTE, Width, footprint_bytes, whole_bytes
from npuc.compiler.analysis.nest.traffic import moved_bits
from npuc.compiler.analysis.schedule.candidates import ALIKE
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.analysis.schedule.exact_cost import ExactCost
from npuc.compiler.analysis.schedule.near_ties import best_of
from npuc.compiler.analysis.schedule.search import best_schedule
from npuc.compiler.analysis.timing.interleave import (
    Widths,
    interleaved_compute,
    interleaved_pipeline,
    interleaved_traffic,
)
from npuc.compiler.core.cache.searches import kept
from npuc.compiler.core.errors import CapacityError
from npuc.compiler.core.frozen import frozen
from npuc.dialects.npu.footprint import footprint
from npuc.dialects.npu.nest import LevelKeep, Loop, Nest, Schedule
from npuc.dialects.npu.shared import Block, RoundRobin, Values, joint_footprint, reached_elements


@frozen
class InterleaveProblem:
    """
    Nests without schedules, whose inputs of one number in `values` are the same value, on a machine.

    `fixed` are the schedules that are set already; None for the others. `may_find` says which nests may find their
    stationary tile in an in-place array, left by the operation before, if they run one after another; by default all.
    """

    nests: tuple[Nest, ...]
    values: Values
    fixed: tuple[Schedule | None, ...]
    widths: Widths
    machine: Machine
    may_find: tuple[bool, ...] = ()

    @property
    def budget(self) -> int:
        """The bytes of SPM that all of them may use together."""
        return self.machine.spm_bytes

    def room(self, together: RoundRobin) -> int:
        """The bytes of SPM that all blocks take."""
        parts = zip(together.nests, together.schedules, self.widths, joint_footprint(together), strict=True)
        return sum(footprint_bytes(nest, schedule, own, held) for nest, schedule, own, held in parts)


@lru_cache(maxsize=1024)
@kept("schedules", Schedule, Loop, LevelKeep)
def best_round_robin(
    problem: InterleaveProblem, objective: Objective = "time", below: float = inf, tolerance: float = 0.0
) -> tuple[Schedule, ...] | None:
    """
    The schedules of all nests, without a budget of their own; None where all cost more than `below`, at least.

    With a `tolerance` they are the best by the next measure among those near the cheapest.

    Raises `CapacityError` when not even the smallest tiles of all nests fit at once.
    """
    if tolerance:
        least = best_round_robin(problem, objective, below)
        return None if least is None else _near_best(problem, objective, least, tolerance)
    found, above = list[_Scored](), list[tuple[int, RoundRobin]]()
    choices = _choices(problem)
    for number, held in enumerate(choices):
        together = _with_held(problem, held, objective)
        if together is None or problem.room(together) > problem.budget:
            continue
        floor = _floor(together, problem, objective)
        if floor > below:
            above.append((number, together))
        elif floor <= ALIKE * min(found, default=(inf,))[0]:
            found.append((*score(together, problem, objective), number, together))
    fits, seeds = bool(found or above), found[:]
    if min(found, default=(inf,))[0] > below and _gains_by_longer_folds(problem.machine.array, objective):
        # In longer folds one may cost less than `below` that does not as it is.
        seeds += [(*score(together, problem, objective), number, together) for number, together in above]
    if seeds:
        # last the best choice again, in longer folds
        *_, best, short = min(seeds)
        longer = _with_held(problem, choices[best], objective, short=short)
        if longer is not None and problem.room(longer) <= problem.budget:
            if _floor(longer, problem, objective) <= min(below, ALIKE * min(found, default=(inf,))[0]):
                found.append((*score(longer, problem, objective), len(choices), longer))
    if fits and not found:
        return None
    if not found:
        needed = sum(_fixed_or_least(problem))
        raise CapacityError(
            f"the smallest tiles of {len(problem.nests)} nests that run round-robin need {needed:,} bytes of SPM, "
            f"a schedule may use {problem.machine.spm_bytes:,}"
        )
    # A cycle is not worth much traffic, as among the schedules of one nest.
    least = min(found)[0] * (ALIKE if objective in ("time", "edp") else 1)
    return min((one for one in found if one[0] <= least), key=lambda one: (one[1], one[0], one[2]))[3].schedules


_Scored = tuple[float, float, int, RoundRobin]
"""The score of nests with schedules, what decides between equals, the number of their choice, and they themselves."""


def _gains_by_longer_folds(array: Array, objective: Objective) -> bool:
    """Whether the array waits between folds, so that fewer and longer ones may take less time."""
    return objective not in ("traffic", "energy") and (array.grouped or array.dataflow == "in-place")


def _near_best(
    problem: InterleaveProblem, objective: Objective, least: tuple[Schedule, ...], tolerance: float
) -> tuple[Schedule, ...]:
    """The best schedules by the next measure among those near the best, which are `least`."""
    options = [RoundRobin(problem.nests, least, problem.values)]
    costs = [joint_cost(options[0], problem)]
    most = costs[0].score(objective) * (1 + tolerance)
    for held in _choices(problem):
        together = _with_held(problem, held, objective, tolerance)
        if (
            together is not None
            and problem.room(together) <= problem.budget
            and _floor(together, problem, objective) <= most
        ):
            options.append(together)
            costs.append(joint_cost(together, problem))
    chosen = best_of(range(len(options)), costs.__getitem__, objective, tolerance)
    return options[chosen].schedules


def _floor(together: RoundRobin, problem: InterleaveProblem, objective: Objective) -> float:
    """What nests with schedules cost at least, without their time tile by tile; 0 where that is not known."""
    if objective != "time" or problem.machine.policy == "lru":
        return 0.0
    cycles = sum(work.cycles for work in interleaved_compute(together, problem.machine.array))
    return max(float(cycles), float(sent_bits(together, problem.widths) / problem.machine.channel_bits))


def score(together: RoundRobin, problem: InterleaveProblem, objective: Objective) -> tuple[float, float]:
    """What is minimised, exactly, and what decides between equals: the bits that move, of traffic the time."""
    cost = joint_cost(together, problem, energy=objective in ("energy", "edp"))
    return cost.score(objective), cost.time if objective == "traffic" else cost.moved


def joint_cost(together: RoundRobin, problem: InterleaveProblem, *, energy: bool = True) -> ExactCost:
    """All that round-robin nests cost, exactly; with `energy` also their energy."""
    machine, widths = problem.machine, problem.widths
    timing = interleaved_pipeline(together, machine, widths)
    if machine.energy is None or not energy:
        return ExactCost(float(timing.time), float(timing.moved), None)
    spm = timing.moved + array_bits(together, machine, widths)
    joules = machine.energy.joules(carried_passes(together.nests, machine.array), spm / BYTE, timing.moved / BYTE)
    return ExactCost(float(timing.time), float(timing.moved), joules)


def array_bits(together: RoundRobin, machine: Machine, widths: Widths) -> Width:
    """The bits that the array reads from SPM and writes to it."""
    works = zip(together.nests, widths, interleaved_compute(together, machine.array), strict=True)
    return sum(own.with_sums(nest)[name] * count for nest, own, work in works for name, count in work.accesses.items())


def sent_bits(together: RoundRobin, widths: Widths) -> Width:
    """The bits between DRAM and SPM."""
    moves = zip(together.nests, widths, interleaved_traffic(together), strict=True)
    return sum(moved_bits(nest, of, own) for nest, own, of in moves)


def _pairs(problem: InterleaveProblem) -> Iterator[tuple[Nest, Schedule | None]]:
    return zip(problem.nests, problem.fixed, strict=True)


def _choices(problem: InterleaveProblem) -> list[tuple[tuple[Block, ...], ...]]:
    """What may be held together: nothing, each input that several nests without a schedule read, all of them."""
    same: dict[tuple[object, ...], list[Block]] = {}
    for number, (nest, fixed) in enumerate(_pairs(problem)):
        for tensor, value in zip(nest.ins, problem.values[number], strict=True):
            if fixed is None:
                same.setdefault((value, reached_elements(nest, tensor)), []).append((number, tensor.name))
    inputs = [tuple(blocks) for blocks in same.values() if len({number for number, _ in blocks}) > 1]
    return [(), *((one,) for one in inputs), *([tuple(inputs)] if len(inputs) > 1 else [])]


def _with_held(
    problem: InterleaveProblem,
    held: Sequence[tuple[Block, ...]],
    objective: Objective,
    tolerance: float = 0.0,
    *,
    short: RoundRobin | None = None,
) -> RoundRobin | None:
    """
    The nests with schedules that keep these inputs whole, in fewer and longer folds than those of `short`, if given;
    None where they do not fit, or where longer folds change nothing.
    """
    array = problem.machine.array
    if short is not None:
        if not _gains_by_longer_folds(array, objective) or not any(one.loops for one in short.schedules):
            return None
        array = replace(array, fill="per-fold")
    names: list[set[str]] = [set() for _ in problem.nests]
    for number, name in (block for blocks in held for block in blocks):
        names[number].add(name)
    least = _fixed_or_least(problem)
    room = sum(_room(problem, number, name) for (number, name), *_ in held)
    left = problem.budget - sum(least) - room
    if left < 0:
        return None
    free = sum(fixed is None for fixed in problem.fixed)
    schedules: list[Schedule] = []
    for number, nest in enumerate(problem.nests):
        fixed = problem.fixed[number]
        # What is held costs nothing to move; the search gives it a tile besides, which makes it a little careful.
        widths = problem.widths[number].without(nest, names[number])
        if fixed is not None:
            schedules.append(fixed)
            continue
        if short is not None and not short.schedules[number].loops:
            schedules.append(short.schedules[number])
            continue
        part = replace(problem.machine.core(1), array=array, spm_bytes=least[number] + left // free)
        found = best_schedule(nest, part, objective, widths, tolerance=tolerance)
        depth = len(found.loops)
        whole = tuple((name, depth) for name in sorted(names[number])) if depth else ()
        keep = tuple((name, inner) for name, inner in found.keep if name not in names[number])
        schedules.append(Schedule(found.loops, (*keep, *whole)))
    return RoundRobin(problem.nests, tuple(schedules), problem.values)


def _room(problem: InterleaveProblem, number: int, name: str) -> int:
    """The bytes of a whole input."""
    nest = problem.nests[number]
    return whole_bytes(problem.widths[number].occupied(nest)[name] * footprint(nest, Schedule())[name])


def _fixed_or_least(problem: InterleaveProblem) -> list[int]:
    """The bytes that each nest takes: by its schedule, or by the smallest tiles."""
    found: list[int] = []
    for (nest, fixed), widths in zip(_pairs(problem), problem.widths, strict=True):
        finest = Schedule(tuple(Loop(dim, 1) for dim in nest.sizes))
        found.append(footprint_bytes(nest, finest if fixed is None else fixed, widths))
    return found
