"""
The plan of recomputation with the least work under a budget of memory, by an integer program; for small steps.

It is optimal among the plans of a `RecomputeProblem`. The program is that of `recompute_program`, the solver that of
`linear`. The solver's tolerance can be many bytes of a large value, so that a plan's memory is computed again, and the
budget lowered if needed.
"""

import numpy as np

from npuc.compiler.analysis.memory.recompute import Plan, RecomputeProblem
from npuc.compiler.analysis.memory.recompute_program import RecomputeProgram, Terms
from npuc.compiler.analysis.solvers.linear import LinearProgram as Linear
from npuc.compiler.analysis.solvers.linear import Solution, solve

NODES = 20_000
"""The most nodes of the search tree."""
PURPOSE = "recompute{policy=optimal}, for a network of this size,"


def least_work(problem: RecomputeProblem, budget: int) -> Plan | None:
    """
    The plan of least work whose peak is within a budget, in bytes; None if there is none.

    Raises `Unsolved` where the search tree is too large, `UsageError` without HiGHS.
    """
    limit = budget
    while True:
        found = _solved(problem, limit)
        if found is None:
            return None
        over = problem.outcome(found).peak_bytes - budget
        if over <= 0:
            return found
        limit -= over  # the solver's tolerance: a millionth of a large value is many bytes


def least_peak(problem: RecomputeProblem) -> Plan:
    """The plan of least peak. Raises as `least_work`."""
    found = _solved(problem, None)
    assert found is not None
    return found


class Unsolved(Exception):
    """The search for the optimum ended before it was proved."""


def _solved(problem: RecomputeProblem, budget: int | None) -> Plan | None:
    """The plan of least work within a budget, or of least peak without one; None if no plan is."""
    program = RecomputeProgram(problem)
    found = _run(program, budget)
    if found is None:
        return None
    if found.values is None or not found.proved:
        raise Unsolved
    return problem.bound | {op for op in program.stages if found.values[program.again(op)] > 0.5}


def _scale(program: RecomputeProgram) -> int:
    """The work that counts as 1 for the solver."""
    return max(1, max((program.problem.works[op] for op in program.stages), default=1))


def _run(program: RecomputeProgram, budget: int | None) -> Solution | None:
    """What the solver found for least work within a budget, or for the least peak; None if nothing is within it."""
    problem = program.problem
    unit = max(1, max(problem.sizes, default=1))
    most = np.inf if budget is None else (budget - problem.resident) / unit
    if most < 0:
        return None
    cost = np.zeros(program.count)
    if budget is not None:
        cost[[program.again(op) for op in program.stages]] = [
            problem.works[op] / _scale(program) for op in program.stages
        ]
    linear = Linear()
    linear.variables(program.integers, 1.0, cost[: program.integers], whole=True)
    linear.variables(program.count - program.integers, 1.0)
    (peak,) = linear.variables(1, most, float(budget is None))  # in units
    rows = [*program.rows, *({int(peak): 1.0} | _scaled(point, -1.0 / unit) for point in program.points)]
    low = [*program.lower, *(point.get(-1, 0.0) / unit for point in program.points)]
    entries = [(number, variable, factor) for number, row in enumerate(rows) for variable, factor in row.items()]
    linear.rows(len(rows), low, np.inf)
    number, variable, factor = zip(*entries, strict=True) if entries else ((), (), ())
    linear.put(np.array(number, dtype=np.int64), np.array(variable, dtype=np.int64), factor)
    return solve(linear, purpose=PURPOSE, nodes=NODES)


def _scaled(terms: Terms, factor: float) -> Terms:
    """A multiple of an expression, without its constant."""
    return {variable: own * factor for variable, own in terms.items() if variable >= 0}
