"""
What interleaving saves: contractions that run together, in one nest or round-robin, beside the sequential program.

The sequential program runs them one after another, each at the fastest schedule found with the whole SPM. Both find
the same values resident, and neither has vector work, so that what other passes save is not counted here.
"""

from xdsl.ir import Operation

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.elements import Bits, contract_widths, whole_bytes
from npuc.compiler.analysis.programs.cheapest import FusedNest, fused_program, round_robin_program, sequential_program
from npuc.compiler.analysis.programs.interleave_search import InterleaveProblem
from npuc.compiler.analysis.programs.reported_costs import ReportedCost
from npuc.compiler.analysis.programs.search_tolerance import thorough_tolerance
from npuc.compiler.analysis.programs.sequential import statement_nests
from npuc.compiler.analysis.schedule.exact_cost import exact_cost
from npuc.compiler.analysis.schedule.search import best_schedule
from npuc.compiler.core.errors import CapacityError
from npuc.compiler.report.sections import InterleavingFacts
from npuc.dialects.npu import ContractOp, InterleaveOp
from npuc.dialects.npu.nest import Nest, Schedule
from npuc.dialects.npu.resident import unmoved_tensors
from npuc.dialects.npu.shared import number_values


def interleaving_facts(op: Operation, machine: Machine) -> InterleavingFacts | None:
    """
    The cost of contractions that run together and of the sequential program.

    None for any other operation, and where a contraction does not fit the SPM by itself.
    """
    try:
        if isinstance(op, InterleaveOp):
            costs = _round_robin_costs(op, machine)
        elif isinstance(op, ContractOp) and len(op.nest.statements) > 1:
            costs = _fused_costs(op, machine)
        else:
            return None
    except CapacityError:
        return None
    if costs is None:
        return None
    together, sequential = costs
    searched = thorough_tolerance(op, machine)
    return InterleavingFacts(
        together_cycles=together.cycles,
        together_bytes=whole_bytes(together.moved),
        sequential_cycles=sequential.cycles,
        sequential_bytes=whole_bytes(sequential.moved),
        saving_is_bound=searched is None,
    )


def _round_robin_costs(op: InterleaveOp, machine: Machine) -> tuple[ReportedCost, ReportedCost]:
    together = op.round_robin
    widths = tuple(contract_widths(contract, machine) for contract in op.contracts)
    problem = InterleaveProblem(together.nests, together.values, (None,) * len(widths), widths, machine)
    return round_robin_program(problem, together.schedules).cost, _sequential_cost(problem, op)


def _fused_costs(op: ContractOp, machine: Machine) -> tuple[ReportedCost, ReportedCost] | None:
    """None where several statements add up to one sum."""
    widths, resident = contract_widths(op, machine), unmoved_tensors(op)
    fused = FusedNest(op.nest, widths.without(op.nest, resident) if resident else widths)
    parts = statement_nests(fused.nest, fused.widths)
    if parts is None:
        return None
    nests = tuple(nest for nest, _ in parts)
    values = number_values([[tensor.name for tensor in nest.ins] for nest in nests])
    problem = InterleaveProblem(nests, values, (None,) * len(nests), tuple(bits for _, bits in parts), machine)
    return fused_program(fused, op.schedule, machine).cost, _sequential_cost(problem, op)


def _sequential_cost(problem: InterleaveProblem, op: Operation) -> ReportedCost:
    """
    As thoroughly searched as the program is, with its tolerance, so that it is what the passes compare with and already
    found: over several cores a tolerance of 0.005 or more has a quick search.
    """
    tolerance = thorough_tolerance(op, problem.machine)

    def alone(nest: Nest, widths: Bits) -> Schedule:
        found = best_schedule(nest, problem.machine, "time", widths, monotone=tolerance == 0)
        if not tolerance:
            return found
        near = best_schedule(nest, problem.machine, "time", widths, (), tolerance, monotone=True)
        return min(found, near, key=lambda one: exact_cost(nest, one, problem.machine, "time", widths))

    pairs = zip(problem.nests, problem.widths, strict=True)
    return sequential_program(problem, tuple(alone(nest, widths) for nest, widths in pairs)).cost
