"""
What operations without matrix work cost: vector work, moves, windows as matrices.

Each runs by itself, in series with the matrix work, and streams through SPM: its operands come from DRAM once and its
results go there once. With double buffering the vector unit works while data moves, so the time is the larger of
ops / lanes and the transfer; without it their sum. A value that is an operand twice is read once, one that is in SPM
already not at all.
"""

from collections.abc import Sequence
from math import prod
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from npuc.compiler.analysis.elements import size_bytes
from npuc.compiler.analysis.epilogue import stream_cycles, vector_cycles
from npuc.compiler.analysis.machine import Machine
from npuc.compiler.report import Kind, OpRow, Scalar, TensorBytes
from npuc.dialects.npu import TensorWorkOp, VectorOp
from npuc.dialects.npu.resident import Holder, not_moved
from npuc.dialects.provenance import layer_of, location_text, repeat_of, role_of


def stream_row(op: Operation, machine: Machine, index: int) -> OpRow:
    """The row of an operation that streams: kind `vector` for vector work, `data` for pure movement."""
    reads, writes = (op.reads, op.writes) if isinstance(op, TensorWorkOp) else (None, None)
    tensors = _moved("in", op.operands, reads, machine, write=False)
    tensors |= _moved("out", op.results, writes, machine, write=True)
    still = not_moved(op) if isinstance(op, Holder) else frozenset[str]()
    kept = sum(tensors[name].read_bytes + tensors[name].write_bytes for name in still)
    tensors |= dict.fromkeys(still, TensorBytes(0, 0))
    read = sum(t.read_bytes for t in tensors.values())
    written = sum(t.write_bytes for t in tensors.values())
    vector = isinstance(op, VectorOp)
    ops = op.ops if isinstance(op, VectorOp) else 0
    kind: Kind = "vector" if vector else "data"
    work, transfer = vector_cycles(ops, machine), machine.transfer_cycles(read + written)
    cycles = stream_cycles(ops, read + written, machine)
    # Through SPM: once in and out by DMA, and for vector work once more by the unit, with what stays there.
    through = (read + written) * (2 if vector else 1) + kept
    bound = max(work, transfer)
    native: dict[str, Scalar | list[Scalar]] = {
        "work": _what(op),
        "transfer_cycles": transfer,
        "spm_bytes_moved": through,
    }
    if still:
        native["not_moved_bytes"] = kept
    return OpRow(
        index=index,
        name=layer_of(op),
        op=op.name,
        loc=location_text(op),
        phase=role_of(op).value,
        repeat=repeat_of(op),
        kind=kind,
        macs=0,
        vector_ops=ops,
        cycles=cycles,
        compute_cycles=work,
        stall_cycles=cycles - work,
        seconds=machine.seconds(cycles),
        utilization=0.0,
        dram_read_bytes=read,
        dram_write_bytes=written,
        energy_j=None if machine.energy is None else machine.energy.joules(0, through, read + written),
        limit="compute" if work > transfer else "dram",
        lower_bound_bytes=read + written,
        lower_bound_seconds=machine.seconds(bound),
        tensors=tensors,
        native=native,
    )


def _what(op: Operation) -> str:
    """What the operation computes: the name of the train operation whose meaning it has."""
    return op.kind if isinstance(op, TensorWorkOp) else op.name.removeprefix("npu.")


def _moved(
    name: str, values: Sequence[SSAValue], counts: Sequence[int] | None, machine: Machine, *, write: bool
) -> dict[str, TensorBytes]:
    """The bytes of each operand or result: of its elements, or of as many as the operation says."""
    result: dict[str, TensorBytes] = {}
    seen: set[SSAValue] = set()
    for number, value in enumerate(values):
        type_: Attribute = value.type
        if value in seen:
            continue
        seen.add(value)
        elements = counts[number] if counts is not None else _elements(type_)
        moved = size_bytes(type_, elements, machine.element_bytes)
        result[f"{name}{number}"] = TensorBytes(0, moved) if write else TensorBytes(moved, 0)
    return result


def _elements(type_: Attribute) -> int:
    return prod(cast("TensorType[Attribute]", type_).get_shape())
