"""
Bucket elimination: node by node, the sum of all costs that a node is part of gives way to its minimum over the node.

What is left of a node is a table over its neighbours, a message to those that are eliminated later. When all nodes
are gone the least cost is known, and in the opposite order each node takes the label that is best for those after it.

Where a table would be too large, the costs of a node are split into groups, mini-buckets, each with a minimum of its
own: what is left in the end is a lower bound, and the labels are good rather than best. Before that, the least costs of
the node's labels in each group are spread evenly over the groups: that raises the bound and changes no sum.

Sources: Dechter, "Bucket elimination", Artificial Intelligence 113 (1999); Dechter and Rish, "Mini-buckets", JACM 50
(2003); Ihler, Flerova, Dechter, Otten, "Join-graph based cost-shifting schemes", UAI 2012.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from npuc.compiler.analysis.solvers.choices.graph import MOST, Choices, Number, Table, largest_sum, sum_down

MOST_AXES = 32
"""Tables of more nodes than these are not made."""


MOST_AT_ONCE = 1 << 20
"""The sums of all groups of a bucket are there at once where they have no more entries together."""


class Function(NamedTuple):
    """Costs by the labels of some nodes, in the order in which these are eliminated: an axis each."""

    scope: tuple[int, ...]
    table: Table


class Buckets:
    """
    The costs of a graph, each in the bucket of the first of its nodes that is eliminated.

    Tables have at most `limit` entries, or as many as a pair has. `downward`: sums of floats are rounded down, so that
    `constant` is a lower bound whatever the rounding. Tables are summed from the smallest on, as if nodes had as many
    labels as their `weights` say, by default those that they have.
    """

    def __init__(
        self,
        choices: Choices,
        order: Sequence[int],
        limit: float = math.inf,
        *,
        downward: bool = False,
        weights: Sequence[int] | None = None,
    ):
        self.sizes = choices.sizes
        self.weights = choices.sizes if weights is None else weights
        self.order = order
        self.dtype = choices.dtype
        self.limit = limit
        self.rounds = downward and choices.dtype == np.float64
        self.place = [0] * len(order)
        for number, node in enumerate(order):
            self.place[node] = number
        self.functions = [[Function((node,), table)] for node, table in enumerate(choices.unary)]
        for (i, j), table in choices.pairs.items():
            if self.place[i] < self.place[j]:
                self.functions[i].append(Function((i, j), table))
            else:
                self.functions[j].append(Function((j, i), table.T))
        self.constant: Number = 0
        """What is left of the nodes that are eliminated, beside the messages."""
        self._choices = choices

    def eliminate(self, count: int | None = None) -> None:
        """Takes the first nodes of the order out, all of them by default."""
        for node in self.order[:count]:
            groups = self._groups(node)
            kept = [self._sum(group) for group in groups] if self._are_small(groups) else None
            shifts = self._shifts(groups, kept) if len(groups) > 1 else [None]
            for number, (group, shift) in enumerate(zip(groups, shifts, strict=True)):
                scope, table = self._sum(group) if kept is None else kept[number]
                if shift is not None:
                    table = self._added(table, shift.reshape(-1, *(1,) * (table.ndim - 1)))
                self._send(scope[1:], table.min(axis=0))

    def labels(self, count: int | None = None, known: Sequence[int] = ()) -> list[int]:
        """
        The best label of each of the first nodes of the order, by what was eliminated; the others' are `known`.

        From the last to the first; of equally good labels each takes the smallest.
        """
        labels = list(known) or [0] * len(self.order)
        for node in reversed(self.order[:count]):
            first, *others = (
                table[(slice(None), *[labels[u] for u in scope[1:]])] for scope, table in self.functions[node]
            )
            costs = sum(others, start=first)
            labels[node] = int(costs.argmin())
        return labels

    def rest(self, count: int) -> tuple[list[int], Choices]:
        """
        The nodes that are left after the first so many, ascending, and their costs with the messages.

        The first nodes are eliminated without large tables: no message is of more than two nodes.
        """
        nodes = sorted(self.order[count:])
        number = {node: n for n, node in enumerate(nodes)}
        unary: list[Table] = []
        pairs: dict[tuple[int, int], Table] = {}
        for node in nodes:
            alone = [table for scope, table in self.functions[node] if len(scope) == 1]
            unary.append(self._total(alone))
            for scope, table in self.functions[node]:
                if len(scope) == 2:
                    key = number[node], number[scope[1]]
                    pairs[key] = self._added(pairs[key], table) if key in pairs else table
        return nodes, Choices([self.sizes[node] for node in nodes], unary, pairs)

    def marginals(self) -> list[Table]:
        """
        What the best choice costs with each label of each node, if all nodes were eliminated without a limit.

        From the last node to the first: to what a node's bucket costs comes what the rest costs at least, by the labels
        that the two share. (Dechter, "Bucket elimination": the tree of buckets, passed both ways.)
        """
        found: list[Table] = [np.zeros(0)] * len(self.order)
        scopes = [self._scope(functions) for functions in self.functions]
        below: dict[int, list[int]] = {}
        for node in self.order:
            for parent in scopes[node][1:2]:
                below.setdefault(parent, []).append(node)
        rest: dict[int, Any] = {}
        for node in reversed(self.order):
            scope, table = self._sum(self.functions[node])
            own: Table = np.asarray(table.min(axis=0), dtype=self.dtype)
            above: Table = np.asarray(rest.pop(node, self.constant), dtype=self.dtype)
            # where the node's own costs are inf, so is the sum
            none: Table = np.zeros((), dtype=self.dtype)
            own = np.where(own == np.inf, none, own)
            table = table + np.asarray(above - own, dtype=self.dtype)
            found[node] = table.reshape(len(table), -1).min(axis=1)
            for child in below.get(node, []):
                hidden = tuple(n for n, u in enumerate(scope) if u not in scopes[child])
                rest[child] = table.min(axis=hidden)
        return found

    @cached_property
    def _spare(self) -> float:
        """How much may be added to the largest amounts of all functions before 64 bits may not hold a sum of them."""
        if self.dtype != np.int64:
            return math.inf
        return MOST - largest_sum([*self._choices.unary, *self._choices.pairs.values()])

    def _send(self, scope: tuple[int, ...], message: Any) -> None:
        if scope:
            self.functions[scope[0]].append(Function(scope, message))
        else:
            least: Number = np.asarray(message, dtype=self.dtype).item()
            self.constant = sum_down(self.constant, least) if self.rounds else self.constant + least

    def _groups(self, node: int) -> list[list[Function]]:
        """The functions of a bucket in groups whose tables are within the limit, the largest functions first."""
        functions = self.functions[node]
        if self._entries({u for scope, _ in functions for u in scope}) <= self.limit:
            return [functions]
        groups: list[tuple[set[int], list[Function]]] = []
        for function in sorted(functions, key=lambda function: -function.table.size):
            for nodes, members in groups:
                if nodes.issuperset(function.scope) or self._entries(nodes.union(function.scope)) <= self.limit:
                    nodes.update(function.scope)
                    members.append(function)
                    break
            else:
                groups.append((set(function.scope), [function]))
        return [members for _, members in groups]

    def _entries(self, nodes: set[int]) -> float:
        """The entries of a table over nodes; inf where an array has not so many axes, though some have one label."""
        return math.inf if len(nodes) > MOST_AXES else math.prod([self.sizes[u] for u in nodes])

    def _sum(self, functions: Sequence[Function]) -> Function:
        """The sum of functions, over all of their nodes."""
        scope = self._scope(functions)
        aligned = [
            table if own == scope else table[tuple(slice(None) if u in own else None for u in scope)]
            for own, table in sorted(functions, key=lambda function: math.prod(self.weights[u] for u in function.scope))
        ]
        return Function(scope, self._total(aligned))

    def _scope(self, functions: Sequence[Function]) -> tuple[int, ...]:
        """All nodes of functions, in the order in which they are eliminated."""
        return tuple(sorted({u for scope, _ in functions for u in scope}, key=self.place.__getitem__))

    def _total(self, tables: Sequence[Table]) -> Table:
        total = tables[0]
        for number, table in enumerate(tables[1:]):
            total = self._added(total, table, own=number > 0)
        return total

    def _added(self, a: Table, b: Table, *, own: bool = False) -> Table:
        """The sum of two arrays, in the place of the first where it may be: it is our `own` and as large as the sum."""
        fits = own and all(n in (1, m) for n, m in zip(b.shape, a.shape, strict=True))
        total = np.add(a, b, out=a) if fits else a + b
        return rounded_down(total) if self.rounds else total

    def _are_small(self, groups: Sequence[Sequence[Function]]) -> bool:
        """Whether the sums of all groups may be there at once, so that none is made twice."""
        return sum(self._entries({u for scope, _ in group for u in scope}) for group in groups) <= MOST_AT_ONCE

    def _shifts(self, groups: Sequence[Sequence[Function]], sums: Sequence[Function] | None) -> Sequence[Table | None]:
        """
        What to add to the sum of each group by the labels of the node: in all nothing, or less. `sums` are those of the
        groups, where they are there.
        """
        least: list[Table] = []
        for place, group in enumerate(groups):
            table = (self._sum(group) if sums is None else sums[place]).table
            least.append(table.reshape(len(table), -1).min(axis=1))
        total, count = self._total(least), len(groups)
        allowed: npt.NDArray[np.bool_] = total != np.inf
        share = np.where(allowed, total, 0)
        share = rounded_down(share / count) if self.rounds else share // count
        last = share if self.rounds else np.where(allowed, total, 0) - (count - 1) * share
        shifts: list[Table] = []
        for number, own in enumerate(least):
            part = last if number == count - 1 else share
            shift = self._added(part, -np.where(allowed, own, 0))
            shifts.append(np.where(allowed, shift, np.inf if own.dtype != np.int64 else 0))
        if self._spare < math.inf:
            needed = largest_sum(shifts)
            if needed > self._spare:
                return [None] * count
            self._spare -= needed
        return shifts


def rounded_down(table: Table) -> Table:
    """The next smaller floats, in their place; inf stays. Of a sum's nearest float it is no more than the sum."""
    return np.nextafter(table, -np.inf, out=table, where=table < np.inf)
