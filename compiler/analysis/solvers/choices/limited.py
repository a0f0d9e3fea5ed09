"""
The choice that costs least of those that take no more of a resource than a limit.

Charging a price for the resource instead of limiting it leaves a graph of choices without a limit, and for every price
p >= 0 no choice within the limit costs less than

    min over x of (cost(x) + p resource(x)) - p limit

The best price is found between a choice that takes too much and one that does not: at the price where both come to the
same, either nothing is better, or something is that takes the place of one of them (Handler and Zang, "A dual algorithm
for the constrained shortest path problem", Networks 10, 1980). A gap may be left between the best choice within the
limit and the bound; a local search and, on request, an integer program make it smaller.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from npuc.compiler.analysis.solvers.choices.buckets import rounded_down
from npuc.compiler.analysis.solvers.choices.descent import ResourceLimit, descend
from npuc.compiler.analysis.solvers.choices.graph import (
    MOST,
    Choices,
    Number,
    Result,
    Table,
    alike,
    largest_sum,
    sum_down,
)
from npuc.compiler.analysis.solvers.choices.integer import best_by_program
from npuc.compiler.analysis.solvers.choices.minimise import MAX_TABLE, minimise_in
from npuc.compiler.analysis.solvers.choices.order import Order, best_order

MOST_PRICES = 100
"""So many prices are tried at most."""
FINE = 1 << 16
"""Prices are rounded to fractions whose denominators have at least so many values, to stay within 64 bits."""


@dataclass(frozen=True)
class Limited:
    """
    The best choice found within the limit, None if none was, with its cost and what it takes of the resource.

    No choice within the limit costs less than `bound`, and none at all that is allowed takes less than `least`:
    where that is above the limit there is no choice, and cost and bound are inf. `exact`: this is proved to be the
    best choice, or that there is none. `price` is that of the resource with which the bound was found.
    """

    choice: tuple[int, ...] | None
    cost: Number
    bound: Number
    exact: bool
    width: int
    taken: Number | None
    least: Number
    price: Number = 0


def minimise_within(
    choices: Choices,
    resource: Sequence[Table],
    limit: Number,
    *,
    max_table: int = MAX_TABLE,
    solve_exactly: bool = False,
) -> Limited:
    """
    The choice that costs least of those whose labels take `limit` or less: `resource` by the labels of each node.

    `solve_exactly` has an integer program close the gap between cost and bound; raises `UsageError` without HiGHS if
    there is one. Raises `ValueError` where the resource does not fit the labels.
    """
    search = _Search(choices, _checked(choices, resource), limit, max_table)
    found = search.run()
    if not solve_exactly or found.exact or limit == math.inf:
        return found
    return search.by_program(found)


def _checked(choices: Choices, resource: Sequence[Table]) -> tuple[Table, ...]:
    """The resource as arrays of one type."""
    if [table.shape for table in resource] != [(size,) for size in choices.sizes]:
        raise ValueError(f"a resource is of each label of {len(choices.sizes)} nodes, found other shapes")
    tables = tuple(alike(resource))
    if any((table == np.inf).any() for table in tables):
        raise ValueError("a resource is finite: labels that are not allowed cost inf")
    return tables


class _Search:
    """The search for one limit: the best choice within it so far, and the largest bound."""

    def __init__(self, choices: Choices, resource: tuple[Table, ...], limit: Number, max_table: int):
        self.choices = choices
        self.is_whole = Choices(choices.sizes, resource, {}).is_whole
        self.room = ResourceLimit(resource, math.floor(limit) if self.is_whole and math.isfinite(limit) else limit)
        self.max_table = max_table
        self.order: Order = best_order(choices.sizes, choices.neighbours, max_table)
        self.best: tuple[int, ...] | None = None
        self.cost: Number = math.inf
        self.bound: Number = -math.inf
        self.price: Number = 0

    @cached_property
    def _alike(self) -> tuple[tuple[Table, ...], dict[tuple[int, int], Table], tuple[Table, ...]]:
        """The costs of nodes, of pairs, and the resource as arrays of one type."""
        count = len(self.choices.sizes)
        tables = alike([*self.choices.unary, *self.room.resource, *self.choices.pairs.values()])
        pairs = dict(zip(self.choices.pairs, tables[2 * count :], strict=True))
        return tuple(tables[:count]), pairs, tuple(tables[count : 2 * count])

    @cached_property
    def _amounts(self) -> tuple[float, float]:
        """What sums of costs, and of the resource, are at most."""
        unary, pairs, resource = self._alike
        return largest_sum([*unary, *pairs.values()]), largest_sum(resource)

    def run(self) -> Limited:
        """The choice and the bound by prices and local search."""
        least = self._minimum(self._taking())
        self.least = least
        if least.bound > self.room.limit or least.bound == math.inf:
            return self._result(math.inf, exact=True)
        free = self._minimum(self.choices)
        self._charge(0, free.bound)
        self._offer(free.choice)
        if self.best is not None and free.exact:
            return self._result(self.cost, exact=True)
        self._offer(least.choice)
        proved = self._prices(free) if self.best is not None else False
        if self.best is not None and not proved:
            self._offer(descend(self.choices, self.best, self.room))
        return self._result(self.cost if proved else self.bound, exact=proved)

    def by_program(self, found: Limited) -> Limited:
        """What was found, or better by the integer program."""
        solution = best_by_program(self.choices, self.best or self.least.choice, self.room)
        if solution is None and self.best is None:
            return replace(found, bound=math.inf, exact=True)
        if solution is not None:
            self.bound = max(self.bound, solution.bound)
            if solution.choice is not None:
                self._offer(solution.choice)
        return self._result(self.bound, exact=False)

    def _minimum(self, choices: Choices, *, downward: bool = False) -> Result:
        return minimise_in(self.order, choices, max_table=self.max_table, downward=downward)

    def _taking(self) -> Choices:
        """The resource in the place of costs, where anything is allowed."""
        unary = [_marked(table, costs) for table, costs in zip(self.room.resource, self.choices.unary, strict=True)]
        pairs = {
            key: _marked(np.zeros(costs.shape), costs)
            for key, costs in self.choices.pairs.items()
            if (costs == np.inf).any()
        }
        return Choices(self.choices.sizes, unary, pairs)

    def _prices(self, over: Result) -> bool:
        """Tries prices from a choice on that takes too much; whether the best choice is proved to be the best."""
        assert self.best is not None
        above, below = (over.cost, self.room.taken(over.choice)), (self.cost, self.room.taken(self.best))
        for _ in range(MOST_PRICES):
            dearer, less = below[0] - above[0], above[1] - below[1]
            if dearer <= 0 or less <= 0 or above[0] == math.inf:
                break
            price = self._price(dearer, less)
            found = self._minimum(self._charged(price), downward=True)
            self._charge(price, found.bound)
            self._offer(found.choice)
            cost, taken = self.choices.cost(found.choice), self.room.taken(found.choice)
            if taken == self.room.limit and found.exact:
                return True
            charged = [c + price * r for c, r in (above, below)]
            if cost == math.inf or cost + price * taken >= min(charged):
                # what takes all there is, and costs least with the price, costs least
                return found.exact and below[1] == self.room.limit and charged[1] <= cost + price * taken
            if taken > self.room.limit:
                above = cost, taken
            else:
                below = cost, taken
        return False

    def _price(self, dearer: Number, less: Number) -> Number:
        """The price at which so much less of the resource is worth so much cost, if need be a little off."""
        dtype = self._alike[0][0].dtype
        if dtype == np.float64:
            return float(dearer) / float(less)
        price = Fraction(dearer) / Fraction(less)
        cost, resource = self._amounts
        if dtype == np.int64 and self._too_wide(price):
            finest = int(MOST / 4 / max(cost, float(price) * resource))
            rounded = price.limit_denominator(finest) if finest >= FINE else price
            return rounded if rounded > 0 else price
        return price

    def _too_wide(self, price: Fraction) -> bool:
        """Whether whole costs with a price may not fit into 64 bits."""
        cost, resource = self._amounts
        return price.denominator * cost + price.numerator * resource >= MOST

    def _charged(self, price: Number) -> Choices:
        """Costs and the price of what is taken; where the price is a fraction, times its denominator."""
        unary, pairs, resource = self._alike
        if isinstance(price, float):
            charged = [
                rounded_down(own + rounded_down(table * price)) for own, table in zip(unary, resource, strict=True)
            ]
            return Choices(self.choices.sizes, charged, pairs)
        price = Fraction(price)
        if unary[0].dtype == np.int64 and self._too_wide(price):
            unary, resource = ([table.astype(np.object_) for table in tables] for tables in (unary, resource))
            pairs = {key: table.astype(np.object_) for key, table in pairs.items()}
        times, each = price.denominator, price.numerator
        charged = [times * own + each * table for own, table in zip(unary, resource, strict=True)]
        return Choices(self.choices.sizes, charged, {key: times * table for key, table in pairs.items()})

    def _charge(self, price: Number, least: Number) -> None:
        """A new bound: the least of costs and price, of which no more than the limit has to be paid."""
        if price == 0 or least == math.inf:
            bound = least
        elif isinstance(price, float):
            bound = sum_down(least, -math.nextafter(price * self.room.limit, math.inf))
        else:
            price = Fraction(price)
            bound = Fraction(least) / price.denominator - price * Fraction(self.room.limit)
        if self.choices.is_whole and bound < math.inf:
            bound = math.ceil(bound)
        if bound > self.bound:
            self.bound, self.price = bound, price

    def _offer(self, choice: tuple[int, ...]) -> None:
        """Keeps a choice if it is within the limit, allowed and better."""
        cost = self.choices.cost(choice)
        if cost < self.cost and self.room.taken(choice) <= self.room.limit:
            self.best, self.cost = choice, cost

    def _result(self, bound: Number, *, exact: bool) -> Limited:
        bound = min(bound, self.cost)
        taken = None if self.best is None else self.room.taken(self.best)
        exact = exact or (self.best is not None and bound == self.cost)
        width, least = self.order.width, self.least.bound
        if self.is_whole and least < math.inf:
            least = math.ceil(least)
        return Limited(self.best, self.cost, bound, exact, width, taken, least, self.price)


def _marked(table: Table, costs: Table) -> Table:
    """The table with inf where the costs are."""
    forbidden = costs == np.inf
    return np.where(forbidden, np.inf, table) if forbidden.any() else table
