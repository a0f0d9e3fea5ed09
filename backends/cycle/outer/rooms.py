"""What a contraction's schedule may take of a machine: bytes of each memory, levels that there are, cores."""

from __future__ import annotations

from npuc.backends.cycle.outer.moves import level_moves
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.levels.views import check_level_names, check_level_room
from npuc.compiler.analysis.nest.cores import core_count
from npuc.compiler.analysis.nest.elements import contract_widths
from npuc.compiler.core.errors import CapacityError, NpucError
from npuc.compiler.core.verify import location_of
from npuc.dialects.npu import ContractOp
from npuc.dialects.provenance import layer_of


def named_contraction(op: ContractOp) -> str:
    """A contraction as messages call it."""
    layer = layer_of(op)
    return f"the contraction of layer {layer}" if layer else "a contraction"


def check_levels(op: ContractOp, machine: Machine) -> None:
    """
    Raise, at its place, for a schedule that keeps blocks in levels that the machine does not have (`UsageError`), or
    more in one than it holds (`CapacityError`).
    """
    if not op.schedule.outer:
        return
    who = f"the schedule of {named_contraction(op)}"
    try:
        check_level_names(op.schedule, machine, who)
        check_level_room(level_moves(op.nest, op.schedule, machine, contract_widths(op, machine)).held, machine, who)
    except NpucError as e:
        raise type(e)(e.message, location=location_of(op), hint=e.hint) from None


def check_room(op: ContractOp, spm_bytes: int, machine: Machine) -> None:
    """Raise `CapacityError`, at its place, for a schedule of more scratchpad or cores than the machine has."""
    needed = max(spm_bytes, op.schedule.spm or 0)
    if needed > machine.spm_bytes:
        raise CapacityError(
            f"the schedule of {named_contraction(op)} takes {needed:,} bytes of SPM, a schedule may use "
            f"{machine.spm_bytes:,}",
            location=location_of(op),
            hint="smaller steps, less to keep, or a larger memory.spm_kib",
        )
    cores = core_count(op.nest, op.schedule)
    if cores > machine.cores:
        raise CapacityError(
            f"the schedule of {named_contraction(op)} takes {cores:,} cores, the machine has {machine.cores:,}",
            location=location_of(op),
            hint=f"larger steps over cores, or array.cores={cores}",
        )
