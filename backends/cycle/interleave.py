"""
What contractions cost that run round-robin (`npu.interleave`): one row for all of them.

Time is the pipeline of their tile operations in turn, bytes are theirs, and what several keep whole is read once
(`npuc.compiler.analysis.timing.interleave`); over a pool of tiles (`memory.policy = "lru"`) both are those of its walk.
Tensors are named as the nests do; of different ones with the same name, the later are numbered. Order and tile of the
row's schedule are the first nest's, `native.schedules` has all of them.
"""

from fractions import Fraction
from math import ceil

from msgspec.structs import replace

from npuc.backends.cycle.array_facts import pass_facts
from npuc.backends.cycle.certificates import certificate_facts
from npuc.backends.cycle.contract import schedule_row
from npuc.backends.cycle.facts import ArrayFacts, InterleavedFacts
from npuc.backends.cycle.limits import cycles_lower_bound_of, edge_facts, is_edge_bound, limit_of
from npuc.backends.cycle.pool import walks_of
from npuc.backends.operations import contraction_row
from npuc.backends.sparse import sparse_facts
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.levels.views import level_names
from npuc.compiler.analysis.machine.stationary import carried_passes, transposed
from npuc.compiler.analysis.nest.elements import contract_widths, footprint_bytes, whole_bytes
from npuc.compiler.analysis.nest.traffic import TensorTraffic, bytes_by_tensor
from npuc.compiler.analysis.programs.joint_bounds import joint_certificate
from npuc.compiler.analysis.timing.double_buffer import Timing
from npuc.compiler.analysis.timing.interleave import (
    Widths,
    interleaved_compute,
    interleaved_pipeline,
    interleaved_traffic,
    tensor_names,
)
from npuc.compiler.core.errors import CapacityError, UsageError
from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.verify import location_of
from npuc.compiler.report import OpRow, ScheduleRow, TensorBytes
from npuc.compiler.report.sections import TransferFacts, columns
from npuc.dialects.npu import InterleaveOp
from npuc.dialects.npu.schedule_syntax import schedule_text
from npuc.dialects.npu.shared import RoundRobin, joint_footprint, number_values
from npuc.dialects.provenance import layer_of

Traffic = dict[str, TensorTraffic]


@frozen
class _Moved:
    """Bytes: of each tensor between DRAM and SPM, and what the array reads from SPM and writes to it."""

    tensors: dict[str, TensorBytes]
    loaded: int
    stored: int

    @property
    def read(self) -> int:
        return sum(t.read_bytes for t in self.tensors.values())

    @property
    def written(self) -> int:
        return sum(t.write_bytes for t in self.tensors.values())


def interleave_row(op: InterleaveOp, machine: Machine, index: int) -> OpRow:
    """
    The row of contractions that run round-robin.

    Raises `UsageError` for one without a schedule and `CapacityError` for blocks that do not fit the SPM.
    """
    _refuse_unpriced(op, machine)
    together = op.round_robin
    widths = tuple(contract_widths(contract, machine) for contract in op.contracts)
    work = interleaved_compute(together, machine.array)
    if machine.policy == "lru":
        moves, timing, spm_bytes = _pooled(op, machine, work[0].overhead)
    else:
        spm_bytes = _check_room(op, together, widths, machine)
        moves, timing = interleaved_traffic(together), interleaved_pipeline(together, machine, widths)
    moved = _moved(together, widths, machine, moves)
    transfer = machine.transfer_cycles(moved.read + moved.written)
    turned = sum(_turned(together, widths, machine).values())
    cycles = ceil(timing.time + (Fraction(2 * turned) / machine.channel))
    reads, writes = moved.loaded + moved.written, moved.stored + moved.read
    moved_bytes = moved.read + moved.written
    values = number_values([contract.operands for contract in op.contracts])
    certified = joint_certificate(together.nests, values, machine.bounding_spm, widths, moved_bytes)
    bound = cycles_lower_bound_of(together.nests, certified.bound, machine)
    filling = sum(
        one.overhead + one.filling + one.folds * machine.array.fold_overhead + one.reloads * machine.array.reload
        for one in work
    )
    # Folds of different nests may wait for each other, which is no part of what each does.
    waits = timing.compute - sum(one.cycles - one.edge for one in work)
    at_edge = edge_facts(sum(one.groups for one in work), work[0], machine.array)
    if at_edge is not None:
        reloading = sum(one.reloads for one in work) * machine.array.reload
        at_edge = replace(at_edge, edge_cycles=reloading or waits)
    passes = carried_passes(together.nests, machine.array)
    edge, streamed = 0 if at_edge is None else at_edge.edge_cycles, timing.compute - filling - waits
    return contraction_row(
        op,
        index,
        together.nests[0],
        macs=together.macs,
        mac_passes=passes,
        cycles=cycles,
        compute_cycles=timing.compute,
        peak=machine.elements,
        seconds=machine.seconds(cycles),
        dram_read_bytes=moved.read,
        dram_write_bytes=moved.written,
        spm_bytes=spm_bytes,
        energy_j=None if machine.energy is None else machine.energy.joules(passes, reads + writes, moved_bytes),
        limit="edge"
        if is_edge_bound(edge, streamed, cycles - timing.compute)
        else limit_of(cycles, timing.compute, transfer),
        lower_bound_bytes=certified.bound,
        lower_bound_seconds=machine.seconds(bound),
        schedule=_schedule_row(together),
        tensors=moved.tensors,
        native=columns(
            InterleavedFacts(streams=len(together.nests), schedules=[*map(schedule_text, together.schedules)]),
            ArrayFacts(
                tiles=sum(one.tiles for one in work), folds=sum(one.folds for one in work), fill_drain_cycles=filling
            ),
            pass_facts(together.nests, machine.array),
            sparse_facts(op.contracts, machine),
            at_edge,
            TransferFacts(
                transfer_cycles=transfer,
                first_load_bytes=whole_bytes(timing.head),
                spm_read_bytes=reads,
                spm_write_bytes=writes,
            ),
            certificate_facts(certified),
        ),
    )


