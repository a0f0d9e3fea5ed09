"""The sections of a contraction's row about its arrays and cores."""

from collections.abc import Sequence

from npuc.backends.cycle.facts import ArrayFacts, RegisterFedFacts, ReloadFacts, WeightReuseFacts
from npuc.backends.cycle.limits import edge_waits, has_edge_waits
from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.compute import Compute
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.stationary import stationary_reuse
from npuc.compiler.analysis.nest.cores import CorePart
from npuc.compiler.analysis.nest.elements import Bits
from npuc.compiler.analysis.timing.double_buffer import core_timings, pipeline
from npuc.compiler.report.sections import CoreFacts
from npuc.dialects.npu.nest import Nest, Schedule


def array_facts(
    cores: Sequence[CorePart], works: Sequence[Compute], busiest: Compute, machine: Machine
) -> tuple[ArrayFacts, RegisterFedFacts | None, WeightReuseFacts | None]:
    """Tiles, folds and fill; for a register-fed array also its instructions and the reuse of weights."""
    array, tiles, folds = machine.array, sum(work.tiles for work in works), sum(work.folds for work in works)
    if array.stages is None:
        filling = (
            busiest.overhead + busiest.filling + busiest.folds * array.fold_overhead + busiest.reloads * array.reload
        )
        return ArrayFacts(tiles=tiles, folds=folds, fill_drain_cycles=filling), None, None
    filling = busiest.cycles - busiest.instructions * array.tile_m
    groups = sum(weight_groups(p.nest, p.schedule, machine, w) for p, w in zip(cores, works, strict=True))
    instructions = sum(work.instructions for work in works)
    return (
        ArrayFacts(tiles=tiles, folds=folds, fill_drain_cycles=filling),
        RegisterFedFacts(instructions=instructions, weight_groups=groups),
        WeightReuseFacts(weight_reuse=instructions / groups),
    )


def reload_facts(works: Sequence[Compute], busiest: Compute, array: Array, *, tile_loaded: bool) -> ReloadFacts | None:
    """Reloads of the stationary tile; None for an array where they take no time of their own."""
    if array.stages is not None or not array.reload:
        return None
    reloads = sum(work.reloads for work in works)
    return ReloadFacts(reloads=reloads, reload_cycles=busiest.reloads * array.reload, held=int(tile_loaded))


def core_facts(
    nest: Nest,
    schedule: Schedule,
    machine: Machine,
    widths: Bits,
    works: Sequence[Compute],
    read: list[int],
    written: list[int],
) -> CoreFacts | None:
    """The work of each core and the load balance, on a chip of several cores."""
    if machine.cores == 1:
        return None
    if schedule.core_depth:
        timings = core_timings(nest, schedule, machine, widths)
    else:
        timings = (pipeline(nest, schedule, machine, widths),)
    work = [timing.compute for timing in timings]
    return CoreFacts(
        cores=len(timings),
        load_balance=sum(work) / (max(work) * machine.cores),
        core_cycles=[timing.cycles for timing in timings],
        core_compute_cycles=work,
        core_read_bytes=[*read],
        core_write_bytes=[*written],
        core_edge_cycles=[edge_waits(one, machine.array) for one in works] if has_edge_waits(machine.array) else None,
    )


def weight_groups(nest: Nest, schedule: Schedule, machine: Machine, work: Compute) -> int:
    """The number of groups of consecutive instructions on the same weights, on a register-fed array."""
    array = machine.array
    return work.folds - sum(
        stationary_reuse(nest, schedule, array, statement, count_all=True).tiles for statement in nest.statements
    )
