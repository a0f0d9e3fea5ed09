"""
The rows of a contraction and of the vector work that is fused with it.

The model is `npuc.compiler.analysis.timing.epilogue`. The contraction's row no longer writes an output that only fused
work uses; a fused row has what its operation reads besides and writes, and the time that it adds. Lower bounds are
added up in the same way, so that their sum holds for all rows together.
"""

from collections.abc import Collection, Sequence
from math import prod

from msgspec.structs import replace
from xdsl.ir import Operation

from npuc.backends.cycle.certificates import certificate_facts, certificate_of
from npuc.backends.cycle.contract import contract_row
from npuc.backends.cycle.facts import ArrayFacts, StreamFacts
from npuc.backends.cycle.limits import cycles_lower_bound_of, is_edge_bound, limit_of
from npuc.backends.cycle.stream import stream_row
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.stationary import carried_passes, time_passes
from npuc.compiler.analysis.nest.cores import core_traffic, on_cores
from npuc.compiler.analysis.nest.elements import contract_widths, size_bytes
from npuc.compiler.analysis.nest.traffic import bytes_by_tensor
from npuc.compiler.analysis.timing.double_buffer import core_timings, pipeline
from npuc.compiler.analysis.timing.epilogue import (
    epilogues,
    fused_widths,
    moved_bytes,
    readers,
    refusal,
    room_bytes,
    stage,
    vector_cycles,
)
from npuc.compiler.core.errors import CapacityError, UsageError
from npuc.compiler.core.verify import location_of
from npuc.compiler.report import OpRow, TensorBytes
from npuc.compiler.report.sections import CoreFacts, EdgeFacts, FusedFacts, TransferFacts, UnstoredFacts, columns
from npuc.dialects.npu import ContractOp, VectorOp
from npuc.dialects.npu.fused_blocks import is_stored
from npuc.dialects.npu.vector import FusedVector, fused_with
from npuc.dialects.provenance import layer_of
from npuc.dialects.tensors import shape_of


def fused_groups(ops: Sequence[Operation], machine: Machine) -> dict[Operation, tuple[FusedVector, ...]]:
    """
    The operations that are fused with each contraction that has any.

    Raises `UsageError` for a machine on which they have no price.
    """
    if not any(isinstance(op, VectorOp) and op.fused for op in ops):
        return {}
    groups: dict[Operation, tuple[FusedVector, ...]] = {op: fused_with(op) for op in ops if isinstance(op, ContractOp)}
    found = {op: fused for op, fused in groups.items() if fused}
    problem = refusal(machine)
    if problem is not None:
        first = next(iter(found))
        raise UsageError(problem, location=location_of(first), hint="leave out the pass fuse-vector")
    return found


def fused_rows(contract: ContractOp, fused: Sequence[FusedVector], machine: Machine, index: int) -> list[OpRow]:
    """
    The rows of a contraction and of what is fused with it, from `index` on.

    Raises `UsageError` for one without a schedule and `CapacityError` for blocks that do not fit the SPM.
    """
    row = contract_row(contract, machine, index)
    needed = (row.spm_bytes or 0) + room_bytes(contract, contract.schedule, fused, machine)
    if needed > machine.spm_bytes:
        raise CapacityError(
            f"the contraction of layer {layer_of(contract)} and what is fused with it take {needed:,} bytes of SPM, a "
            f"schedule may use {machine.spm_bytes:,}",
            location=location_of(contract),
            hint="smaller steps, less to keep, or a larger memory.spm_kib",
        )
    rows = [_contraction(row, contract, fused, machine, needed)]
    for number, one in enumerate(fused, 1):
        rows.append(_fused(contract, fused, number, machine, rows))
        assert rows[-1].op == one.op.name
    return rows


def _contraction(
    row: OpRow, contract: ContractOp, fused: Sequence[FusedVector], machine: Machine, needed: int
) -> OpRow:
    """The row of the contraction without the writes of outputs that only fused work uses."""
    inside = [f.op for f in fused]
    dropped = {f.output for f in fused if not is_stored(contract.result_of(f.output), inside)}
    saved = sum(row.tensors[name].write_bytes for name in dropped)
    tensors = {
        name: TensorBytes(t.read_bytes, t.write_bytes * (name not in dropped)) for name, t in row.tensors.items()
    }
    timing = stage(contract, contract.schedule, fused, machine, 0)
    read, written = row.dram_read_bytes or 0, (row.dram_write_bytes or 0) - saved
    transfer = machine.transfer_cycles(read + written)
    certified = certificate_of(row, read + written).without_traffic(saved)
    bound = certified.bound
    channel, array, edges = TransferFacts.found_in(row), ArrayFacts.found_in(row), EdgeFacts.found_in(row)
    assert channel is not None
    assert array is not None
    spm_read = _whole(channel.spm_read_bytes) - saved
    native = row.native | columns(
        certificate_facts(certified),
        replace(channel, transfer_cycles=transfer, spm_read_bytes=spm_read),
        UnstoredFacts(not_stored_bytes=saved, storing_cycles=_whole(row.cycles)),
        _core_facts(row, contract, fused, machine, dropped),
    )
    energy = None
    if machine.energy is not None:
        moved = spm_read + _whole(channel.spm_write_bytes)
        energy = machine.energy.joules(carried_passes((contract.nest,), machine.array), moved, read + written)
    compute = _whole(row.compute_cycles)
    least = cycles_lower_bound_of((contract.nest,), bound, machine)
    edge = 0 if edges is None else edges.edge_cycles
    streamed = compute - array.fill_drain_cycles - edge
    limit = limit_of(timing.cycles, compute, transfer)
    if is_edge_bound(edge, streamed, timing.cycles - compute):
        limit = "edge"
    return replace(
        row,
        cycles=timing.cycles,
        stall_cycles=timing.cycles - compute,
        seconds=machine.seconds(timing.cycles),
        utilization=float(carried_passes((contract.nest,), machine.array)) / (machine.elements * timing.cycles),
        dram_write_bytes=written,
        spm_bytes=needed,
        energy_j=energy,
        limit=limit,
        lower_bound_bytes=bound,
        lower_bound_seconds=machine.seconds(least),
        tensors=tensors,
        native=native,
    )


