"""
Linear and integer programs: minimise a cost of variables between 0 and a limit, under rows of linear constraints.

Solved by HiGHS (Q. Huangfu, J. A. J. Hall, "Parallelizing the dual revised simplex method", 2018), an extra. It writes
nothing to standard output.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from npuc.compiler.core.errors import UsageError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
TOLERANCE = 1e-9
"""How far the solver may leave a row, and an integer variable its integer."""
CLOSE = 1e-6
"""How far, as a share of all terms, the cost of the best values may be from what none go below."""


@dataclass
class LinearProgram:
    """
    Minimise the cost of variables between 0 and a limit, under rows: low <= sum of factors times variables <= high.

    Variables and rows are added some at a time and known by their numbers.
    """

    cost: list[Floats] = field(default_factory=list[Floats])
    upper: list[Floats] = field(default_factory=list[Floats])
    whole: list[Floats] = field(default_factory=list[Floats])
    low: list[Floats] = field(default_factory=list[Floats])
    high: list[Floats] = field(default_factory=list[Floats])
    entries: list[tuple[Ints, Ints, Floats]] = field(default_factory=list[tuple[Ints, Ints, Floats]])
    size: int = 0
    height: int = 0

    def variables(self, count: int, upper: npt.ArrayLike, cost: npt.ArrayLike = 0.0, *, whole: bool = False) -> Ints:
        """New variables with their limits and costs, one for all or one each; `whole` ones take whole numbers only."""
        for values, value in ((self.upper, upper), (self.cost, cost), (self.whole, float(whole))):
            values.append(_each(value, count))
        self.size += count
        return np.arange(self.size - count, self.size, dtype=np.int64)

    def rows(self, count: int, low: npt.ArrayLike, high: npt.ArrayLike) -> Ints:
        """New rows without entries."""
        self.low.append(_each(low, count))
        self.high.append(_each(high, count))
        self.height += count
        return np.arange(self.height - count, self.height, dtype=np.int64)

    def put(self, rows: Ints, variables: Ints, factors: npt.ArrayLike) -> None:
        """Entries: of each row a variable and its factor."""
        self.entries.append((rows, variables, _each(factors, len(rows))))

    def matrix(self) -> tuple[Ints, Ints, Floats]:
        """Row, variable and factor of every entry, by rows."""
        row, variable, factor = (np.concatenate(part) for part in zip(_NOTHING, *self.entries, strict=True))
        order = np.lexsort((variable, row))
        return row[order], variable[order], factor[order]


_NOTHING = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))


def _each(values: npt.ArrayLike, count: int) -> Floats:
    return np.broadcast_to(np.asarray(values, dtype=np.float64), (count,))


def _joined(parts: list[Floats]) -> Floats:
    return np.concatenate([np.zeros(0), *parts])


@dataclass(frozen=True)
class Solution:
    """
    What was found: the variables, None if the search ended before any were, and a cost that no others go below.

    `proved`: the search has ended, and no others cost less than these but for the solver's tolerance.
    """

    values: Floats | None
    bound: float
    proved: bool


def solve(
    program: LinearProgram,
    *,
    purpose: str,
    nodes: int | None = None,
    seconds: float | None = None,
    start: Floats | None = None,
) -> Solution | None:
    """
    The solution of a program, None if it has none.

    The search for whole numbers ends after so many `nodes` or seconds. `start` are values to begin with, `purpose` is
    what the message says that a missing solver is needed for. The bound of a program without whole numbers follows from
    weak duality, so that no tolerance enters it. Raises `UsageError` without HiGHS.
    """
    highs = _highs(purpose)
    if not program.size:
        return Solution(np.zeros(0), 0.0, proved=True)
    solver = highs.Highs()
    solver.setOptionValue("output_flag", False)
    # On several threads the tree depends on their number: the answer would be this machine's.
    solver.setOptionValue("parallel", "off")
    options = {"mip_rel_gap": 0.0, "primal_feasibility_tolerance": TOLERANCE, "mip_feasibility_tolerance": TOLERANCE}
    options |= {} if nodes is None else {"mip_max_nodes": nodes}
    options |= {} if seconds is None else {"time_limit": seconds}
    for name, value in options.items():
        solver.setOptionValue(name, value)
    solver.passModel(_model(highs, program))
    if start is not None:
        known = highs.HighsSolution()
        known.col_value = start
        solver.setSolution(known)
    solver.run()
    status, info, found = solver.getModelStatus(), solver.getInfo(), solver.getSolution()
    if status in (highs.HighsModelStatus.kInfeasible, highs.HighsModelStatus.kUnboundedOrInfeasible):
        return None
    values = np.array(found.col_value) if info.primal_solution_status == _FEASIBLE else None
    proved = status == highs.HighsModelStatus.kOptimal
    if not _joined(program.whole).any():
        bound = dual_bound(program, np.array(found.row_dual)) if found.dual_valid else -np.inf
        return Solution(values, bound, proved)
    bound = float(info.mip_dual_bound)
    if proved and not costs_as_said(program, values, bound):
        if start is not None:
            # HiGHS 1.16.0 returns the values to begin with, and the cost of better ones.
            return solve(program, purpose=purpose, nodes=nodes, seconds=seconds)
        proved = False
    return Solution(values, bound, proved)


_FEASIBLE = 2


def costs_as_said(program: LinearProgram, values: Floats | None, bound: float) -> bool:
    """Whether values cost what none go below, but for the solver's tolerance."""
    if values is None:
        return False
    each = values * _joined(program.cost)
    return float(each.sum()) - bound <= CLOSE * max(1.0, float(np.abs(each).sum()))


def _highs(purpose: str) -> Any:
    try:
        return import_module("highspy")
    except ImportError as e:
        raise UsageError(f"{purpose} needs HiGHS, which is not installed", hint='pip install "npuc[solver]"') from e


def _model(highs: Any, program: LinearProgram) -> Any:
    row, variable, factor = program.matrix()
    model = highs.HighsLp()
    model.num_col_, model.num_row_ = program.size, program.height
    model.col_cost_, model.col_lower_, model.col_upper_ = (
        _joined(program.cost),
        np.zeros(program.size),
        _joined(program.upper),
    )
    model.row_lower_, model.row_upper_ = _joined(program.low), _joined(program.high)
    model.a_matrix_.format_ = highs.MatrixFormat.kRowwise
    model.a_matrix_.start_ = np.searchsorted(row, np.arange(program.height + 1))
    model.a_matrix_.index_, model.a_matrix_.value_ = variable, factor
    whole = _joined(program.whole)
    if whole.any():
        kinds = (highs.HighsVarType.kContinuous, highs.HighsVarType.kInteger)
        model.integrality_ = [kinds[one > 0] for one in whole.tolist()]
    return model


def dual_bound(program: LinearProgram, multipliers: Floats) -> float:
    """The cost that no values go below, by multipliers of the rows, whatever these are: weak duality."""
    row, variable, factor = program.matrix()
    limit = np.where(multipliers > 0, _joined(program.low), _joined(program.high))
    # a multiplier that points to a limit that is not there says nothing
    there = np.isfinite(limit)
    multipliers, limit = np.where(there, multipliers, 0.0), np.where(there, limit, 0.0)
    reduced = _joined(program.cost) - np.bincount(variable, multipliers[row] * factor, program.size)
    below = reduced < 0
    return float(multipliers @ limit + reduced[below] @ _joined(program.upper)[below])
