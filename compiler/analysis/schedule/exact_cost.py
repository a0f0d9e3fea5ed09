"""The exact cost of a scheduled nest, by which a schedule search decides."""

from fractions import Fraction
from math import ceil

from npuc.compiler.analysis.machine.compute import compute
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.levels.views import views_of
from npuc.compiler.analysis.machine.row_choice import configured
from npuc.compiler.analysis.machine.stationary import carried_passes
from npuc.compiler.analysis.nest.cores import core_parts, core_traffic
from npuc.compiler.analysis.nest.elements import BYTE, Bits, Width
from npuc.compiler.analysis.nest.traffic import moved_bits
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.analysis.timing.double_buffer import pipeline
from npuc.compiler.core.frozen import frozen
from npuc.dialects.npu.nest import Nest, Schedule


@frozen
class ExactCost:
    """
    Cycles, bits between DRAM and SPM, and energy in joules, None where it is not asked for or not known. `cycles` are
    the whole ones that a report says, without rounding of floats where they are given.
    """

    time: float
    moved: float
    joules: float | None
    cycles: int | None = None

    def score(self, objective: Objective) -> float:
        """What is minimised: of a machine without energies its traffic."""
        if objective == "time":
            return self.time
        if objective == "traffic" or self.joules is None:
            return self.moved
        return self.joules if objective == "energy" else self.time * self.joules

    def reported(self, objective: Objective) -> Fraction:
        """The score with whole cycles, as a report says it, exactly."""
        if objective == "time" or (objective == "edp" and self.joules is not None):
            cycles = ceil(self.time) if self.cycles is None else self.cycles
            return Fraction(cycles) if objective == "time" else cycles * Fraction(self.joules or 0.0)
        return Fraction(self.score(objective))


def exact_cost(
    nest: Nest, schedule: Schedule, machine: Machine, objective: Objective, widths: Bits
) -> tuple[float, float]:
    """The exact value of the objective, and the bits that the schedule moves."""
    cost = exact_costs(nest, schedule, machine, widths, energy=objective in ("energy", "edp"))
    return cost.score(objective), cost.moved


def exact_costs(nest: Nest, schedule: Schedule, machine: Machine, widths: Bits, *, energy: bool = True) -> ExactCost:
    """All that a schedule costs, exactly; with `energy` also its energy."""
    timing = pipeline(nest, schedule, machine, widths)
    if machine.energy is None or not energy:
        return ExactCost(float(timing.time), timing.moved, None, ceil(timing.time))
    joules = joules_of(nest, schedule, machine, widths, timing.moved)
    return ExactCost(float(timing.time), timing.moved, joules, ceil(timing.time))


def joules_of(nest: Nest, schedule: Schedule, machine: Machine, widths: Bits, moved: Width) -> float | None:
    """The energy of a schedule that moves so many bits on the DRAM channel; None where the machine does not say it."""
    if machine.energy is None:
        return None
    bits = widths.with_sums(nest)
    moves = core_traffic(nest, schedule, machine.multicast, machine.reduction)
    array, spm = configured(nest, schedule, machine.array), 0
    for part, rows in zip(core_parts(nest, schedule), moves.moved, strict=True):
        accesses = compute(part.nest, part.schedule, array).accesses
        accessed = sum(bits[name] * elements for name, elements in accesses.items())
        spm += part.cores * (moved_bits(nest, rows, widths) + accessed)
    found = machine.energy.joules(carried_passes((nest,), machine.array), spm / BYTE, moved / BYTE)
    return found + _level_joules(nest, schedule, machine, widths)


def _level_joules(nest: Nest, schedule: Schedule, machine: Machine, widths: Bits) -> float:
    """The energy of accesses to memories between SPM and DRAM, from both sides of each."""
    if not machine.levels:
        return 0.0
    bits = [
        moved_bits(
            nest, core_traffic(nest, view.schedule, view.machine.multicast, view.machine.reduction).channel, widths
        )
        for view in views_of(schedule, machine)
    ]
    return sum(
        1e-12 * (level.pj_per_byte or 0.0) * float(bits[number] + bits[number + 1]) / BYTE
        for number, level in enumerate(machine.levels)
    )
