"""
What contractions cost as the backend `cycle` reports them: whole cycles, bits of DRAM traffic, joules.

Of one nest with its schedule, of nests that run round-robin, and of both over a pool of tiles (`memory.policy =
"lru"`). Vector work is not part of it: it costs the same whatever contractions run together.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

from npuc.compiler.analysis.machine.compute import Compute, compute
from npuc.compiler.analysis.machine.row_choice import configured
from npuc.compiler.analysis.machine.stationary import carried_passes, transposed
from npuc.compiler.analysis.machine.table import ENERGIES, Machine
from npuc.compiler.analysis.nest.cores import core_parts, core_traffic
from npuc.compiler.analysis.nest.elements import BYTE, Bits, Width
from npuc.compiler.analysis.nest.traffic import moved_bits
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.analysis.timing.double_buffer import pipeline
from npuc.compiler.analysis.timing.interleave import Widths, interleaved_compute, interleaved_pipeline
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.frozen import frozen
from npuc.dialects.npu.nest import Nest, Schedule
from npuc.dialects.npu.shared import RoundRobin
from npuc.dialects.products import Passes

if TYPE_CHECKING:
    from npuc.compiler.analysis.lru import Mode, Walk


@frozen
class ReportedCost:
    """Cycles, bits between DRAM and SPM, and energy in joules, None where the machine has no energies."""

    cycles: int
    moved: Width
    joules: float | None

    def score(self, objective: Objective) -> float:
        """What is minimised. Raises `UsageError` for energies that the machine does not say."""
        if objective == "time":
            return self.cycles
        if objective == "traffic":
            return self.moved
        if self.joules is None:
            needed = ", ".join(f"energy.{name}" for name in ENERGIES)
            raise UsageError(f"the objective {objective} needs energies that the machine does not say: {needed}")
        return self.joules if objective == "energy" else self.cycles * self.joules

    def reported(self, objective: Objective) -> Fraction:
        """The score, exactly."""
        if objective == "edp" and self.joules is not None:
            return self.cycles * Fraction(self.joules)
        return Fraction(self.score(objective))


def total(costs: Sequence[ReportedCost]) -> ReportedCost:
    """What several operations cost one after another."""
    joules = [cost.joules for cost in costs if cost.joules is not None]
    return ReportedCost(
        sum(cost.cycles for cost in costs),
        sum(cost.moved for cost in costs),
        sum(joules) if len(joules) == len(costs) else None,
    )


def scheduled_cost(
    nest: Nest, schedule: Schedule, machine: Machine, widths: Bits, *, tile_loaded: bool = False
) -> ReportedCost:
    """The cost of a scheduled nest; `tile_loaded`: the operation before left the stationary tile in the array."""
    timing = pipeline(nest, schedule, machine, widths, tile_loaded=tile_loaded)
    turned = _turned(nest, machine, widths)
    moved = timing.moved + turned
    passed, accessed = moved, 0
    cores = core_parts(nest, schedule)
    if schedule.core_depth:
        moves = core_traffic(nest, schedule, machine.multicast, machine.reduction)
        passed = sum(part.cores * moved_bits(nest, rows, widths) for part, rows in zip(cores, moves.moved, strict=True))
    array = configured(nest, schedule, machine.array)
    for part in cores:
        work = compute(part.nest, part.schedule, array, tile_loaded=tile_loaded)
        accessed += part.cores * _accessed(nest, work, widths)
    return _reported_cost(
        timing.time + turned / machine.channel_bits,
        moved,
        passed + accessed,
        carried_passes((nest,), machine.array),
        machine,
    )


def round_robin_cost(together: RoundRobin, machine: Machine, widths: Widths) -> ReportedCost:
    """The cost of nests that run round-robin."""
    timing = interleaved_pipeline(together, machine, widths)
    pairs = list(zip(together.nests, widths, strict=True))
    turned = sum(_turned(nest, machine, own) for nest, own in pairs)
    moved = timing.moved + turned
    works = interleaved_compute(together, machine.array)
    accessed = sum(_accessed(nest, work, own) for (nest, own), work in zip(pairs, works, strict=True))
    return _reported_cost(
        timing.time + turned / machine.channel_bits,
        moved,
        moved + accessed,
        carried_passes(together.nests, machine.array),
        machine,
    )


def pool_cost(together: RoundRobin, machine: Machine, widths: Widths, mode: Mode) -> ReportedCost:
    """The cost of nests over one pool of tiles, one after another or one operation of each, round-robin."""
    from npuc.compiler.analysis.lru import Walk, walk_pool

    walks: list[Walk] = []
    for number, (nest, schedule) in enumerate(zip(together.nests, together.schedules, strict=True)):
        values = dict(zip((t.name for t in nest.ins), together.values[number], strict=True))
        known = tuple(values.get(name, (number, name)) for name in nest.tensors)
        walks.append(Walk(nest, schedule, widths[number], known))
    pooled = walk_pool(tuple(walks), machine, mode)
    moved = sum(walked.moved for walked in pooled.walks)
    works = [compute(w.nest, w.schedule, machine.array, isolated=mode == "round-robin") for w in walks]
    accessed = sum(_accessed(w.nest, work, w.widths) for w, work in zip(walks, works, strict=True))
    if mode == "round-robin":
        return _reported_cost(
            pooled.time + works[0].overhead,
            moved,
            moved + accessed,
            carried_passes(together.nests, machine.array),
            machine,
        )
    ends = [Fraction(0), *(walked.end for walked in pooled.walks)]
    times = [end - start + work.overhead for start, end, work in zip(ends, ends[1:], works, strict=False)]
    whole = sum(ceil(time) for time in times)
    return _reported_cost(
        Fraction(whole), moved, moved + accessed, carried_passes(together.nests, machine.array), machine
    )


def _reported_cost(time: Fraction, moved: Width, spm: Width, macs: Passes, machine: Machine) -> ReportedCost:
    joules = None if machine.energy is None else machine.energy.joules(macs, spm / BYTE, moved / BYTE)
    return ReportedCost(ceil(time), moved, joules)


def _accessed(nest: Nest, work: Compute, widths: Bits) -> Width:
    """The bits that the array reads from SPM and writes to it."""
    return sum(width * work.accesses[name] for name, width in widths.with_sums(nest).items())


def _turned(nest: Nest, machine: Machine, widths: Bits) -> Width:
    """The bits read and written where tensors are transposed through memory first."""
    if machine.array.dataflow != "in-place" or machine.transpose != "explicit":
        return 0
    return 2 * sum(transposed(nest, widths.by_name(nest)).values())
