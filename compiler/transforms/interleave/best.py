"""Contractions that share an operand, in whatever way costs least."""

from collections.abc import Hashable
from dataclasses import dataclass, field, replace

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
from npuc.dialects.structural import structural_key


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


@dataclass
class BestWays:
    """
    The best ways of the sets of a block, each looked for once among sets that are equal in all that it depends on: what
    contractions are, which of their operands are one value, and what the array may hold before each.
    """

    machine: Machine
    goal: Goal
    known: dict[Hashable, CostedProgram | None] = field(default_factory=dict[Hashable, CostedProgram | None])
    alive: list[object] = field(default_factory=list[object])
    """Attributes and types by whose identity keys are made, which no other may take."""

    def of(self, found: Sharing) -> CostedProgram | None:
        """The way of a set (`best_way`)."""
        key = self._key(found)
        if key not in self.known:
            self.known[key] = best_way(found, self.machine, self.goal)
            for op in found.ops:
                values = (*op.operands, *op.results)
                self.alive += (*op.properties.values(), op.attributes.get("role"), *(value.type for value in values))
        return self.known[key]

    def _key(self, found: Sharing) -> Hashable:
        kinds = tuple(structural_key(op) for op in found.ops)
        values = number_values([[same_value(value) for value in op.operands] for op in found.ops])
        return kinds, values, found.names, tuple(may_find_tile(op, self.machine) for op in found.ops)


def merge_best(found: Sharing, ways: BestWays) -> None:
    """
    Fuse contractions, let them run round-robin or leave them, whichever costs least, and write their schedules.

    Where not even the smallest tiles of one of them fit, they are left without: the pass `schedule` says so of the
    first such contraction of the program.
    """
    best, machine = ways.of(found), ways.machine
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
