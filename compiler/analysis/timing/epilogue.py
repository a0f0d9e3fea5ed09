"""
The cost of epilogues: vector work that is fused with a contraction and runs on each completed block of an output.

The operand that it works on is in SPM. Its other operands and its results are transferred with the completed block, in
place of the block itself; a value without other uses is not transferred at all. So the time of both is that of the
contraction's pipeline (`double_buffer.py`) with another number of bytes per element of the output, and with the vector
unit in parallel to the array (`epilogue_tiles.py`). Operands of another shape (a step count, a broadcast vector) are
read once, in series. Every core completes blocks of its own with its own vector unit, and reads these operands for
itself.

The cost is attributed to several operations in order: the time of one is that of the pipeline with it and all before
it, less that without it, so that times add up.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import prod

from xdsl.ir import SSAValue

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.levels.views import at_level, level_names
from npuc.compiler.analysis.nest.cores import core_count
from npuc.compiler.analysis.nest.elements import BYTE, Bits, Width, contract_widths, element_bits, size_bytes
from npuc.compiler.analysis.timing.double_buffer import Timing, pipeline
from npuc.compiler.analysis.timing.epilogue_tiles import EpilogueWork
from npuc.compiler.core.frozen import frozen
from npuc.dialects.npu import ContractOp, VectorOp
from npuc.dialects.npu.fused_blocks import fused_room, is_stored
from npuc.dialects.npu.nest import Nest, Schedule
from npuc.dialects.npu.vector import FusedVector
from npuc.dialects.npu.widths import passes_of_factors
from npuc.dialects.tensors import shape_of


@frozen
class Epilogue:
    """
    Vector work on an output's blocks: bits that move for an element of it, vector operations for one, bytes once
    (of each core).

    `stored`: others use the output, so that it goes to DRAM as well.
    """

    output: str
    moved: Width
    ops: Fraction
    once: int
    stored: bool


def stream_cycles(ops: int, moved: Width, machine: Machine, array: int = 0) -> int:
    """
    The cycles of vector work or moves by themselves, through SPM and all further levels: all at once, or one after
    the other. `array` are cycles of the arrays that precede those of the vector units.
    """
    work, transfer = array + vector_cycles(ops, machine), machine.transfer_cycles(moved)
    inner = [at_level(machine, number).transfer_cycles(moved) for number in range(len(machine.levels))]
    return max(work, transfer, *inner) if machine.double_buffer else work + transfer + sum(inner)


def array_passes(op: VectorOp, machine: Machine) -> int:
    """The passes of the MACs of work that is known by its cost alone through multipliers: one of each, or several."""
    return op.macs * passes_of_factors(op.operands[:2], machine.array.mantissa_bits) if op.macs else 0


def array_cycles(op: VectorOp, machine: Machine) -> int:
    """
    The cycles of the arrays of all cores for the MACs of work that is known by its cost alone.

    Nothing is known of its loops, so that each element is taken to have one pass of a MAC in each cycle: it is the
    least that any loops take.
    """
    return -(-array_passes(op, machine) // machine.elements)


def vector_cycles(ops: int, machine: Machine) -> int:
    """The cycles of all vector units for that many operations."""
    return -(-ops // (machine.lanes * machine.cores))


def refusal(machine: Machine) -> str | None:
    """Why this model does not cover fused work on a machine; None if it does."""
    if machine.levels:
        return (
            f"memory between SPM and DRAM ({', '.join(level_names(machine))}) has no price for vector work that is "
            "fused with its producer"
        )
    if machine.policy == "lru":
        return "memory.policy 'lru' has no price for vector work that is fused with its producer"
    if machine.array.skips_reloads:
        return (
            "arrays that keep a tile between operations have no price for vector work that is fused with its producer"
        )
    return None


def readers(nest: Nest, schedule: Schedule, machine: Machine) -> int:
    """How often an operand of another shape is read: by every core for itself, or once for all with multicast."""
    return 1 if machine.multicast else core_count(nest, schedule)


def moved_bytes(
    fused: FusedVector, inside: Sequence[VectorOp], machine: Machine, readers: int
) -> tuple[dict[SSAValue, int], ...]:
    """The bytes that a fused operation reads from DRAM, by operand, and those it writes, by result."""

    def sized(values: Sequence[SSAValue]) -> dict[SSAValue, int]:
        return {v: size_bytes(v.type, _elements(v), machine.element_bytes) for v in values}

    reads = {v: size * (1 if _follows(fused, v) else readers) for v, size in sized(fused.outside).items()}
    return reads, sized([v for v in fused.op.results if is_stored(v, inside)])


def _follows(fused: FusedVector, value: SSAValue) -> bool:
    """Whether a value moves block by block: it has the shape of the output."""
    return shape_of(value) == shape_of(fused.op.results[0])


def epilogues(contract: ContractOp, fused: Sequence[FusedVector], machine: Machine, count: int) -> tuple[Epilogue, ...]:
    """The work of the first `count` of all operations that are fused with a contraction, an entry an output."""
    inside = [f.op for f in fused]
    found: list[Epilogue] = []
    for name in {f.output: None for f in fused}:
        output = contract.result_of(name)
        elements = _elements(output)
        entry = Epilogue(name, 0, Fraction(0), 0, is_stored(output, inside))
        for f in fused[:count]:
            if f.output != name:
                continue
            reads, writes = moved_bytes(f, inside, machine, 1)
            follows = (*(v for v in reads if _follows(f, v)), *writes)
            each = sum(element_bits(v.type, machine.element_bytes) for v in follows)
            once = sum(size for v, size in reads.items() if not _follows(f, v))
            ops = entry.ops + Fraction(f.op.ops, elements)
            entry = replace(entry, moved=entry.moved + each, ops=ops, once=entry.once + once)
        found.append(entry)
    return tuple(found)


def fused_widths(nest: Nest, widths: Bits, work: tuple[Epilogue, ...]) -> Bits:
    """The bits that move for an element of each tensor, of outputs when their blocks are finished."""
    own = widths.by_name(nest)
    for entry in work:
        own[entry.output] = own[entry.output] * entry.stored + entry.moved
    return replace(widths, stored=tuple(own.values()))


def vector_work(work: tuple[Epilogue, ...], machine: Machine) -> EpilogueWork:
    """The cycles of a core's vector unit for an element of each output."""
    return tuple((entry.output, entry.ops / machine.lanes) for entry in work if entry.ops)


