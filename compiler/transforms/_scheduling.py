"""The searches for contractions in the IR, by themselves and in turn."""

from npuc.compiler.analysis.elements import contract_widths
from npuc.compiler.analysis.interleave_search import Problem, best_together
from npuc.compiler.analysis.machine import Machine
from npuc.compiler.analysis.prices import Objective
from npuc.compiler.analysis.search import best_schedule
from npuc.compiler.errors import CapacityError
from npuc.compiler.verify import location_of
from npuc.dialects.npu import ContractOp, InterleaveOp
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


def budget_of(op: InterleaveOp, machine: Machine) -> int:
    """What the machine's SPM holds of the widest elements of contractions that run in turn."""
    widths = [contract_widths(contract, machine.element_bytes) for contract in op.contracts]
    return machine.spm_bytes // max(width for own in widths for width in own)


def schedule_together(op: InterleaveOp, machine: Machine, objective: Objective) -> None:
    """
    Give the contractions that run in turn and have no schedule the best that is found, and write the promised budget.

    Raises `CapacityError`, at the operation's place, when not even the smallest tiles of all fit at once.
    """
    contracts, together = op.contracts, op.together
    fixed = tuple(None if c.schedule_attr is None else c.schedule for c in contracts)
    widths = tuple(contract_widths(contract, machine.element_bytes) for contract in contracts)
    problem = Problem(together.nests, together.values, fixed, widths, machine)
    try:
        found = best_together(problem, objective)
    except CapacityError as e:
        layer = layer_of(op) or "contractions in turn"
        raise CapacityError(f"{layer}: {e.message}", location=location_of(op), hint="a larger memory.spm_kib") from None
    for contract, schedule in zip(contracts, found, strict=True):
        contract.schedule = schedule
    op.spm = problem.budget
