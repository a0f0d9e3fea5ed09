"""
What a scheduled contraction costs.

Time is the pipeline of its tile operations (`npuc.compiler.analysis.timing.double_buffer`), compute cycles are those of
its folds (`npuc.compiler.analysis.machine.compute`), bytes its traffic (`npuc.compiler.analysis.nest.traffic`). Energy
counts MACs, bytes between array and SPM and what the DMA moves in and out of SPM, and DRAM bytes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil

from npuc.backends.cycle.array_facts import array_facts, core_facts, reload_facts
from npuc.backends.cycle.certificates import certificate_facts
from npuc.backends.cycle.facts import (
    PoolFacts,
    TransposeFacts,
)
from npuc.backends.cycle.limits import (
    cycles_lower_bound_of,
    edge_facts,
    is_edge_bound,
    limit_of,
)
from npuc.backends.cycle.pool import Share
from npuc.backends.operations import identity_of, sizes_of
from npuc.compiler.analysis.machine.compute import compute
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.stationary import transposed
from npuc.compiler.analysis.nest.cores import core_count, core_parts, core_traffic
from npuc.compiler.analysis.nest.elements import Bits, contract_widths, footprint_bytes, whole_bytes
from npuc.compiler.analysis.nest.traffic import bytes_by_tensor
from npuc.compiler.analysis.programs.joint_bounds import joint_certificate
from npuc.compiler.analysis.timing.double_buffer import pipeline
from npuc.compiler.core.errors import CapacityError, UsageError
from npuc.compiler.core.verify import location_of
from npuc.compiler.report import OpRow, Partition, Scalar, ScheduleRow, TensorBytes
from npuc.compiler.report.sections import TransferFacts, UnmovedFacts, columns
from npuc.dialects.npu import ContractOp
from npuc.dialects.npu.nest import Nest, Schedule
from npuc.dialects.npu.resident import not_moved
from npuc.dialects.npu.shared import number_values
from npuc.dialects.provenance import layer_of


@dataclass(frozen=True)
class Cost:
    """What one run of a scheduled nest costs; in cycles and bytes."""

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

    @property
    def limit(self) -> str:
        """What sets the time, as `limit_of` says."""
        stall = self.cycles - self.compute_cycles
        if is_edge_bound(self.edge_cycles, self.streamed_cycles, stall):
            return "edge"
        return limit_of(self.cycles, self.compute_cycles, self.transfer_cycles)


@lru_cache(maxsize=8192)
def nest_cost(
    nest: Nest,
    schedule: Schedule,
    machine: Machine,
    widths: Bits,
    held: bool = False,
    share: Share | None = None,
    still: frozenset[str] = frozenset(),
) -> Cost:
    """
    The cost of a scheduled nest.

    `held`: the operation before left the stationary tile in the array. `share`: what it does in a pool of tiles, under
    memory.policy "lru". `still`: the tensors of which nothing moves, as they stay in SPM.
    """
    moving = widths.without(nest, still)
    cores = core_parts(nest, schedule)
    moves = core_traffic(nest, schedule, machine.multicast, machine.reduction)
    moved = moves.channel if share is None else dict(share.tensors)
    tensors = {name: TensorBytes(*both) for name, both in bytes_by_tensor(nest, moved, widths).items()}
    kept_still = sum(tensors[name].read_bytes + tensors[name].write_bytes for name in still)
    tensors |= dict.fromkeys(still, TensorBytes(0, 0))
    turned = transposed(nest, widths.by_name(nest)) if machine.array.dataflow == "in-place" else {}
    if machine.transpose == "explicit":
        for name, bits in turned.items():
            size = whole_bytes(bits)
            tensors[name] = TensorBytes(tensors[name].read_bytes + size, tensors[name].write_bytes + size)
    read = sum(t.read_bytes for t in tensors.values())
    written = sum(t.write_bytes for t in tensors.values())
    works = [compute(part.nest, part.schedule, machine.array, tile_loaded=held) for part in cores]
    outs = {t.name for t in nest.outs}
    accessed = {
        name: whole_bytes(sum(work.accesses[name] for work in works) * bits)
        for name, bits in widths.with_sums(nest).items()
    }
    stored = sum(size for name, size in accessed.items() if name in outs)
    loaded = sum(accessed.values()) - stored
    # What the DMA brings into an SPM is written there, what it takes out is read there.
    brought, taken = [read], [written]
    if schedule.core_depth:
        each = [bytes_by_tensor(nest, rows, widths).values() for rows in moves.moved]
        brought, taken = ([sum(both[way] for both in rows) for rows in each] for way in (0, 1))
    busiest = max(works, key=lambda work: work.cycles)
    timing = pipeline(nest, schedule, machine, moving, held) if share is None else share.timing
    transfer = machine.transfer_cycles(read + written)
    spm_read, spm_written = loaded + sum(taken), stored + sum(brought)
    edge = edge_facts(works, busiest, machine.array)
    cycles = timing.cycles
    transposes = None
    if turned:
        # For comparison: the same products after transposes through DRAM, which leave no tile in the array.
        twice = 2 * sum(map(whole_bytes, turned.values()))
        extra = Fraction(twice) / machine.channel
        explicit = ceil(pipeline(nest, schedule, machine, widths).time + extra)
        transposes = TransposeFacts(transpose_bytes=twice, explicit_cycles=explicit)
        cycles = explicit if machine.transpose == "explicit" else cycles
    peak = None if share is None else whole_bytes(share.peak)
    energy = None
    if machine.energy is not None:
        energy = machine.energy.joules(nest.macs, spm_read + spm_written, read + written)
    array, register_fed, reuse = array_facts(cores, works, busiest, machine)
    native = columns(
        array,
        TransferFacts(
            transfer_cycles=transfer,
            first_load_bytes=whole_bytes(timing.head),
            spm_read_bytes=spm_read,
            spm_write_bytes=spm_written,
        ),
        edge,
        register_fed,
        reload_facts(works, busiest, machine.array, held),
        transposes,
        UnmovedFacts(not_moved_bytes=kept_still) if still else None,
        None if peak is None else PoolFacts(peak_spm_bytes=peak),
        reuse,
        core_facts(nest, schedule, machine, widths, works, brought, taken),
    )
    return Cost(
        cycles=cycles,
        compute_cycles=timing.compute,
        streamed_cycles=busiest.cycles - array.fill_drain_cycles - busiest.edge,
        edge_cycles=0 if edge is None else edge.edge_cycles,
        transfer_cycles=transfer,
        tensors=tensors,
        read=read,
        written=written,
        spm_bytes=footprint_bytes(nest, schedule, widths) if peak is None else peak,
        energy_j=energy,
        native=native,
    )


def contract_row(op: ContractOp, machine: Machine, index: int, held: bool = False, share: Share | None = None) -> OpRow:
    """
    The row of a contraction; `held`: the one before left its stationary tile in the array; `share`: its pool's.

    Raises `UsageError` for one without a schedule and `CapacityError` for blocks that do not fit the SPM.
    """
    if op.schedule_attr is None:
        raise UsageError(
            f"{_named(op)} has no schedule, which the backend 'cycle' needs",
            location=location_of(op),
            hint="end the pipeline with the pass 'schedule', or write loops on the contraction",
        )
    nest, schedule = op.nest, op.schedule
    widths = contract_widths(op, machine)
    still = not_moved(op)
    cost = nest_cost(nest, schedule, machine, widths, held, share, still)
    if share is None:
        _check_room(op, cost, machine)
    values, moved = number_values([op.operands]), cost.read + cost.written
    certified = joint_certificate((nest,), values, machine.bounding_spm, (widths.without(nest, still),), moved)
    if share is not None:
        certified = certified.without_traffic(share.found)
    own = max(0, certified.bound - (0 if share is None else share.early))
    bound = cycles_lower_bound_of((nest,), own, machine)
    return OpRow(
        index=index,
        **identity_of(op),
        kind="matrix",
        **sizes_of(nest),
        macs=nest.macs,
        vector_ops=0,
        cycles=cost.cycles,
        compute_cycles=cost.compute_cycles,
        stall_cycles=cost.cycles - cost.compute_cycles,
        seconds=machine.seconds(cost.cycles),
        utilization=nest.macs / (machine.elements * cost.cycles),
        dram_read_bytes=cost.read,
        dram_write_bytes=cost.written,
        spm_bytes=cost.spm_bytes,
        energy_j=cost.energy_j,
        limit=cost.limit,
        lower_bound_bytes=certified.bound,
        lower_bound_seconds=machine.seconds(bound),
        schedule=schedule_row(nest, schedule),
        tensors=cost.tensors,
        native={**cost.native, **certificate_facts(certified).columns()},
    )


def _named(op: ContractOp) -> str:
    layer = layer_of(op)
    return f"the contraction of layer {layer}" if layer else "a contraction"


def _check_room(op: ContractOp, cost: Cost, machine: Machine) -> None:
    needed = max(cost.spm_bytes, op.schedule.spm or 0)
    if needed > machine.spm_bytes:
        raise CapacityError(
            f"the schedule of {_named(op)} takes {needed:,} bytes of SPM, a schedule may use {machine.spm_bytes:,}",
            location=location_of(op),
            hint="smaller steps, less to keep, or a larger memory.spm_kib",
        )
    cores = core_count(op.nest, op.schedule)
    if cores > machine.cores:
        raise CapacityError(
            f"the schedule of {_named(op)} takes {cores:,} cores, the machine has {machine.cores:,}",
            location=location_of(op),
            hint=f"larger steps over cores, or array.cores={cores}",
        )


@lru_cache(maxsize=8192)
def schedule_row(nest: Nest, schedule: Schedule) -> ScheduleRow:
    """
    A schedule as reports show it: loops over cores are a partition over cores, the outer loop of a dimension that is
    cut twice one over time.
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