def fused_pipeline(
    nest: Nest, schedule: Schedule, machine: Machine, widths: Bits, work: tuple[Epilogue, ...]
) -> Timing:
    """The time of a scheduled nest with its epilogues; `widths` as for `pipeline`."""
    own = fused_widths(nest, widths, work)
    timing = pipeline(nest, schedule, machine, own, epilogue=vector_work(work, machine))
    once = sum(entry.once for entry in work) * readers(nest, schedule, machine)
    return replace(timing, time=timing.time + once / machine.channel, moved=timing.moved + BYTE * once)


def stage(
    contract: ContractOp, schedule: Schedule, fused: Sequence[FusedVector], machine: Machine, count: int | None = None
) -> Timing:
    """The time of a contraction under a schedule with the first `count` of all operations that are fused with it."""
    widths = contract_widths(contract, machine)
    work = epilogues(contract, fused, machine, len(fused) if count is None else count)
    return fused_pipeline(contract.nest, schedule, machine, widths, work)


def room_bytes(contract: ContractOp, schedule: Schedule, fused: Sequence[FusedVector], machine: Machine) -> int:
    """The bytes of SPM that fused operations need beside the blocks of their contraction."""
    held = fused_room(contract, schedule, fused)
    return sum(size_bytes(value.type, count, machine.element_bytes) for value, count in held)


def _elements(value: SSAValue) -> int:
    return prod(shape_of(value))
