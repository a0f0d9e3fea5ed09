"""Contractions that share an operand, in whatever way costs least."""

from dataclasses import replace

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.reused_tiles import may_find_tile
from npuc.compiler.analysis.nest.elements import contract_widths, value_widths
from npuc.compiler.analysis.programs.cheapest import CostedProgram, FusedNest, best_program
from npuc.compiler.analysis.programs.interleave_search import InterleaveProblem
from npuc.compiler.core.errors import CapacityError
from npuc.compiler.transforms.interleave.fuse import joined_nest
from npuc.compiler.transforms.interleave.patterns import FuseContractions, RoundRobin
from npuc.compiler.transforms.interleave.sharing import Sharing
from npuc.compiler.transforms.named_pattern import apply_pattern
from npuc.compiler.transforms.schedule.patterns import JointSchedule, SetSchedule
from npuc.compiler.transforms.schedule.searches import Goal, schedule_for
from npuc.dialects.npu.nest import Schedule
from npuc.dialects.npu.shared import number_values
from npuc.dialects.npu.tensor_work import same_value


def best_way(found: Sharing, machine: Machine, goal: Goal) -> CostedProgram | None:
    """
    How contractions run at the least cost, and their schedules: as one nest, round-robin or as they are; those that
    have a schedule keep it if they are left. None where not even the smallest tiles of one of them fit.
    """

    def apart(goal: Goal) -> tuple[Schedule, ...]:
        return tuple(
            op.schedule if op.schedule_attr is not None else schedule_for(op, machine, goal) for op in found.ops
        )

    try:
        own, strict = apart(goal), apart(replace(goal, tolerance=0.0, monotone=False))
    except CapacityError:
        return None
    problem, fused = _problem(found, machine), _fused(found, machine)
    return best_program(problem, own, fused, goal.objective, goal.tolerance, strict if goal.tolerance else ())


def merge_best(found: Sharing, machine: Machine, goal: Goal) -> None:
    """
    Fuse contractions, let them run round-robin or leave them, whichever costs least, and write their schedules.

    Where not even the smallest tiles of one of them fit, they are left without: the pass `schedule` says so of the
    first such contraction of the program.
    """
    best = best_way(found, machine, goal)
    if best is None:
        return
    first = found.ops[0]
    if best.kind == "fused":
        (whole,) = best.schedules
        apply_pattern(FuseContractions(found.at_first, lambda new: whole), first)
        return
    schedules = dict(zip(found.ops, best.schedules, strict=True))
    for op in found.ops:
        apply_pattern(SetSchedule(schedules.get), op)
    if best.kind == "zip":
        apply_pattern(RoundRobin(found.at_first, lambda new: JointSchedule(best.schedules, machine.spm_bytes)), first)


def _problem(found: Sharing, machine: Machine) -> InterleaveProblem:
    inputs = [[same_value(value) for value in op.operands[: len(op.nest.ins)]] for op in found.ops]
    widths = tuple(contract_widths(op, machine) for op in found.ops)
    nests = tuple(op.nest for op in found.ops)
    may_find = tuple(may_find_tile(op, machine) for op in found.ops)
    return InterleaveProblem(nests, number_values(inputs), (None,) * len(nests), widths, machine, may_find)


def _fused(found: Sharing, machine: Machine) -> FusedNest | None:
    joined = joined_nest(found)
    if joined is None:
        return None
    operands = [found.ops[part].operands[number] for part, number in joined.sources]
    results = [result for op in found.ops for result in op.results]
    inputs = len(joined.nest.ins)
    return FusedNest(joined.nest, value_widths(operands[:inputs], results, operands[inputs:], machine))
