"""The exact cost of a scheduled nest, by which a schedule search decides."""

from npuc.compiler.analysis.machine.compute import compute
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.row_choice import configured
from npuc.compiler.analysis.nest.cores import core_parts, core_traffic
from npuc.compiler.analysis.nest.elements import BYTE, Bits
from npuc.compiler.analysis.nest.traffic import moved_bits
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.analysis.timing.double_buffer import pipeline
from npuc.dialects.npu.nest import Nest, Schedule


def exact_cost(
    nest: Nest, schedule: Schedule, machine: Machine, objective: Objective, widths: Bits
) -> tuple[float, float]:
    """The exact value of the objective, and the bits that the schedule moves."""
    timing = pipeline(nest, schedule, machine, widths)
    time, energy = float(timing.time), machine.energy
    if objective == "time":
        return time, timing.moved
    if objective == "traffic" or energy is None:
        return timing.moved, timing.moved
    bits = widths.with_sums(nest)
    moves = core_traffic(nest, schedule, machine.multicast, machine.reduction)
    spm = sum(moved_bits(nest, rows, widths) for rows in moves.moved)
    array = configured(nest, schedule, machine.array)
    for part in core_parts(nest, schedule):
        accesses = compute(part.nest, part.schedule, array).accesses
        spm += sum(bits[name] * elements for name, elements in accesses.items())
    joules = energy.joules(nest.macs, spm / BYTE, timing.moved / BYTE)
    return (joules if objective == "energy" else time * joules), timing.moved
