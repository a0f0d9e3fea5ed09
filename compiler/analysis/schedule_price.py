"""What is minimised, exactly, of a nest with its schedule: the judge of a schedule search."""

from npuc.compiler.analysis.compute import compute
from npuc.compiler.analysis.cores import parts, spread_traffic
from npuc.compiler.analysis.machine import Machine
from npuc.compiler.analysis.pipeline import pipeline
from npuc.compiler.analysis.prices import Objective
from npuc.dialects.npu.nest import Nest, Schedule


def price_of(
    nest: Nest, schedule: Schedule, machine: Machine, objective: Objective, widths: tuple[int, ...]
) -> tuple[float, float]:
    """What is minimised, exactly, and the bytes that a schedule moves."""
    timing = pipeline(nest, schedule, machine, widths)
    time, energy = float(timing.time), machine.energy
    if objective == "time":
        return time, timing.moved
    if objective == "traffic" or energy is None:
        return timing.moved, timing.moved
    width = dict(zip(nest.tensors, widths, strict=True))
    spread = spread_traffic(nest, schedule, machine.multicast, machine.reduction == "on-chip")
    spm = sum(width[name] * (t.read + t.write) for rows in spread.moved for name, t in rows.items())
    for part in parts(nest, schedule):
        accesses = compute(part.nest, part.schedule, machine.array).accesses
        spm += sum(width[name] * elements for name, elements in accesses.items())
    joules = energy.joules(nest.macs, spm, timing.moved)
    return (joules if objective == "energy" else time * joules), timing.moved
