"""
The order in which the nodes of a graph are eliminated, which decides how large the tables are.

Eliminating a node needs a table over its labels and those of its neighbours, which then become neighbours of each
other. Finding the best order is NP-hard (Arnborg, Corneil, Proskurowski 1987); three rules are known to be good, and
the order with the fewest entries in all is taken:

    series    nodes of at most two neighbours first, of these the smallest table; then as `weight`
    weight    the smallest table (Kjaerulff 1990)
    fill      the fewest new pairs of neighbours, then the smallest table (Rose 1972)

`series` eliminates trees and series-parallel graphs with tables of three nodes at most, in time that grows with the
number of nodes; where its tables are small the others are not tried. Ties go to the node with the smallest number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heappush

SMALL = 1 << 12
"""Tables of so few entries cost less than looking for better orders."""
MOST_STEPS = 1 << 21
"""The order by fill is given up after so many comparisons of neighbours: graphs where it takes longer are hopeless."""
_UNIT = 1 << 20
"""Logarithms of sizes are whole multiples of 1 / _UNIT, so that adding and taking away leaves nothing."""


@dataclass(frozen=True)
class Order:
    """An order of all nodes, and the nodes whose table each leaves, in that order too."""

    sizes: tuple[int, ...]
    nodes: tuple[int, ...]
    scopes: tuple[tuple[int, ...], ...]

    @cached_property
    def tables(self) -> tuple[int, ...]:
        """The entries of the table of each elimination."""
        return tuple(self.sizes[v] * kept for v, kept in zip(self.nodes, self.kept, strict=True))

    @cached_property
    def kept(self) -> tuple[int, ...]:
        """The entries of the table that each elimination leaves."""
        return tuple(math.prod(self.sizes[u] for u in scope) for scope in self.scopes)

    @property
    def width(self) -> int:
        """The most nodes that one leaves a table of."""
        return max(map(len, self.scopes), default=0)

    @property
    def largest(self) -> int:
        """The entries of the largest table."""
        return max(self.tables, default=0)

    def series(self, limit: int) -> int:
        """How many nodes from the first on leave tables of two nodes at most, and need none above a limit."""
        found = zip(self.scopes, self.tables, strict=True)
        return next((n for n, (scope, table) in enumerate(found) if len(scope) > 2 or table > limit), len(self.nodes))


def best_order(sizes: Sequence[int], neighbours: Sequence[Sequence[int]], limit: int) -> Order:
    """The order with the fewest entries in all, of those whose tables are within a limit if there are any."""
    first = by_weight(sizes, neighbours, series=True)
    if first.largest <= min(SMALL, limit):
        return first
    orders = [first, by_weight(sizes, neighbours, series=False)]
    filled = by_fill(sizes, neighbours)
    if filled is not None:
        orders.append(filled)
    return min(orders, key=lambda order: (order.largest > limit, sum(order.tables)))


class _Graph:
    """A graph that nodes are taken out of, with the logarithm of the table that each node would need."""

    def __init__(self, sizes: Sequence[int], neighbours: Sequence[Sequence[int]]):
        self.sizes = tuple(sizes)
        self.logs = [round(math.log2(size) * _UNIT) for size in sizes]
        self.near = [set(nodes) for nodes in neighbours]
        self.weights = [self.logs[v] + sum(self.logs[u] for u in near) for v, near in enumerate(self.near)]
        self.left = set(range(len(sizes)))
        self.nodes: list[int] = []
        self.scopes: list[set[int]] = []

    def eliminate(self, node: int) -> list[tuple[int, int]]:
        """Takes a node out: its neighbours become neighbours of each other. The pairs that are new."""
        scope = self.near[node]
        added: list[tuple[int, int]] = []
        for u in sorted(scope):
            near = self.near[u]
            new = scope - near
            new.discard(u)
            near |= new
            near.discard(node)
            self.weights[u] += sum(self.logs[w] for w in new) - self.logs[node]
            added += [(u, w) for w in new if u < w]
        self.left.discard(node)
        self.nodes.append(node)
        self.scopes.append(scope)
        return added

    @property
    def is_clique(self) -> bool:
        """Whether all that is left became neighbours of each other with the last elimination."""
        return bool(self.scopes) and len(self.scopes[-1]) == len(self.left)

    def finished(self) -> Order:
        """The order, the rest of which is a clique: of it the node with most labels first."""
        for node in sorted(self.left, key=lambda v: (-self.sizes[v], v)):
            self.left.discard(node)
            self.nodes.append(node)
            self.scopes.append(set(self.left))
        place = {node: number for number, node in enumerate(self.nodes)}
        scopes = tuple(tuple(sorted(scope, key=place.__getitem__)) for scope in self.scopes)
        return Order(self.sizes, tuple(self.nodes), scopes)


def by_weight(sizes: Sequence[int], neighbours: Sequence[Sequence[int]], *, series: bool) -> Order:
    """The order by the smallest table, nodes of at most two neighbours first if `series`."""
    graph = _Graph(sizes, neighbours)

    def key(v: int) -> tuple[bool, int, int]:
        return series and len(graph.near[v]) > 2, graph.weights[v], v

    heap = [key(v) for v in graph.left]
    heapify(heap)
    while heap and not graph.is_clique:
        entry = heappop(heap)
        node = entry[2]
        if node not in graph.left or entry != key(node):
            continue
        graph.eliminate(node)
        for u in graph.near[node]:
            heappush(heap, key(u))
    return graph.finished()


def by_fill(sizes: Sequence[int], neighbours: Sequence[Sequence[int]]) -> Order | None:
    """The order by the fewest new pairs of neighbours, None if finding it takes too long."""
    steps = sum(len(nodes) ** 2 for nodes in neighbours)
    if steps > MOST_STEPS:
        return None
    graph = _Graph(sizes, neighbours)

    def key(v: int) -> tuple[int, int, int]:
        nonlocal steps
        near = graph.near[v]
        steps += len(near) ** 2
        return sum(len(near) - len(near & graph.near[u]) - 1 for u in near) // 2, graph.weights[v], v

    current = {v: key(v) for v in graph.left}
    heap = list(current.values())
    heapify(heap)
    while heap and not graph.is_clique:
        if steps > MOST_STEPS:
            return None
        entry = heappop(heap)
        node = entry[2]
        if node not in graph.left or entry != current[node]:
            continue
        changed = set(graph.near[node])
        for a, b in graph.eliminate(node):
            changed |= graph.near[a] & graph.near[b]
        for u in sorted(changed):
            current[u] = key(u)
            heappush(heap, current[u])
    return graph.finished()
