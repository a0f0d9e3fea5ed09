"""
Resident values in the rows of the backend: the SPM that they occupy, and the columns about them.

A row's `native` has `resident_in` and `resident_out`, the names of the tensors resident before and after the operation,
`passing_bytes`, the size of other values resident meanwhile, and `not_moved_bytes`, the additional traffic of the same
schedule if nothing were resident.
"""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace
from xdsl.ir import Block, Operation, SSAValue

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.elements import contract_widths, footprint_bytes, size_bytes, widths_on
from npuc.compiler.analysis.programs.resident import refusal, resident_spm_bytes
from npuc.compiler.analysis.timing.epilogue import room_bytes
from npuc.compiler.core.errors import CapacityError, UsageError
from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.verify import location_of
from npuc.compiler.report import OpRow
from npuc.compiler.report.sections import ResidencyFacts
from npuc.dialects.npu import ContractOp, InterleaveOp, VectorOp
from npuc.dialects.npu.resident import HasResidency, Resident, block_residency, operations_with_residents
from npuc.dialects.npu.shared import joint_footprint
from npuc.dialects.npu.vector import fused_with
from npuc.dialects.npu.widths import elements_of, sum_bytes_of
from npuc.dialects.provenance import layer_of


@frozen
class OpResidency:
    """An operation's resident tensors; the bytes of SPM occupied during it, `passing` of them by other values."""

    resident: Resident
    spm_bytes: int
    passing: int


def residency_of(ops: Sequence[Operation], machine: Machine) -> dict[Operation, OpResidency]:
    """
    The operations of a program that find or leave values resident, or during which other values are.

    Raises `UsageError` for a machine without a cost model for it, `CapacityError` where an operation does not fit.
    """
    found: dict[Operation, OpResidency] = {}
    for block in dict.fromkeys(op.parent for op in ops):
        first = None if block is None else next(operations_with_residents(block), None)
        if block is None or first is None:
            continue
        problem = refusal(machine)
        if problem is not None:
            raise UsageError(problem, location=location_of(first), hint="leave out the pass keep-resident")
        found |= _in_block(block, machine)
    return found


def _in_block(block: Block, machine: Machine) -> Mapping[Operation, OpResidency]:
    found: dict[Operation, OpResidency] = {}
    inside = block_residency(block)
    for op, values in inside.passing.items():
        resident = op.resident if isinstance(op, HasResidency) else Resident()
        sums = inside.sums_beside(op)
        if not values and not sums and not resident.names:
            continue
        passing = sum(_bytes(value, machine) for value in values)
        passing += sum(sum_bytes_of(value, widths_on(machine)) for value in sums)
        needed = own_spm_bytes(op, machine) + passing
        if needed > machine.spm_bytes:
            layer = layer_of(op)
            raise CapacityError(
                f"{f'layer {layer}' if layer else op.name} takes {needed:,} bytes of SPM with the resident values "
                f"({passing:,} of them for other operations), a schedule may use {machine.spm_bytes:,}",
                location=location_of(op),
                hint="use fewer resident values, or a larger memory.spm_kib",
            )
        found[op] = OpResidency(resident, needed, passing)
    return found


def own_spm_bytes(op: Operation, machine: Machine) -> int:
    """The bytes of SPM that an operation occupies by its blocks and all of its resident tensors."""
    if isinstance(op, ContractOp):
        own = resident_spm_bytes(op.nest, op.schedule, contract_widths(op, machine), op.resident.names)
        return own + room_bytes(op, op.schedule, fused_with(op), machine)
    if isinstance(op, InterleaveOp):
        every = [contract_widths(contract, machine) for contract in op.contracts]
        blocks = zip(op.contracts, every, joint_footprint(op.round_robin), strict=True)
        return sum(footprint_bytes(one.nest, one.schedule, widths, held) for one, widths, held in blocks)
    if isinstance(op, VectorOp):
        values, over = {**op.named_operands(), **op.named_results()}, dict(op.resident.over)
        return sum(_bytes(values[name], machine) for name in op.resident.names if name not in over)
    return 0


def _bytes(value: SSAValue, machine: Machine) -> int:
    return size_bytes(value.type, elements_of(value), machine.element_bytes)


def with_residency(row: OpRow, residency: OpResidency) -> OpRow:
    """The row of an operation, with its residency."""
    facts = ResidencyFacts(
        passing_bytes=residency.passing,
        resident_in=[*residency.resident.ins] or None,
        resident_out=[*residency.resident.outs] or None,
    )
    native = row.native | facts.columns()
    return replace(row, spm_bytes=None if row.spm_bytes is None else residency.spm_bytes, native=native)
