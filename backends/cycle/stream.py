"""
Rows of operations without matrix work: vector work, moves, windows as matrices.

Each runs by itself, in series with the matrix work, and streams through SPM: its operands are read from DRAM once, or
reread where it needs them twice and they are not resident in between, and its results are written once
(`analysis/timing/vector_traffic.py`). With double buffering the vector unit works while data moves, so the time is the
larger of ops / lanes and the transfer; without it their sum. Work that is known by its cost alone first has its MACs on
the arrays, whose elements then have one in each cycle: it is of kind `matrix`, if it has any. A resident operand is not
read at all. Where there are memories between SPM and DRAM all bytes pass through them, and nothing stays there.
"""

from xdsl.ir import Operation

from npuc.backends.cycle.facts import RereadFacts, StreamFacts
from npuc.backends.cycle.outer.moves import added_joules, level_facts, level_joules, longest_transfer, streamed_moves
from npuc.backends.operations import identity_of, opaque_facts
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.timing.epilogue import array_cycles, array_passes, stream_cycles, vector_cycles
from npuc.compiler.analysis.timing.vector_traffic import streamed
from npuc.compiler.report import Kind, OpRow, TensorBytes
from npuc.compiler.report.sections import PassFacts, TransferFacts, UnmovedFacts, columns
from npuc.dialects.npu import TensorWorkOp, VectorOp
from npuc.dialects.npu.resident import HasResidency, unmoved_tensors


def stream_row(op: Operation, machine: Machine, index: int, reserved: int = 0) -> OpRow:
    """
    The row of an operation that streams: kind `vector` for vector work, `data` for pure movement.

    `reserved` are the bytes of SPM that resident values occupy.
    """
    resident = op.resident.names if isinstance(op, HasResidency) else ()
    moving = streamed(op, machine, resident, reserved)
    tensors = {name: TensorBytes(size, 0) for name, size in moving.reads.items()}
    tensors |= {name: TensorBytes(0, size) for name, size in moving.writes.items()}
    unmoved = unmoved_tensors(op) if isinstance(op, HasResidency) else frozenset[str]()
    not_moved = sum(tensors[name].read_bytes + tensors[name].write_bytes for name in unmoved)
    tensors |= dict.fromkeys(unmoved, TensorBytes(0, 0))
    read = sum(t.read_bytes for t in tensors.values())
    written = sum(t.write_bytes for t in tensors.values())
    vector = isinstance(op, VectorOp)
    ops, array, passes, macs = 0, 0, 0, 0
    if isinstance(op, VectorOp):
        ops, array, passes, macs = op.ops, array_cycles(op, machine), array_passes(op, machine), op.macs
    kind: Kind = "matrix" if macs else "vector" if vector else "data"
    work, transfer = array + vector_cycles(ops, machine), machine.transfer_cycles(read + written)
    cycles = stream_cycles(ops, read + written, machine, array)
    # Through SPM: once in and out by DMA, and for vector work once more by the unit, which also accesses residents.
    through = (read + written) * (2 if vector else 1) + not_moved
    levels = streamed_moves(read, written, machine)
    slow = longest_transfer(levels, machine)
    bound = max(work, transfer, slow)
    reread = None
    if moving.reread:
        twice = sum(moving.reread.values())
        reread = RereadFacts(read_twice=[*moving.reread], read_twice_bytes=twice, group_bytes=moving.group)
    return OpRow(
        index=index,
        **identity_of(op),
        kind=kind,
        macs=macs,
        vector_ops=ops,
        cycles=cycles,
        compute_cycles=work,
        stall_cycles=cycles - work,
        seconds=machine.seconds(cycles),
        utilization=passes / (machine.elements * cycles) if passes else 0.0,
        dram_read_bytes=read,
        dram_write_bytes=written,
        energy_j=None
        if machine.energy is None
        else added_joules(machine.energy.joules(passes, through, read + written), level_joules(levels, machine)),
        limit="level" if slow > max(work, transfer) else "compute" if work > transfer else "dram",
        lower_bound_bytes=read + written,
        lower_bound_seconds=machine.seconds(bound),
        tensors=tensors,
        native=columns(
            StreamFacts(work=_what(op)),
            TransferFacts(transfer_cycles=transfer, spm_bytes_moved=through),
            UnmovedFacts(not_moved_bytes=not_moved) if unmoved else None,
            reread,
            opaque_facts(op),
            PassFacts(product_passes=[passes // macs], mac_passes=passes) if passes != macs else None,
            level_facts(levels, machine, lambda _, moved: moved),
        ),
    )


def _what(op: Operation) -> str:
    """What the operation computes: the name of the train operation whose meaning it has."""
    return op.kind if isinstance(op, TensorWorkOp) else op.name.removeprefix("npu.")
