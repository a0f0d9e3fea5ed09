"""
Local search: better labels for one node, for a pair, for a forest of nodes, as long as there are any.

Every step is the best for its nodes while the others keep their labels, and is taken only if it costs less. Where no
step helps, a node is given another label and held until the rest has followed; what comes of it is kept if it costs
less. What is not allowed costs more than everything else together, so that the search leaves it first.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from npuc.compiler.analysis.solvers.choices.buckets import Buckets
from npuc.compiler.analysis.solvers.choices.graph import Choices, Number, Table, each_once, has_inf, largest_sum
from npuc.compiler.analysis.solvers.choices.order import by_weight

FORESTS = 8
"""How many forests of nodes are tried in turn; each begins elsewhere."""
ROUNDS = 50
"""How often all forests are tried at most."""
STEPS = 100
"""How many steps there are at most for each node: rounded floats could lead in circles."""
LOOK = 256
"""Looking at a pair takes as long as so many entries of its table."""
ROUNDING = 2.0**-52
"""The relative error of a float."""
KICKS = 500
KICKED = 1 << 18
"""How many labels are held at most once the search has ended, and around how many pairs in all."""


@dataclass(frozen=True)
class ResourceLimit:
    """A resource that labels take, of which a choice may take no more than a limit."""

    resource: Sequence[Table]
    limit: Number

    def taken(self, choice: Sequence[int]) -> Number:
        """What a choice takes: exact for whole numbers and fractions, rounded once for floats."""
        terms: list[Number] = [table.item(label) for table, label in zip(self.resource, choice, strict=True)]
        return math.fsum(terms) if any(isinstance(term, float) for term in terms) else sum(terms)


def descend(
    choices: Choices,
    labels: Sequence[int],
    room: ResourceLimit | None = None,
    *,
    most: float = math.inf,
    kicked: bool = True,
) -> tuple[int, ...]:
    """
    Labels that cost no more than those given, up to rounding.

    They take no more than there is `room` for, if those given do not; forests are not tried then. The search ends once
    it has looked at `most` entries of the tables of pairs (`LOOK` for one that is passed by). Without `kicked` no node
    is held at another label.
    """
    search = _Search(_finite(choices), list(labels), room, most)
    search.down()
    if not kicked:
        return tuple(search.labels)
    places = [(node, label) for node, size in enumerate(choices.sizes) for label in range(size)]
    around = sum(len(near) ** 2 for near in choices.neighbours) // max(len(choices.sizes), 1)
    kicks = max(1, min(KICKS, KICKED // (around + 1)))
    for node, label in places[:: -(-len(places) // kicks) or 1]:
        if search.work <= 0:
            break
        search.kick(node, label)
    search.down()
    return tuple(search.labels)


def is_rounding(choices: Choices, less: Number, more: Number) -> bool:
    """Whether two costs of a graph of floats may differ by the rounding of their sums alone."""
    count = len(choices.sizes) + len(choices.pairs)
    return choices.dtype == np.float64 and more - less <= count * ROUNDING * abs(more)


def _finite(choices: Choices) -> Choices:
    """The same costs, with more than all others together for what is not allowed."""
    tables = [*choices.unary, *choices.pairs.values()]
    if choices.dtype == np.int64 or not has_inf(tables):
        return choices
    most = 4 * math.ceil(largest_sum(tables)) + 1
    replaced = each_once(tables, lambda table: np.where(table == np.inf, most, table))
    count = len(choices.sizes)
    return Choices(choices.sizes, replaced[:count], dict(zip(choices.pairs, replaced[count:], strict=True)))


class _Search:
    """Labels on their way down."""

    def __init__(self, choices: Choices, labels: list[int], room: ResourceLimit | None, most: float):
        self.choices = choices
        self.work = most
        """How many entries of tables of pairs may still be looked at."""
        self.least: dict[tuple[int, int], Number] = {}
        self.moves: list[tuple[int, int]] | None = None
        """The labels that nodes had before each move, while they may be taken back."""
        self.labels = labels
        self.room = room
        self.left = 0 if room is None else room.limit - room.taken(labels)
        self.held: int | None = None
        self.known: dict[int, Table] = {}
        self.saved: Number = 0
        """How much less the labels cost than those it began with."""

    def costs(self, node: int) -> Table:
        """What each label of a node costs beside the labels of the others."""
        if node not in self.known:
            total = self.choices.unary[node]
            for other in self.choices.neighbours[node]:
                total = total + self.choices.facing(node, other)[:, self.labels[other]]
            self.known[node] = total
        return self.known[node]

    def move(self, node: int, label: int) -> None:
        """Gives a node a label."""
        if self.room is not None:
            table = self.room.resource[node]
            self.left += table.item(self.labels[node]) - table.item(label)
        costs = self.costs(node)
        self.saved += costs.item(self.labels[node]) - costs.item(label)
        if self.moves is not None:
            self.moves.append((node, self.labels[node]))
        self._set(node, label)

    def _set(self, node: int, label: int) -> None:
        self.labels[node] = label
        for other in self.choices.neighbours[node]:
            self.known.pop(other, None)

    def down(self) -> None:
        """Steps until there are none that help."""
        self.singles_and_pairs()
        for _ in range(0 if self.room else ROUNDS):
            improved = [self.work > 0 and self.forest(nodes) for nodes in self.forests]
            if not any(improved):
                break
            self.singles_and_pairs()

    def kick(self, node: int, label: int) -> None:
        """Holds a node at a label until the others have followed, then lets it go; undone if the end costs as much."""
        left, saved = self.left, self.saved
        if label == self.labels[node] or not self.fits(node)[label]:
            return
        self.held, self.moves = node, []
        self.move(node, label)
        self.singles_and_pairs([node])
        self.held = None
        self.singles_and_pairs([node])
        moves, self.moves = self.moves, None
        if self.saved <= saved:
            for moved, before in reversed(moves):
                self._set(moved, before)
            self.left, self.saved = left, saved

    def fits(self, node: int) -> npt.NDArray[np.bool_]:
        """Which labels of a node there is room for."""
        if self.room is None:
            return np.ones(self.choices.sizes[node], dtype=np.bool_)
        table = self.room.resource[node]
        return table - table[self.labels[node]] <= self.left

    def singles_and_pairs(self, changed: Iterable[int] | None = None) -> None:
        """Steps of one node, then of two that are a pair, until there are none that help: around nodes, or anywhere."""
        alone, paired = OrderedDict[int, None](), OrderedDict[tuple[int, int], None]()
        changed = range(len(self.labels)) if changed is None else changed
        steps = STEPS * len(self.labels)
        while self.work > 0:
            for node in changed:
                around = [node, *self.choices.neighbours[node]]
                alone.update(dict.fromkeys(around))
                paired.update(dict.fromkeys((min(u, w), max(u, w)) for u in around for w in self.choices.neighbours[u]))
            if alone:
                node, _ = alone.popitem(last=False)
                changed = [node] if self._single(node) else []
            elif paired:
                pair, _ = paired.popitem(last=False)
                changed = pair if self._pair(*pair) else []
            else:
                return
            steps -= len(changed) > 0
            if steps < 0:
                return

    def _single(self, node: int) -> bool:
        costs, own = self.costs(node), self.labels[node]
        if self.held == node:
            return False
        if self.room is not None:
            costs = np.where(self.fits(node), costs, costs.max())
        label = int(costs.argmin())
        if costs[label] >= costs[own]:
            return False
        self.move(node, label)
        return True

    def _pair(self, i: int, j: int) -> bool:
        if self.held in (i, j):
            return False
        between, a, b = self.choices.pairs[i, j], self.labels[i], self.labels[j]
        alone, others = self.costs(i) - between[:, b], self.costs(j) - between[a]
        self.work -= LOOK
        if alone.min() + others.min() + self._least(i, j) >= alone[a] + others[b] + between[a, b]:
            return False
        self.work -= between.size
        costs: Table = alone[:, None] + others[None, :] + between
        if self.room is not None:
            first, second = self.room.resource[i], self.room.resource[j]
            fits = (first - first[a])[:, None] + (second - second[b])[None, :] <= self.left
            costs = np.where(fits, costs, costs.max())
        to_a, to_b = divmod(int(costs.argmin()), len(others))
        if costs[to_a, to_b] >= costs[a, b]:
            return False
        for node, label in ((i, to_a), (j, to_b)):
            if label != self.labels[node]:
                self.move(node, label)
        return True

    def _least(self, i: int, j: int) -> Number:
        """The least cost of a pair."""
        if (i, j) not in self.least:
            self.least[i, j] = self.choices.pairs[i, j].min()
        return self.least[i, j]

    def forest(self, nodes: Sequence[int]) -> bool:
        """The best labels of nodes without cycles, and whether they are better."""
        number = {node: n for n, node in enumerate(nodes)}
        unary: list[Table] = []
        for node in nodes:
            total = self.choices.unary[node]
            for other in self.choices.neighbours[node]:
                if other not in number:
                    total = total + self.choices.facing(node, other)[:, self.labels[other]]
            unary.append(total)
        pairs = {(number[i], number[j]): t for (i, j), t in self.choices.pairs.items() if i in number and j in number}
        self.work -= sum(table.size for table in pairs.values())
        part = Choices([self.choices.sizes[node] for node in nodes], unary, pairs)
        buckets = Buckets(part, by_weight(part.sizes, part.neighbours, series=True).nodes)
        buckets.eliminate()
        found = buckets.labels()
        own, known = part.cost(found), part.cost([self.labels[node] for node in nodes])
        if own >= known or is_rounding(part, own, known):
            return False
        for node, label in zip(nodes, found, strict=True):
            if label != self.labels[node]:
                self.move(node, label)
        return True

    @cached_property
    def forests(self) -> list[list[int]]:
        """Nodes that have no cycles among them, each time as many as come together from another node on."""
        count = len(self.labels)
        starts = sorted({part * count // FORESTS for part in range(FORESTS)})
        return [_forest([*range(start, count), *range(start)], self.choices) for start in starts]


def _forest(nodes: Sequence[int], choices: Choices) -> list[int]:
    """Of some nodes in turn those that close no cycle with the ones before."""
    tree = dict[int, int]()

    def root(node: int) -> int:
        while tree[node] != node:
            tree[node] = tree[tree[node]]
            node = tree[node]
        return node

    for node in nodes:
        roots = [root(other) for other in choices.neighbours[node] if other in tree]
        if len(roots) == len(set(roots)):
            tree[node] = node
            tree.update(dict.fromkeys(roots, node))
    return sorted(tree)