def _refuse_unpriced(op: InterleaveOp, machine: Machine) -> None:
    """An error for contractions without a schedule, and for memories that those in turn do not use."""
    if any(contract.schedule_attr is None for contract in op.contracts):
        raise UsageError(
            f"{_named(op)}: one has no schedule, which the backend 'cycle' needs",
            location=location_of(op),
            hint="end the pipeline with the pass 'schedule', or write loops on the contractions",
        )
    if machine.levels:
        names = ", ".join(level_names(machine))
        raise UsageError(
            f"{_named(op)}: memory between SPM and DRAM ({names}) has no price for contractions in turn",
            location=location_of(op),
            hint="leave out interleave{mode=zip}; one nest of both (mode=fused) has one",
        )


def _named(op: InterleaveOp) -> str:
    layer = layer_of(op)
    return f"the contractions of layer {layer} that run round-robin" if layer else "contractions that run round-robin"


def _check_room(op: InterleaveOp, together: RoundRobin, widths: Widths, machine: Machine) -> int:
    """The bytes of SPM that all blocks take; an error if they, or what is promised, are more than there is."""
    parts = zip(together.nests, together.schedules, widths, joint_footprint(together), strict=True)
    taken = sum(footprint_bytes(nest, schedule, own, held) for nest, schedule, own, held in parts)
    needed = max(taken, op.spm or 0)
    if needed > machine.spm_bytes:
        raise CapacityError(
            f"the schedules of {_named(op)} take {needed:,} bytes of SPM, a schedule may use {machine.spm_bytes:,}",
            location=location_of(op),
            hint="smaller steps, less to keep, or a larger memory.spm_kib",
        )
    return taken


def _pooled(op: InterleaveOp, machine: Machine, overhead: int) -> tuple[tuple[Traffic, ...], Timing, int]:
    """Traffic, time and most bytes held over one pool of tiles, an operation of each walk in turn."""
    try:
        from npuc.compiler.analysis.lru import walk_pool

        found = walk_pool(walks_of(op.contracts, machine), machine, "round-robin")
    except CapacityError as e:
        raise CapacityError(f"{_named(op)}: {e.message}", location=location_of(op), hint=e.hint) from None
    moved = sum(walk.moved for walk in found.walks)
    timing = Timing(found.time + overhead, found.compute + overhead, moved, found.walks[0].head, 0)
    return tuple(dict(walk.tensors) for walk in found.walks), timing, whole_bytes(found.peak)


def _moved(together: RoundRobin, widths: Widths, machine: Machine, moves: tuple[Traffic, ...]) -> _Moved:
    """The bytes of all tensors, each under its name in the row."""
    names = tensor_names(together)
    tensors: dict[str, TensorBytes] = {}
    loaded = stored = 0
    works = interleaved_compute(together, machine.array)
    for number, (nest, own) in enumerate(zip(together.nests, widths, strict=True)):
        outs = {t.name for t in nest.outs}
        moved, bits = bytes_by_tensor(nest, moves[number], own), own.with_sums(nest)
        for name in nest.tensors:
            before, (read, write) = tensors.get(names[number][name], TensorBytes(0, 0)), moved[name]
            tensors[names[number][name]] = TensorBytes(before.read_bytes + read, before.write_bytes + write)
            accessed = whole_bytes(bits[name] * works[number].accesses[name])
            returned = whole_bytes(bits[name] * works[number].returned.get(name, 0))
            written = accessed - returned if name in outs else 0
            loaded, stored = loaded + accessed - written, stored + written
    for name, size in _turned(together, widths, machine).items():
        tensors[name] = TensorBytes(tensors[name].read_bytes + size, tensors[name].write_bytes + size)
    return _Moved(tensors, loaded, stored)


def _turned(together: RoundRobin, widths: Widths, machine: Machine) -> dict[str, int]:
    """The bytes of tensors that are transposed through memory first, by their names in the row."""
    found: dict[str, int] = {}
    if machine.transpose == "explicit":
        for nest, own, names in zip(together.nests, widths, tensor_names(together), strict=True):
            of = transposed(nest, own.by_name(nest))
            found |= {names[name]: whole_bytes(bits) for name, bits in of.items()}
    return found


def _schedule_row(together: RoundRobin) -> ScheduleRow:
    """The schedules as the report shows them: order and tile of the first, what all of them keep."""
    first = schedule_row(together.nests[0], together.schedules[0])
    keep: dict[str, int] = {}
    for schedule, names in zip(together.schedules, tensor_names(together), strict=True):
        for name, depth in schedule.keep:
            keep[names[name]] = max(depth, keep.get(names[name], 0))
    return ScheduleRow(program="zip", order=first.order, tile=first.tile, keep=keep, partition=first.partition)
