"""
What groups cost at least, whatever stays in SPM and by whatever schedules.

All that may be in SPM is taken to be there, and to leave all of it for blocks: then each operation takes at least the
cycles that the array needs for its nest by any schedule, and moves at least what the lower bound of its traffic says
(`npuc.compiler.analysis.nest.bounds`). A whole operand moves at least once, and a group as a whole is no faster than
its traffic. Energies are floats, so that their bounds are a little lower.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import ceil

from npuc.compiler.analysis.fusion.problem import summed
from npuc.compiler.analysis.machine.compute import cycles_lower_bound
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.stationary import carried_passes
from npuc.compiler.analysis.nest.bounds import compulsory_bits, lower_bound_bits
from npuc.compiler.analysis.nest.elements import BYTE
from npuc.compiler.analysis.programs.reported_costs import ReportedCost
from npuc.compiler.transforms.fuse_layers.frame import Frame
from npuc.compiler.transforms.fuse_layers.sized import NOTHING, Names, Sized, stream_cost
from npuc.dialects.npu import MoveOp, VectorOp

SLACK = 1e-9
"""The share by which energies may be rounded differently in a bound and in a price."""


def least_of(costs: Iterable[ReportedCost]) -> ReportedCost:
    """The least of several costs in each measure."""
    found = list(costs)
    joules = [one.joules for one in found if one.joules is not None]
    return ReportedCost(
        min(one.cycles for one in found),
        min(one.moved for one in found),
        min(joules) if len(joules) == len(found) else None,
    )


def least_cost(frame: Frame, sized: Mapping[int, Sized], runs: int, machine: Machine) -> ReportedCost:
    """What a group costs at least in so many micro-batches, in each measure; its members as they are in one of them."""
    free: dict[int, set[str]] = {number: set() for number in frame.members}
    once = 0
    for value in frame.values:
        for place, access in enumerate(value.accesses):
            if value.whole or value.is_sum or (not value.stored if access.defines else place > 0):
                free[access.step].add(access.name)
        if value.is_sum or (value.whole and all(sized[one.step].reads_whole(one.name) for one in value.accesses)):
            once += value.bytes
    each = summed(least_of_member(sized[number], frozenset(free[number])) for number in frame.members)
    moved = each.moved * runs + BYTE * once
    joules = None
    if each.joules is not None and machine.energy is not None:
        joules = each.joules * runs + (1 - SLACK) * machine.energy.joules(0, once, once)
    return ReportedCost(max(each.cycles * runs, ceil(moved / machine.channel_bits)), moved, joules)


def least_of_member(sized: Sized, free: Names) -> ReportedCost:
    """What an operation costs at least where no other tensors than those of `free` are in SPM, which move nothing."""
    if free not in sized.bounds:
        found = _bound(sized, free)
        sized.bounds[free] = replace(found, joules=found.joules and (1 - SLACK) * found.joules)
    return sized.bounds[free]


def _bound(sized: Sized, free: Names) -> ReportedCost:
    op, machine = sized.op, sized.machine
    if sized.nest is not None and sized.bits is not None:
        nest = sized.nest
        bits = sized.bits.without(nest, free)
        # Where a tensor moves nothing, what fits in SPM bounds nothing.
        moved = compulsory_bits(nest, bits) if free else lower_bound_bits(nest, machine.spm_bytes, bits)
        busy, transfer = cycles_lower_bound((nest,), machine.array), moved / machine.channel_bits
        cycles = max(busy, ceil(transfer)) if machine.double_buffer else ceil(busy + transfer)
        joules = None
        if machine.energy is not None:
            joules = machine.energy.joules(carried_passes((nest,), machine.array), moved / BYTE, moved / BYTE)
        return ReportedCost(cycles, moved, joules)
    if isinstance(op, VectorOp):
        return stream_cost(op, machine, free, tuple(sized.tensors))
    return stream_cost(op, machine) if isinstance(op, MoveOp) else NOTHING
