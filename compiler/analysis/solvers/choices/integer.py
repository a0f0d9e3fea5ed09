"""
The integer program of a graph of choices: its relaxation is the local marginal polytope.

A variable for each label of a node says whether it is chosen, one for each entry of a pair whether both are:

    sum over l of x_i[l] = 1        sum over m of y_ij[l, m] = x_i[l]        sum over l of y_ij[l, m] = x_j[m]

Only x need be whole. Where labels take of a resource, one more row limits the sum of it. Source: Werner, "A linear
programming approach to max-sum problem: a review", PAMI 29 (2007).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from npuc.compiler.analysis.solvers.choices.descent import ResourceLimit
from npuc.compiler.analysis.solvers.choices.graph import Choices, Number, Table
from npuc.compiler.analysis.solvers.linear import TOLERANCE, Ints, LinearProgram, solve

NODES = 5000
SECONDS = 120.0
"""The search ends after so many nodes, or seconds: the first is met by the same point each time."""
PURPOSE = "the exact search for the best choices"


@dataclass(frozen=True)
class IntegerResult:
    """The labels with which the search ended, None if it had none, and a cost that none go below."""

    choice: tuple[int, ...] | None
    bound: Number


def best_by_program(choices: Choices, known: Sequence[int], room: ResourceLimit | None = None) -> IntegerResult | None:
    """
    The best labels, from those `known` on; None if nothing is allowed. Raises `UsageError` without HiGHS.

    The bound allows for the solver's tolerance; of whole costs it is the next whole number that a choice can cost.
    """
    scaled = _Scaled(choices)
    program = LinearProgram()
    chosen = [_node(program, table) for table in scaled.unary]
    start = [_one(table.shape, label) for table, label in zip(scaled.unary, known, strict=True)]
    for (i, j), table in scaled.pairs.items():
        _pair(program, table, chosen[i], chosen[j])
        start.append(_one(table.shape, known[i], known[j]))
    if room is not None:
        _limit(program, room, chosen)
    solution = solve(program, purpose=PURPOSE, nodes=NODES, seconds=SECONDS, start=np.concatenate(start))
    if solution is None:
        return None
    labels = None
    if solution.values is not None:
        values = solution.values
        labels = tuple(int(values[variables].argmax()) for variables in chosen)
    return IntegerResult(labels, scaled.cost_of(solution.bound))


class _Scaled:
    """Costs as the solver takes them: floats from 0 to 1, inf where not allowed; pairs that cost nothing left out."""

    def __init__(self, choices: Choices):
        lowest = [_least(table) for table in (*choices.unary, *choices.pairs.values())]
        tables = [table - low for table, low in zip((*choices.unary, *choices.pairs.values()), lowest, strict=True)]
        entries = np.concatenate([table[table != np.inf] for table in tables])
        self.constant = sum(lowest) if choices.dtype != np.float64 else math.fsum(lowest)
        self.step = 0
        """Whole costs differ by multiples of it; 0 for others."""
        if choices.is_whole:
            self.step = int(np.gcd.reduce(entries.astype(choices.dtype), initial=0)) or 1
        self.unit = _unit(tables)
        floats = [_floats(table, self.unit) for table in tables]
        count = len(choices.sizes)
        self.unary = floats[:count]
        pairs = zip(choices.pairs, floats[count:], strict=True)
        self.pairs = {key: table for key, table in pairs if table.any()}
        self.slack = TOLERANCE * (1 + len(tables))

    def cost_of(self, bound: float) -> Number:
        """A lower bound of the costs, of one that the solver says."""
        if not math.isfinite(bound):
            return bound
        own = max(Fraction(bound - self.slack) * self.unit, Fraction(0))
        if self.step:
            return self.constant + self.step * math.ceil(own / self.step)
        if isinstance(self.constant, float):
            return math.nextafter(self.constant + math.nextafter(float(own), -math.inf), -math.inf)
        return self.constant + own


def _least(table: Table) -> Number:
    """The least cost of a table that is allowed, 0 if none is."""
    least = table.min()
    return 0 if least == math.inf else table.item(int(table.argmin()))


def _unit(tables: Sequence[Table]) -> Fraction:
    """The largest number that is not inf, at least 0; 1 if that is 0."""
    largest = [np.where(table == np.inf, 0, table) for table in tables]
    return Fraction(max((table.item(int(table.argmax())) for table in largest), default=0)) or Fraction(1)


def _floats(table: Table, unit: Fraction) -> Table:
    if table.dtype != np.object_:
        return table / float(unit)
    return np.array([x if x == math.inf else float(Fraction(x) / unit) for x in table.flat]).reshape(table.shape)


def _one(shape: tuple[int, ...], *place: int) -> Table:
    """An array of zeros with a 1, flat."""
    found = np.zeros(shape)
    found[place] = 1.0
    return found.ravel()


def _variables(program: LinearProgram, costs: Table, *, whole: bool) -> Ints:
    """A variable for each cost, 0 where it is inf."""
    allowed = costs != np.inf
    return program.variables(costs.size, allowed.ravel(), np.where(allowed, costs, 0.0).ravel(), whole=whole)


def _node(program: LinearProgram, costs: Table) -> Ints:
    variables = _variables(program, costs, whole=True)
    (row,) = program.rows(1, 1.0, 1.0)
    program.put(np.full(len(variables), row), variables, 1.0)
    return variables


def _pair(program: LinearProgram, costs: Table, first: Ints, second: Ints) -> None:
    both = _variables(program, costs, whole=False).reshape(costs.shape)
    for own, sides in ((first, both), (second, both.T)):
        rows = program.rows(len(own), 0.0, 0.0)
        program.put(np.repeat(rows, sides.size // len(own)), sides.ravel(), 1.0)
        program.put(rows, own, -1.0)


def _limit(program: LinearProgram, room: ResourceLimit, chosen: Sequence[Ints]) -> None:
    """The row of the resource, its least amounts left out and its largest as 1."""
    least = [_least(table) for table in room.resource]
    over = [table - low for table, low in zip(room.resource, least, strict=True)]
    unit = _unit(over)
    most = Fraction(room.limit) - sum((Fraction(low) for low in least), start=Fraction(0))
    (row,) = program.rows(1, -np.inf, min(float(most / unit), float(len(over))))
    for variables, table in zip(chosen, over, strict=True):
        program.put(np.full(len(variables), row), variables, _floats(table, unit))
