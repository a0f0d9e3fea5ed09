"""The sections of a contraction's row about its arrays and cores."""

from collections.abc import Sequence
from math import ceil

from npuc.backends.cycle.facts import ArrayFacts, RegisterFedFacts, ReloadFacts, WeightReuseFacts
from npuc.backends.cycle.limits import edge_waits, has_edge_waits
from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.compute import Compute
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.stationary import stationary_reuse
from npuc.compiler.analysis.nest.cores import CorePart, on_cores
from npuc.compiler.analysis.nest.elements import Bits
from npuc.compiler.analysis.timing.double_buffer import core_timings, pipeline
from npuc.compiler.report.sections import CoreFacts, PassFacts
from npuc.dialects.npu.nest import Nest, Schedule


def array_facts(
    cores: Sequence[CorePart], works: Sequence[Compute], total: Compute, busiest: Compute, machine: Machine
) -> tuple[ArrayFacts, RegisterFedFacts | None, WeightReuseFacts | None]:
    """
    Tiles, folds and fill; for a register-fed array also its instructions and the reuse of weights.

    `works` are those of a core of each class in `cores`, `total` is the work of all.
    """
    array, tiles, folds = machine.array, total.tiles, total.folds
    if array.stages is None:
        filling = (
            busiest.overhead + busiest.filling + busiest.folds * array.fold_overhead + busiest.reloads * array.reload
        )
        return ArrayFacts(tiles=tiles, folds=folds, fill_drain_cycles=filling), None, None
    filling = busiest.cycles - busiest.instructions * array.tile_m
    groups = sum(p.cores * weight_groups(p.nest, p.schedule, machine, w) for p, w in zip(cores, works, strict=True))
    instructions = total.instructions
    return (
        ArrayFacts(tiles=tiles, folds=folds, fill_drain_cycles=filling),
        RegisterFedFacts(instructions=instructions, weight_groups=groups),
        WeightReuseFacts(weight_reuse=instructions / groups),
    )


def pass_facts(nests: Sequence[Nest], array: Array) -> PassFacts | None:
    """The passes of the products of nests; None for an array whose multipliers take whole mantissas."""
    if array.mantissa_bits is None:
        return None
    each = [ceil(statement.passes) for nest in nests for statement in nest.statements]
    return PassFacts(product_passes=each, mac_passes=ceil(sum(nest.mac_passes for nest in nests)))


def reload_facts(total: Compute, busiest: Compute, array: Array, *, tile_loaded: bool) -> ReloadFacts | None:
    """Reloads of the stationary tile; None for an array where they take no time of their own."""
    if array.stages is not None or not array.reload:
        return None
    return ReloadFacts(reloads=total.reloads, reload_cycles=busiest.reloads * array.reload, held=int(tile_loaded))


def core_facts(
    nest: Nest,
    schedule: Schedule,
    machine: Machine,
    widths: Bits,
    works: Sequence[Compute],
    read: Sequence[int],
    written: Sequence[int],
) -> CoreFacts | None:
    """
    The work of each core and the load balance, on a chip of several cores.

    `works`, `read` and `written` (bytes) are those of a core of each class.
    """
    if machine.cores == 1:
        return None
    if schedule.core_depth:
        timings = core_timings(nest, schedule, machine, widths)
    else:
        timings = (pipeline(nest, schedule, machine, widths),)

    def each(values: Sequence[int]) -> list[int]:
        return on_cores(nest, schedule, values)

    work = each([timing.compute for timing in timings])
    edge = [edge_waits(one, machine.array) for one in works] if has_edge_waits(machine.array) else None
    return CoreFacts(
        cores=len(work),
        load_balance=sum(work) / (max(work) * machine.cores),
        core_cycles=each([timing.cycles for timing in timings]),
        core_compute_cycles=work,
        core_read_bytes=each(read),
        core_write_bytes=each(written),
        core_edge_cycles=None if edge is None else each(edge),
    )


def weight_groups(nest: Nest, schedule: Schedule, machine: Machine, work: Compute) -> int:
    """The number of groups of consecutive instructions on the same weights, on a register-fed array."""
    array = machine.array
    return work.folds - sum(
        stationary_reuse(nest, schedule, array, statement, count_all=True).tiles for statement in nest.statements
    )
