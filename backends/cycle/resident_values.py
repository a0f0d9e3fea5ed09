"""
What stays in SPM from one operation to the next (`resident`): the room that it takes, and what rows say of it.

A row's `native` says `resident_in` and `resident_out`, the names of tensors that are in SPM before and after the
operation, `passing_bytes` of other values in SPM meanwhile, and `not_moved_bytes`, what the same schedule would move
besides if nothing stayed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace
from xdsl.ir import Block, Operation, SSAValue

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.elements import contract_widths, footprint_bytes, size_bytes
from npuc.compiler.analysis.programs.resident import refusal, staying_room
from npuc.compiler.analysis.timing.epilogue import room_bytes
from npuc.compiler.core.errors import CapacityError, UsageError
from npuc.compiler.core.verify import location_of
from npuc.compiler.report import OpRow
from npuc.compiler.report.sections import ResidencyFacts
from npuc.dialects.npu import ContractOp, InterleaveOp, VectorOp
from npuc.dialects.npu.resident import Holder, Resident, elements_of, holders, stays
from npuc.dialects.npu.shared import joint_footprint
from npuc.dialects.npu.vector import fused_with
from npuc.dialects.provenance import layer_of


@dataclass(frozen=True)
class Stay:
    """What an operation finds and leaves in SPM, the bytes of SPM that all of it takes, and those that only pass."""

    resident: Resident
    room: int
    passing: int


def stays_of(ops: Sequence[Operation], machine: Machine) -> dict[Operation, Stay]:
    """
    The operations of a program with something in SPM before, after or meanwhile that is not of their blocks.

    Raises `UsageError` for a machine on which that has no price, `CapacityError` for an operation without the room.
    """
    found: dict[Operation, Stay] = {}
    for block in dict.fromkeys(op.parent for op in ops):
        first = None if block is None else next(holders(block), None)
        if block is None or first is None:
            continue
        problem = refusal(machine)
        if problem is not None:
            raise UsageError(problem, location=location_of(first), hint="leave out the pass keep-resident")
        found |= _in_block(block, machine)
    return found


def _in_block(block: Block, machine: Machine) -> Mapping[Operation, Stay]:
    found: dict[Operation, Stay] = {}
    for op, values in stays(block).passing.items():
        resident = op.resident if isinstance(op, Holder) else Resident()
        if not values and not resident.names:
            continue
        passing = sum(_bytes(value, machine) for value in values)
        needed = own_bytes(op, machine) + passing
        if needed > machine.spm_bytes:
            layer = layer_of(op)
            raise CapacityError(
                f"{f'layer {layer}' if layer else op.name} takes {needed:,} bytes of SPM with what stays there "
                f"({passing:,} of them for other operations), a schedule may use {machine.spm_bytes:,}",
                location=location_of(op),
                hint="let fewer values stay, or a larger memory.spm_kib",
            )
        found[op] = Stay(resident, needed, passing)
    return found


def own_bytes(op: Operation, machine: Machine) -> int:
    """The bytes of SPM that an operation takes for its blocks, with the whole of what stays there before and after."""
    if isinstance(op, ContractOp):
        own = staying_room(op.nest, op.schedule, contract_widths(op, machine), op.resident.names)
        return own + room_bytes(op, op.schedule, fused_with(op), machine)
    if isinstance(op, InterleaveOp):
        every = [contract_widths(contract, machine) for contract in op.contracts]
        blocks = zip(op.contracts, every, joint_footprint(op.together), strict=True)
        return sum(footprint_bytes(one.nest, one.schedule, widths, held) for one, widths, held in blocks)
    if isinstance(op, VectorOp):
        values, over = {**op.named_operands(), **op.named_results()}, dict(op.resident.over)
        return sum(_bytes(values[name], machine) for name in op.resident.names if name not in over)
    return 0


def _bytes(value: SSAValue, machine: Machine) -> int:
    return size_bytes(value.type, elements_of(value), machine.element_bytes)


def with_stay(row: OpRow, stay: Stay) -> OpRow:
    """The row of an operation that says what stays in SPM."""
    facts = ResidencyFacts(
        passing_bytes=stay.passing,
        resident_in=[*stay.resident.ins] or None,
        resident_out=[*stay.resident.outs] or None,
    )
    native = row.native | facts.columns()
    return replace(row, spm_bytes=None if row.spm_bytes is None else stay.room, native=native)
