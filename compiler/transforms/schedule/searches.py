"""Schedule searches for contractions in the IR, single ones and those that run round-robin."""

from collections.abc import Callable
from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from npuc.compiler.analysis.machine.facts import TARGET, Machine, machine_of
from npuc.compiler.analysis.mapping.followed import followed_schedule
from npuc.compiler.analysis.nest.elements import contract_widths, footprint_bytes
from npuc.compiler.analysis.programs.interleave_search import InterleaveProblem, best_round_robin
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.analysis.schedule.search import OBJECTIVES, best_schedule
from npuc.compiler.core.errors import CapacityError, SourceError
from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.options import check_tolerance
from npuc.compiler.core.verify import location_of
from npuc.compiler.transforms.schedule.patterns import JointSchedule
from npuc.dialects.npu import ContractOp, InterleaveOp
from npuc.dialects.npu.nest import Schedule
from npuc.dialects.provenance import layer_of


@frozen
class Goal:
    """
    What schedules minimise: the objective and, among what costs up to `tolerance` more than the least, a fraction, the
    next measure (`analysis/schedule/near_ties.py`).

    With `monotone` searches are so thorough that a larger machine is no worse (`analysis/schedule/monotone.py`), but
    for what a tolerance gives away.
    """

    objective: Objective
    tolerance: float
    monotone: bool = False


def known_machine(module: ModuleOp, why: str, op: Operation | None = None) -> Machine:
    """
    The machine of a module.

    Raises `SourceError` where it does not say one, at the operation that needs it, by default the first contraction.
    """
    machine = machine_of(module)
    if machine is None:
        place = op or next((inner for inner in module.walk() if isinstance(inner, ContractOp)), module)
        message = f"the module does not say its machine: it has no {TARGET}, and {why}"
        hint = "--hw with an array and a scratchpad, or the pass set-target"
        raise SourceError(message, location=location_of(place), hint=hint)
    return machine


def objective_named(name: str) -> Objective:
    """The objective of this name; raises `ValueError` for any other text."""
    for objective in OBJECTIVES:
        if objective == name:
            return objective
    raise ValueError(f"objective is '{name}', expected {', '.join(OBJECTIVES)}")


def goal_of(objective: str, tolerance: float) -> Goal:
    """
    The goal that a pass's options name, whose searches are monotone; raises `ValueError` for what is none.
    """
    check_tolerance(tolerance)
    return Goal(objective_named(objective), tolerance, monotone=True)


def followed(contract: ContractOp, machine: Machine) -> Schedule | None:
    """
    The schedule that does what the mapping of a contraction says; None without a mapping that the arrays follow.

    Raises `CapacityError`, at the contraction's place, if its tiles do not fit.
    """
    if contract.mapping_attr is None:
        return None
    found = followed_schedule(contract.mapping_attr.data, contract.nest, machine.array, machine.cores)
    if isinstance(found, str):
        return None
    need = footprint_bytes(contract.nest, found, contract_widths(contract, machine))
    if need > machine.spm_bytes:
        raise CapacityError(
            f"{layer_of(contract) or 'a contraction'}: the tiles of its mapping take {need:,} bytes of the scratchpad, "
            f"of which a schedule may use {machine.spm_bytes:,}",
            location=location_of(contract),
            hint="smaller tiles at the outer level of the mapping, or a larger memory.spm_kib",
        )
    return replace(found, spm=machine.spm_bytes)


def schedule_for(contract: ContractOp, machine: Machine, goal: Goal, order: tuple[str, ...] = ()) -> Schedule:
    """
    The best schedule of a contraction on a machine; with `order` among those whose dimensions come in that order.

    Among those that cost up to the tolerance more than the least the next measure decides.

    Raises `CapacityError`, at the contraction's place, if not even the smallest tiles fit, and `UsageError` if the
    machine lacks energies that the objective needs.
    """
    nest, widths = contract.nest, contract_widths(contract, machine)
    objective, tolerance = goal.objective, goal.tolerance
    return or_capacity_error(
        contract,
        lambda: best_schedule(nest, machine, objective, widths, order, tolerance, monotone=goal.monotone),
    )


def or_capacity_error(contract: ContractOp, search: Callable[[], Schedule]) -> Schedule:
    """The result of a search for a contraction; raises its `CapacityError` at the contraction's place."""
    try:
        return search()
    except CapacityError as e:
        layer = layer_of(contract) or "a contraction"
        raise CapacityError(
            f"{layer}: {e.message}", location=location_of(contract), hint="a larger memory.spm_kib"
        ) from None


def problem_of(op: InterleaveOp, machine: Machine) -> InterleaveProblem:
    """The search problem of contractions that run round-robin; their existing schedules are fixed."""
    contracts, together = op.contracts, op.round_robin
    fixed = tuple(None if c.schedule_attr is None else c.schedule for c in contracts)
    widths = tuple(contract_widths(contract, machine) for contract in contracts)
    return InterleaveProblem(together.nests, together.values, fixed, widths, machine)


def joint_schedule_for(op: InterleaveOp, machine: Machine, goal: Goal) -> JointSchedule:
    """
    The best schedules of the contractions that run round-robin and have none, and their joint SPM budget.

    Raises `CapacityError`, at the operation's place, if not even the smallest tiles of all contractions fit at once.
    """
    problem = problem_of(op, machine)
    try:
        found = best_round_robin(problem, goal.objective, tolerance=goal.tolerance)
        assert found is not None, "there is no limit"
    except CapacityError as e:
        layer = layer_of(op) or "round-robin contractions"
        raise CapacityError(f"{layer}: {e.message}", location=location_of(op), hint="a larger memory.spm_kib") from None
    return JointSchedule(tuple(found), machine.spm_bytes)
