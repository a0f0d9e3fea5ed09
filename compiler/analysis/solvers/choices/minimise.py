"""
The choice that costs least in a graph of choices, or one close to it with a bound that tells how close.

Bucket elimination finds it where the tables are small enough. Otherwise the nodes that hang on few others are
eliminated all the same, and labels that are never needed are left out of the core that remains. Of this, mini-buckets
say a lower bound and labels to begin with, those of equal nodes tied to one label are others (`tied.py`), a local
search improves both, and on request an integer program goes on from there until it is proved, or ends at its limits.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from npuc.compiler.analysis.solvers.choices.buckets import MOST_AXES, Buckets
from npuc.compiler.analysis.solvers.choices.descent import descend, is_rounding
from npuc.compiler.analysis.solvers.choices.dominance import in_least, undominated
from npuc.compiler.analysis.solvers.choices.graph import Choices, Number, Result, Table, sum_down
from npuc.compiler.analysis.solvers.choices.integer import best_by_program
from npuc.compiler.analysis.solvers.choices.order import Order, best_order
from npuc.compiler.analysis.solvers.choices.tied import tied_labels

MAX_TABLE = 1 << 24
"""Entries of the largest table, 8 bytes each."""
MAX_KEPT = 1 << 27
"""Entries of all messages together, which are kept until the labels are known."""
MOST_DESCENT = 1 << 25
"""Entries of tables that a local search looks at from each start, where equal nodes were tied first."""
MAX_TIED_TABLE = 1 << 16
"""Entries of the largest table where equal nodes are tied."""
MOST_TIED_DESCENT = 1 << 22
"""The same while nodes are tied."""
MUCH_WORK = 1 << 20
"""Entries of all tables from which on labels are looked for that are in no best choice."""
MAX_WORK = 1 << 28
"""Entries of the tables of all mini-buckets together: where there are many of them, they are smaller."""


def minimise(choices: Choices, *, max_table: int = MAX_TABLE, solve_exactly: bool = False) -> Result:
    """
    The choice that costs least if no table needs more than `max_table` entries, else a good one and a lower bound.

    Of equally good choices, with exact elimination, the nodes take the smallest labels: the node that is eliminated
    last first. `solve_exactly` has an integer program search for what elimination cannot tell; raises `UsageError`
    without HiGHS if that is needed.
    """
    order = best_order(choices.sizes, choices.neighbours, max_table)
    return minimise_in(order, choices, max_table=max_table, solve_exactly=solve_exactly)


def marginals(choices: Choices, *, max_table: int = MAX_TABLE) -> list[Table] | None:
    """
    What the best choice costs with each label of each node; None where tables would be too large for that.

    Costs of floats are right up to rounding.
    """
    order = best_order(choices.sizes, choices.neighbours, max_table)
    if not _is_exact(order, max_table):
        return None
    buckets = Buckets(choices, order.nodes)
    buckets.eliminate()
    return buckets.marginals()


def lower_bound(choices: Choices, *, max_table: int = MAX_TABLE, solve_exactly: bool = False) -> Number:
    """The bound of `minimise`, without the search for good labels where that changes nothing of it."""
    order = best_order(choices.sizes, choices.neighbours, max_table)
    if solve_exactly or _is_exact(order, max_table):
        return minimise_in(order, choices, max_table=max_table, solve_exactly=solve_exactly).bound
    # sums are exact or rounded down, and those of a choice to the nearest, so that no choice costs less by rounding
    return _Core(order, choices, max_table).bound


def minimise_in(
    order: Order, choices: Choices, *, max_table: int, solve_exactly: bool = False, downward: bool = False
) -> Result:
    """`minimise` by a given order. `downward`: the bound of floats is rounded down where the choice is exact, too."""
    if _is_exact(order, max_table):
        choice, constant = _eliminated(order, choices, downward=downward)
        cost = choices.cost(choice)
        bound = min(constant, cost) if downward else cost
        return Result(choice, cost, bound, exact=True, width=order.width)
    return _of_core(order, choices, max_table, solve_exactly)


def _eliminated(order: Order, choices: Choices, *, downward: bool) -> tuple[tuple[int, ...], Number]:
    """
    The best choice and its cost by elimination alone.

    Where tables are large, labels that are in no best choice are left out first. In the same order, with sums in the
    same order, all entries of tables that are left are the same, so that the choice is, too.
    """
    work = sum(order.tables)
    kept = in_least(choices, work // 2) if work > MUCH_WORK else [range(size) for size in choices.sizes]
    few = choices.restricted(kept) if work > MUCH_WORK else choices
    buckets = Buckets(few, order.nodes, downward=downward, weights=choices.sizes)
    buckets.eliminate()
    return tuple(own[label] for own, label in zip(kept, buckets.labels(), strict=True)), buckets.constant


def can_eliminate(sizes: Sequence[int], pairs: Collection[tuple[int, int]], *, max_table: int = MAX_TABLE) -> bool:
    """Whether elimination alone finds the best choice of a graph with so many labels of nodes and these pairs."""
    near: list[set[int]] = [set() for _ in sizes]
    for i, j in pairs:
        near[i].add(j)
        near[j].add(i)
    return _is_exact(best_order(sizes, [sorted(nodes) for nodes in near], max_table), max_table)


def _is_exact(order: Order, max_table: int) -> bool:
    """Whether elimination needs no mini-buckets."""
    return order.largest <= max_table and sum(order.kept) <= MAX_KEPT and order.width < MOST_AXES


class _Core:
    """What exact elimination leaves of a graph, without labels that are never needed, and its mini-buckets."""

    def __init__(self, order: Order, choices: Choices, max_table: int):
        self.choices, self.count = choices, order.series(max_table)
        self.outer = Buckets(choices, order.nodes, downward=True)
        self.outer.eliminate(self.count)
        self.nodes, whole = self.outer.rest(self.count)
        self.kept = undominated(whole)
        self.core = whole.restricted(self.kept)
        inside = best_order(self.core.sizes, self.core.neighbours, max_table)
        limit = math.inf if _is_exact(inside, max_table) else _table_of(self.core, max_table)
        self.inner = Buckets(self.core, inside.nodes, limit, downward=True)
        self.inner.eliminate()
        self.bound = sum_down(self.outer.constant, self.inner.constant)

    def whole(self, labels: Sequence[int]) -> tuple[int, ...]:
        """The best labels of all nodes where those of the core are these."""
        known = {node: own[label] for node, own, label in zip(self.nodes, self.kept, labels, strict=True)}
        return tuple(self.outer.labels(self.count, [known.get(node, 0) for node in range(len(self.choices.sizes))]))


def _of_core(order: Order, choices: Choices, max_table: int, solve_exactly: bool) -> Result:
    """A choice and its bound: exact elimination up to the core, whatever there is for the core."""
    part = _Core(order, choices, max_table)
    core, bound, found = part.core, part.bound, tuple(part.inner.labels())
    least = part.inner.constant
    if least < core.cost(found) and not is_rounding(core, least, core.cost(found)):
        found = _searched(core, found, max_table)
    choice = part.whole(found)
    cost = choices.cost(choice)
    if solve_exactly and bound < cost:
        solution = best_by_program(core, found)
        bound = math.inf if solution is None else max(bound, sum_down(part.outer.constant, solution.bound))
        if solution is not None and solution.choice is not None:
            better = part.whole(solution.choice)
            cost, choice = min((choices.cost(way), way) for way in (choice, better))
    bound = min(bound, cost)
    return Result(choice, cost, bound, exact=bound == cost, width=order.width)


def _searched(core: Choices, found: tuple[int, ...], max_table: int) -> tuple[int, ...]:
    """Better labels than those found: by local search from these, and from the best with equal nodes tied."""

    def solve(tied: Choices) -> tuple[int, ...]:
        most = min(max_table, MAX_TIED_TABLE)
        order = best_order(tied.sizes, tied.neighbours, most)
        buckets = Buckets(tied, order.nodes, math.inf if order.largest <= most else most)
        buckets.eliminate()
        return bounded(tied, buckets.labels())

    def bounded(tied: Choices, labels: Sequence[int]) -> tuple[int, ...]:
        return descend(tied, labels, most=MOST_TIED_DESCENT, kicked=False)

    tied = tied_labels(core, solve, bounded)
    if tied is None:
        return descend(core, found)
    return min((descend(core, start, most=MOST_DESCENT) for start in (tied, found)), key=core.cost)


def _table_of(core: Choices, max_table: int) -> int:
    """The entries of the largest table of a mini-bucket."""
    return min(max_table, MAX_WORK // (len(core.sizes) + len(core.pairs)))
