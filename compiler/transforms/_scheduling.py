"""The search's answer for a contraction in the IR: where it stands in an error's message, what an operation needs."""

from npuc.compiler.analysis.elements import contract_widths
from npuc.compiler.analysis.machine import Machine
from npuc.compiler.analysis.prices import Objective
from npuc.compiler.analysis.search import best_schedule
from npuc.compiler.errors import CapacityError
from npuc.compiler.verify import location_of
from npuc.dialects.npu import ContractOp
from npuc.dialects.npu.nest import Schedule
from npuc.dialects.provenance import layer_of


def schedule_for(contract: ContractOp, machine: Machine, objective: Objective) -> Schedule:
    """
    The best schedule of a contraction on a machine.

    Raises `CapacityError`, at the contraction's place, when not even the smallest tiles fit; `UsageError` when the
    machine does not say what the objective needs.
    """
    widths = contract_widths(contract, machine.element_bytes)
    try:
        return best_schedule(contract.nest, machine, objective, widths)
    except CapacityError as e:
        layer = layer_of(contract) or "a contraction"
        raise CapacityError(
            f"{layer}: {e.message}", location=location_of(contract), hint="a larger memory.spm_kib"
        ) from None
