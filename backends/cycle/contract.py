"""
The cost of a scheduled contraction.

Time comes from the double-buffered pipeline of its tile operations (`npuc.compiler.analysis.timing.double_buffer`),
compute cycles from its folds (`npuc.compiler.analysis.machine.compute`), bytes from its traffic
(`npuc.compiler.analysis.nest.traffic`). Energy counts MACs, SPM accesses of the array and of the DMA, and DRAM bytes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import ceil
from operator import mul

from npuc.backends.cycle.array_facts import array_facts, core_facts, pass_facts, reload_facts
from npuc.backends.cycle.certificates import certificate_facts
from npuc.backends.cycle.facts import PoolFacts, TransposeFacts
from npuc.backends.cycle.limits import cycles_lower_bound_of, edge_facts, is_edge_bound, limit_of
from npuc.backends.cycle.outer.moves import (
    LevelMoves,
    added_joules,
    level_facts,
    level_joules,
    level_moves,
    longest_transfer,
)
from npuc.backends.cycle.outer.rooms import check_levels, check_room, named_contraction
from npuc.backends.cycle.pool import PoolShare
from npuc.backends.operations import contraction_row
from npuc.backends.sparse import sparse_facts
from npuc.compiler.analysis.machine.compute import Compute, all_work, compute
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.levels.views import views_of
from npuc.compiler.analysis.machine.row_choice import configured
from npuc.compiler.analysis.machine.stationary import carried_passes, transposed
from npuc.compiler.analysis.nest.bounds import Certificate
from npuc.compiler.analysis.nest.cores import core_count, core_parts, core_traffic
from npuc.compiler.analysis.nest.elements import Bits, contract_widths, footprint_bytes, whole_bytes
from npuc.compiler.analysis.nest.traffic import bytes_by_tensor
from npuc.compiler.analysis.programs.joint_bounds import joint_certificate
from npuc.compiler.analysis.timing.double_buffer import pipeline
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.verify import location_of
from npuc.compiler.report import OpRow, Partition, Scalar, ScheduleRow, TensorBytes
from npuc.compiler.report.sections import TransferFacts, UnmovedFacts, columns
from npuc.dialects.npu import ContractOp
from npuc.dialects.npu.nest import Nest, Schedule
from npuc.dialects.npu.resident import unmoved_tensors
from npuc.dialects.npu.shared import number_values


@dataclass(frozen=True)
class NestCost:
    """The cost of one run of a scheduled nest, in cycles and bytes."""

    cycles: int
    compute_cycles: int
    streamed_cycles: int
    edge_cycles: int
    transfer_cycles: int
    tensors: dict[str, TensorBytes]
    read: int
    written: int
    spm_bytes: int
    energy_j: float | None
    native: Mapping[str, Scalar | list[Scalar]]
    levels: LevelMoves
    level_cycles: int = 0

    @property
    def limit(self) -> str:
        """What bounds the time, as `limit_of` decides."""
        stall = self.cycles - self.compute_cycles
        if is_edge_bound(self.edge_cycles, self.streamed_cycles, stall):
            return "edge"
        return limit_of(self.cycles, self.compute_cycles, self.transfer_cycles, self.level_cycles)


@dataclass(frozen=True)
class _Traffic:
    """
    DRAM traffic of a nest by tensor, and the bytes that the DMA of a core of each class moves into and out of SPM.
    """

    tensors: dict[str, TensorBytes]
    unmoved: int
    loaded: list[int]
    stored: list[int]

    @property
    def read(self) -> int:
        """All bytes read."""
        return sum(t.read_bytes for t in self.tensors.values())

    @property
    def written(self) -> int:
        """All bytes written."""
        return sum(t.write_bytes for t in self.tensors.values())


@lru_cache(maxsize=8192)
def nest_cost(
    nest: Nest,
    schedule: Schedule,
    machine: Machine,
    widths: Bits,
    *,
    tile_loaded: bool = False,
    share: PoolShare | None = None,
    resident: frozenset[str] = frozenset(),
) -> NestCost:
    """
    The cost of a scheduled nest.

    With `tile_loaded` the operation before left the stationary tile in the array. `share` is the nest's share of a pool
    of tiles, under memory.policy "lru". `resident` tensors stay in SPM and cause no traffic.
    """
    cores = core_parts(nest, schedule)
    array = configured(nest, schedule, machine.array)
    works = [compute(part.nest, part.schedule, array, tile_loaded=tile_loaded) for part in cores]
    busiest = max(works, key=lambda work: work.cycles)
    alike = [part.cores for part in cores]
    total = all_work(zip(works, alike, strict=True))
    turned = transposed(nest, widths.by_name(nest)) if machine.array.dataflow == "in-place" else {}
    traffic = _traffic(nest, schedule, machine, widths, share, resident, turned)
    moving = widths.without(nest, resident)
    timing = pipeline(nest, schedule, machine, moving, tile_loaded=tile_loaded) if share is None else share.timing
    transposes = _transposes(nest, schedule, machine, widths, turned)
    cycles = timing.cycles
    if transposes is not None and machine.transpose == "explicit":
        cycles = transposes.explicit_cycles
    read, written = traffic.read, traffic.written
    transfer = machine.transfer_cycles(read + written)
    array_reads, array_writes = _array_accesses(nest, total, widths)
    spm_read = array_reads + sum(map(mul, alike, traffic.stored))
    spm_written = array_writes + sum(map(mul, alike, traffic.loaded))
    edge = edge_facts(total.groups, busiest, machine.array)
    peak = None if share is None else whole_bytes(share.peak)
    energy = machine.energy
    folds, register_fed, reuse = array_facts(cores, works, total, busiest, machine)
    native = columns(
        folds,
        pass_facts((nest,), machine.array),
        TransferFacts(
            transfer_cycles=transfer,
            first_load_bytes=whole_bytes(timing.head),
            spm_read_bytes=spm_read,
            spm_write_bytes=spm_written,
        ),
        edge,
        register_fed,
        reload_facts(total, busiest, machine.array, tile_loaded=tile_loaded),
        transposes,
        UnmovedFacts(not_moved_bytes=traffic.unmoved) if resident else None,
        None if peak is None else PoolFacts(peak_spm_bytes=peak),
        reuse,
        core_facts(nest, schedule, machine, widths, works, traffic.loaded, traffic.stored),
    )
    levels = level_moves(nest, schedule, machine, widths)
    return NestCost(
        cycles=cycles,
        compute_cycles=timing.compute,
        streamed_cycles=busiest.cycles - folds.fill_drain_cycles - busiest.edge,
        edge_cycles=0 if edge is None else edge.edge_cycles,
        transfer_cycles=transfer,
        tensors=traffic.tensors,
        read=read,
        written=written,
        spm_bytes=footprint_bytes(nest, schedule, widths) if peak is None else peak,
        energy_j=None
        if energy is None
        else added_joules(
            energy.joules(carried_passes((nest,), machine.array), spm_read + spm_written, read + written),
            level_joules(levels, machine),
        ),
        native=native,
        levels=levels,
        level_cycles=longest_transfer(levels, machine),
    )


def _traffic(
    nest: Nest,
    schedule: Schedule,
    machine: Machine,
    widths: Bits,
    share: PoolShare | None,
    resident: frozenset[str],
    turned: Mapping[str, int],
) -> _Traffic:
    """
    The traffic of a nest, with explicit transposes of the tensors `turned` (in bits) where the machine needs them.
    """
    moves = core_traffic(nest, schedule, machine.multicast, machine.reduction)
    outer = views_of(schedule, machine)[-1]
    far = core_traffic(nest, outer.schedule, outer.machine.multicast, outer.machine.reduction)
    moved = far.channel if share is None else dict(share.tensors)
    tensors = {name: TensorBytes(*both) for name, both in bytes_by_tensor(nest, moved, widths).items()}
    unmoved = sum(tensors[name].read_bytes + tensors[name].write_bytes for name in resident)
    tensors |= dict.fromkeys(resident, TensorBytes(0, 0))
    if machine.transpose == "explicit":
        for name, bits in turned.items():
            size = whole_bytes(bits)
            tensors[name] = TensorBytes(tensors[name].read_bytes + size, tensors[name].write_bytes + size)
    found = _Traffic(tensors, unmoved, [], [])
    if not schedule.core_depth and not machine.levels:
        return replace(found, loaded=[found.read], stored=[found.written])
    of_cores = [bytes_by_tensor(nest, rows, widths).values() for rows in moves.moved]
    loaded = [sum(read for read, _ in rows) for rows in of_cores]
    return replace(found, loaded=loaded, stored=[sum(write for _, write in rows) for rows in of_cores])


def _array_accesses(nest: Nest, work: Compute, widths: Bits) -> tuple[int, int]:
    """The bytes that the arrays of all cores read from SPM, and those that they write, for their `work` together."""
    bits = widths.with_sums(nest)
    accessed = {name: whole_bytes(work.accesses[name] * width) for name, width in bits.items()}
    returned = {t.name: whole_bytes(work.returned.get(t.name, 0) * bits[t.name]) for t in nest.outs}
    written = sum(accessed[name] - back for name, back in returned.items())
    return sum(accessed.values()) - written, written


def _transposes(
    nest: Nest, schedule: Schedule, machine: Machine, widths: Bits, turned: Mapping[str, int]
) -> TransposeFacts | None:
    """The same products after transposes through DRAM, which leave no tile in the array; None without transposes."""
    if not turned:
        return None
    moved = 2 * sum(map(whole_bytes, turned.values()))
    time = pipeline(nest, schedule, machine, widths).time + Fraction(moved) / machine.channel
    return TransposeFacts(transpose_bytes=moved, explicit_cycles=ceil(time))


def contract_row(
    op: ContractOp, machine: Machine, index: int, *, tile_loaded: bool = False, share: PoolShare | None = None
) -> OpRow:
    """
    The report row of a contraction; `tile_loaded` and `share` are as in `nest_cost`.

    Raises `UsageError` for a contraction without a schedule and `CapacityError` for blocks that do not fit the SPM.
    """
    if op.schedule_attr is None:
        raise UsageError(
            f"{named_contraction(op)} has no schedule, which the backend 'cycle' needs",
            location=location_of(op),
            hint="end the pipeline with the pass 'schedule', or write loops on the contraction",
        )
    nest, schedule = op.nest, op.schedule
    check_levels(op, machine)
    widths = contract_widths(op, machine)
    resident = unmoved_tensors(op)
    cost = nest_cost(nest, schedule, machine, widths, tile_loaded=tile_loaded, share=share, resident=resident)
    if share is None:
        check_room(op, cost.spm_bytes, machine)
    values = number_values([op.operands])

    def certify(seen: Machine, moved: int) -> Certificate:
        """The certificate of what moves to a memory of blocks, as a machine sees it."""
        return joint_certificate((nest,), values, seen.bounding_spm, (widths.without(nest, resident),), moved)

    outermost = views_of(schedule, machine)[-1].machine
    certified = certify(outermost, cost.read + cost.written)
    if share is not None:
        certified = certified.without_traffic(share.found)
    own = max(0, certified.bound - (0 if share is None else share.early))
    levels = level_facts(cost.levels, machine, lambda seen, moved: certify(seen, moved).bound)
    bound = cycles_lower_bound_of((nest,), own, machine, levels)
    return contraction_row(
        op,
        index,
        nest,
        macs=nest.macs,
        mac_passes=carried_passes((nest,), machine.array),
        cycles=cost.cycles,
        compute_cycles=cost.compute_cycles,
        peak=machine.elements,
        seconds=machine.seconds(cost.cycles),
        dram_read_bytes=cost.read,
        dram_write_bytes=cost.written,
        spm_bytes=cost.spm_bytes,
        energy_j=cost.energy_j,
        limit=cost.limit,
        lower_bound_bytes=certified.bound,
        lower_bound_seconds=machine.seconds(bound),
        schedule=schedule_row(nest, schedule),
        tensors=cost.tensors,
        native={**cost.native, **columns(certificate_facts(certified), sparse_facts((op,), machine), levels)},
    )


@lru_cache(maxsize=8192)
def schedule_row(nest: Nest, schedule: Schedule) -> ScheduleRow:
    """
    A schedule as a report shows it: loops over cores are a partition over cores, the outer loop of a dimension that is
    tiled twice is a partition over time.
    """
    over, inner = schedule.loops[: schedule.core_depth], schedule.loops[schedule.core_depth :]
    dims = [loop.dim for loop in inner]
    order = [loop.dim for n, loop in enumerate(inner) if loop.dim not in dims[n + 1 :]]
    outer = [loop for n, loop in enumerate(inner) if loop.dim in dims[n + 1 :]]
    partition = None
    if over:
        each = {loop.dim: -(-nest.sizes[loop.dim] // loop.step) for loop in over}
        partition = Partition(",".join(each), core_count(nest, schedule), "cores", each if len(each) > 1 else None)
    elif outer:
        parts = -(-nest.sizes[outer[0].dim] // outer[0].step)
        partition = Partition(outer[0].dim, parts, "time")
    tile = nest.sizes | {loop.dim: loop.step for loop in schedule.loops}
    program = "fused" if len(nest.statements) > 1 else "sequential"
    return ScheduleRow(program=program, order=order, tile=tile, keep=schedule.keep_depths, partition=partition)
