"""
The plan of recomputation with the least work under a budget of memory, by an integer program; for small steps.

Exact among the plans of `recompute.Problem`. The program is that of `recompute_program`, the solver HiGHS (SciPy). A
solver's tolerance is many bytes of a large value, so that its plan is weighed again, and the budget lowered if needed.
"""

from importlib import import_module
from typing import Any

from npuc.compiler.analysis.recompute import Plan, Problem
from npuc.compiler.analysis.recompute_program import Program, Terms
from npuc.compiler.errors import UsageError

NODES = 20_000
"""The most nodes of the search tree."""


def least_work(problem: Problem, budget: int) -> Plan | None:
    """
    The plan of least work whose peak is within a budget, in bytes; None if there is none.

    Raises `Unsolved` where the search tree is too large, `UsageError` without SciPy.
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


def least_peak(problem: Problem) -> Plan:
    """The plan of least peak. Raises as `least_work`."""
    found = _solved(problem, None)
    assert found is not None
    return found


class Unsolved(Exception):
    """The search for the optimum ended before it was proved."""


def solver() -> Any:
    """SciPy's module of optimisation. Raises `UsageError` without it."""
    try:
        return import_module("scipy.optimize")
    except ImportError as e:
        raise UsageError(
            "recompute{policy=optimal} needs SciPy for a network of this size", hint='pip install "npuc[solver]"'
        ) from e


def bound_of_work(problem: Problem, budget: int) -> int | None:
    """Work below which no plan is within a budget, by the linear program; None if that has no solution."""
    program = Program(problem)
    found = _run(program, budget, integral=False)
    return None if found is None else int(found.fun * _scale(program))


def _solved(problem: Problem, budget: int | None) -> Plan | None:
    """The plan of least work within a budget, or of least peak without one; None if no plan is."""
    program = Program(problem)
    found = _run(program, budget, integral=True)
    if found is None:
        return None
    return problem.bound | {op for op in program.stages if found.x[program.again(op)] > 0.5}


def _scale(program: Program) -> int:
    """The work that counts as 1 for the solver."""
    return max(1, max((program.problem.works[op] for op in program.stages), default=1))


def _run(program: Program, budget: int | None, *, integral: bool) -> Any:
    """What the solver found for least work within a budget, or for the least peak; None if nothing is within it."""
    optimize, problem = solver(), program.problem
    import numpy as np

    peak = program.count  # one more variable, the peak, in units
    unit = max(1, max(problem.sizes, default=1))
    rows = [*program.rows, *({peak: 1.0} | _scaled(point, -1.0 / unit) for point in program.points)]
    low = [*program.lower, *(point.get(-1, 0.0) / unit for point in program.points)]
    entries = [(number, variable, factor) for number, row in enumerate(rows) for variable, factor in row.items()]
    number, variable, factor = zip(*entries, strict=True) if entries else ((), (), ())
    matrix = import_module("scipy.sparse").csr_array((factor, (number, variable)), shape=(len(rows), peak + 1))
    cost = np.zeros(peak + 1)
    if budget is None:
        cost[peak] = 1.0
    else:
        scale = _scale(program)
        for op in program.stages:
            cost[program.again(op)] = problem.works[op] / scale
    upper = np.ones(peak + 1)
    upper[peak] = np.inf if budget is None else (budget - problem.resident) / unit
    if upper[peak] < 0:
        return None
    integrality = np.zeros(peak + 1)
    integrality[: program.integers] = integral
    result = optimize.milp(
        cost,
        integrality=integrality,
        bounds=optimize.Bounds(np.zeros(peak + 1), upper),
        constraints=optimize.LinearConstraint(matrix, np.array(low), np.inf),
        options={"node_limit": NODES, "mip_rel_gap": 0.0},
    )
    if result.status == 2:
        return None
    if result.status != 0:
        raise Unsolved(str(result.message))
    return result


def _scaled(terms: Terms, factor: float) -> Terms:
    """A multiple of an expression, without its constant."""
    return {variable: own * factor for variable, own in terms.items() if variable >= 0}