def _core_facts(
    row: OpRow, contract: ContractOp, fused: Sequence[FusedVector], machine: Machine, dropped: Collection[str]
) -> CoreFacts | None:
    """What each core of a contraction takes and writes without the outputs that it does not store."""
    cores = CoreFacts.found_in(row)
    if cores is None:
        return None
    nest, schedule = contract.nest, contract.schedule
    widths = contract_widths(contract, machine)
    own = fused_widths(nest, widths, epilogues(contract, fused, machine, 0))
    timings = (
        core_timings(nest, schedule, machine, own) if schedule.core_depth else [pipeline(nest, schedule, machine, own)]
    )
    spread = core_traffic(nest, schedule, machine.multicast, machine.reduction).moved
    moved = [bytes_by_tensor(nest, rows, widths) for rows in spread]
    written = [sum(w for name, (_, w) in rows.items() if name not in dropped) for rows in moved]
    return replace(
        cores,
        core_cycles=on_cores(nest, schedule, [timing.cycles for timing in timings]),
        core_write_bytes=on_cores(nest, schedule, written),
    )


def _fused(
    contract: ContractOp, fused: Sequence[FusedVector], number: int, machine: Machine, before: Sequence[OpRow]
) -> OpRow:
    """The row of the operation of this number: what it adds to the rows before it."""
    one, inside = fused[number - 1], [f.op for f in fused]
    op = one.op
    alone = stream_row(op, machine, before[0].index + number)
    reads, writes = moved_bytes(one, inside, machine, readers(contract.nest, contract.schedule, machine))
    tensors = {f"in{list(op.operands).index(v)}": TensorBytes(size, 0) for v, size in reads.items()}
    tensors |= {f"out{n}": TensorBytes(0, writes[v]) for n, v in enumerate(op.results) if v in writes}
    read, written = sum(reads.values()), sum(writes.values())
    time = stage(contract, contract.schedule, fused, machine, number).cycles
    cycles = time - sum(_whole(row.cycles) for row in before)
    work, transfer = vector_cycles(op.ops, machine), machine.transfer_cycles(read + written)
    total = sum((row.lower_bound_bytes or 0) for row in before) + read + written
    busy = sum(vector_cycles(f.op.ops, machine) for f in fused[:number])
    least = max(machine.transfer_cycles(total), -(-time_passes(contract.nest, machine.array) // machine.elements), busy)
    bound = min(cycles / (machine.clock_mhz * 1e6), machine.seconds(least) - sum(_real(r) for r in before))
    through = read + written + _spm_bytes(op, machine)
    return replace(
        alone,
        cycles=cycles,
        compute_cycles=min(work, cycles),
        stall_cycles=cycles - min(work, cycles),
        seconds=machine.seconds(cycles),
        dram_read_bytes=read,
        dram_write_bytes=written,
        energy_j=None if machine.energy is None else machine.energy.joules(0, through, read + written),
        lower_bound_bytes=read + written,
        lower_bound_seconds=max(0.0, bound),
        limit="compute" if work > transfer else "dram",
        tensors=tensors,
        native=columns(
            StreamFacts(work=op.kind),
            FusedFacts(
                fused=one.output,
                vector_cycles=work,
                transfer_cycles=transfer,
                spm_bytes_moved=through,
                alone_cycles=_whole(alone.cycles),
                alone_bytes=(alone.dram_read_bytes or 0) + (alone.dram_write_bytes or 0),
            ),
        ),
    )


def _spm_bytes(op: VectorOp, machine: Machine) -> int:
    """What the vector unit reads from SPM and writes there: its operands, each once, and its results."""
    values = [*dict.fromkeys(op.operands), *op.results]
    total = 0
    for value in values:
        total += size_bytes(value.type, prod(shape_of(value)), machine.element_bytes)
    return total


def _real(row: OpRow) -> float:
    return row.lower_bound_seconds or 0.0


def _whole(value: object) -> int:
    assert isinstance(value, int)
    return value
