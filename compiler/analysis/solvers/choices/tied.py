"""
Labels of graphs that repeat themselves: equal nodes are tied to one label, which leaves a small graph, and then untied.

Nodes are in one class if their costs are equal, and so are the costs of their pairs with the nodes of each class: the
steps of a recurrence, the blocks of a transformer. If all nodes of a class take one label, what is left is a graph
with one node a class,

    unary_A  =  sum over i in A of unary_i  +  sum over pairs (i, j) within A of the diagonal of pairs_ij
    pairs_AB =  sum over pairs (i, j) between A and B of pairs_ij

of which every choice is one of the whole graph, at the same cost. Classes begin with equal costs of single nodes and
are split by their neighbours (Weisfeiler and Leman 1968, colour refinement); each finer graph is searched from the
labels of the coarser one. That the choices of equal nodes are equal is our assumption, not a theorem: it holds for
good plans of the networks we know, and what comes of it is only taken where it costs less.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from npuc.compiler.analysis.solvers.choices.graph import Choices, Table

MOST_SOLVED = 100
"""Graphs of up to so many classes are solved from the start; finer ones are searched from the labels of these."""
MOST_CLASSES = 512
"""Finer graphs are not looked at: the whole graph is searched next."""
FINER = 1.5
"""A graph is looked at if it has so many times the classes of the last one."""
LEAST_NODES = 2
"""Graphs of fewer nodes a class, on average, repeat too little."""
Solver = Callable[[Choices], Sequence[int]]
Descent = Callable[[Choices, Sequence[int]], Sequence[int]]


@dataclass(frozen=True)
class Tied:
    """A graph with one node for each class of equal nodes; `classes` has the class of each node."""

    choices: Choices
    classes: tuple[int, ...]

    def spread(self, labels: Sequence[int]) -> tuple[int, ...]:
        """The labels of all nodes where each class has one."""
        return tuple(labels[own] for own in self.classes)

    def gathered(self, labels: Sequence[int]) -> list[int]:
        """The label of each class, of nodes that take the label of their class."""
        found = dict(zip(self.classes, labels, strict=True))
        return [found[own] for own in range(len(found))]


def tied_labels(choices: Choices, solve: Solver, descend: Descent) -> tuple[int, ...] | None:
    """
    Labels found by tying equal nodes, then fewer of them; None where too few nodes are equal.

    `solve` finds good labels of a graph, `descend` better ones than given.
    """
    best: tuple[int, ...] | None = None
    searched = 0
    for classes in refinements(choices):
        count = max(classes) + 1
        if count * LEAST_NODES > len(choices.sizes) or (searched and count > MOST_CLASSES):
            break
        if count < FINER * searched:
            continue
        searched = count
        tied = Tied(_tied(choices, classes), classes)
        found = [] if best is None else [tied.spread(descend(tied.choices, tied.gathered(best)))]
        if count <= MOST_SOLVED:
            found.append(tied.spread(solve(tied.choices)))
        best = min([*found, *([] if best is None else [best])], key=choices.cost, default=None)
        if best is None:
            return None
    return best


def refinements(choices: Choices) -> Iterator[tuple[int, ...]]:
    """The class of each node, ever finer: from nodes of equal costs to the coarsest stable partition."""
    tables = _Tables()
    pairs = [(i, j, tables.number(table), tables.number(table.T)) for (i, j), table in choices.pairs.items()]
    classes = _numbered([tables.number(table) for table in choices.unary])
    while True:
        yield tuple(classes)
        near: list[set[tuple[int, int]]] = [set() for _ in classes]
        for i, j, there, back in pairs:
            near[i].add((there, classes[j]))
            near[j].add((back, classes[i]))
        # how many neighbours of a class there are does not count: that splits hubs, and with them all around
        finer = _numbered([(own, frozenset(nodes)) for own, nodes in zip(classes, near, strict=True)])
        if max(finer, default=0) == max(classes, default=0):
            return
        classes = finer


def _tied(choices: Choices, classes: Sequence[int]) -> Choices:
    """The graph of classes."""
    count = max(classes, default=-1) + 1
    unary: list[Table | None] = [None] * count
    pairs: dict[tuple[int, int], Table] = {}
    for own, table in zip(classes, choices.unary, strict=True):
        known = unary[own]
        unary[own] = table if known is None else known + table
    for (i, j), table in choices.pairs.items():
        a, b = classes[i], classes[j]
        if a == b:
            known = unary[a]
            unary[a] = np.diagonal(table) if known is None else known + np.diagonal(table)
        else:
            key, turned = ((a, b), table) if a < b else ((b, a), table.T)
            pairs[key] = pairs[key] + turned if key in pairs else turned
    tables = [table for table in unary if table is not None]
    return Choices([len(table) for table in tables], tables, pairs)


def _numbered(keys: Sequence[Hashable]) -> list[int]:
    """A number for each key, in the order in which they occur."""
    known: dict[Hashable, int] = {}
    return [known.setdefault(key, len(known)) for key in keys]


class _Tables:
    """Numbers of tables, equal for equal ones."""

    def __init__(self) -> None:
        self._known: dict[Hashable, int] = {}
        self._by_identity: dict[tuple[int, tuple[int, ...], tuple[int, ...]], tuple[int, Table]] = {}

    def number(self, table: Table) -> int:
        """The number of a table; one that is shared is looked at once."""
        place = table.__array_interface__["data"][0], table.shape, table.strides
        if place not in self._by_identity:
            content = tuple(table.ravel().tolist()) if table.dtype == np.object_ else table.tobytes()
            key = table.shape, content
            self._by_identity[place] = self._known.setdefault(key, len(self._known)), table
        return self._by_identity[place][0]
